import type { Effect } from "effect"
import type { TestClient } from "../../support/TestClient.ts"
import type { Node } from "../../support/TestFaults.ts"

/** A kind of fault that is seen happening. */
export interface Seen {
  /** Ends the name of the test, which begins with the kind. */
  readonly says: string
  readonly see: (client: TestClient, node: Node) => Effect.Effect<void, unknown>
}
