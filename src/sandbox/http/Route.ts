import type { Effect } from "effect"
import type { Operation } from "../Faults.ts"
import type { LedgerNode } from "../LedgerNode.ts"
import type { Profile } from "../Profiles.ts"
import type { SandboxError } from "../SandboxError.ts"
import type { Scenario } from "../Scenario.ts"
import type { HttpAnswer, Query, RefusedRequest } from "./Answer.ts"

/** Inputs of an operation. */
export interface World {
  readonly node: LedgerNode
  readonly scenario: Scenario
  readonly profile: Profile
}

/** A request as far as operations see it. */
export interface RouteRequest {
  readonly query: Query
  readonly params: Readonly<Record<string, string | undefined>>
  /** The body as text; refused where it is larger than the network's gateway takes. */
  readonly body: Effect.Effect<string, RefusedRequest>
}

export interface Route {
  /** Undefined for the sandbox's own paths: no faults, limits and headers of the network apply to them. */
  readonly operation: Operation | undefined
  readonly method: "GET" | "POST" | "DELETE"
  readonly path: `/${string}`
  /** True if every profile serves it: the three operations of the specification, and the chain height. */
  readonly specified: boolean
  readonly answer: (world: World, ask: RouteRequest) => Effect.Effect<HttpAnswer, RefusedRequest | SandboxError>
}
