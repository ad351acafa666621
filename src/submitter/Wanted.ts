import { Context, type Effect } from "effect"
import type { Intent } from "../domain/Intent.ts"
import type { StoreError } from "../store/StoreError.ts"

/**
 * Whether a decided payment would be decided today: asked before another attempt is signed. `later`: it cannot be
 * judged now, for reasons that pass.
 */
export class Wanted extends Context.Service<
  Wanted,
  { readonly judge: (intent: Intent) => Effect.Effect<"wanted" | "gone" | "later", StoreError> }
>()("cofferer/submitter/Wanted") {}
