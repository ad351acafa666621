import { Context, Effect, Layer } from "effect"
import type { StoreError } from "./StoreError.ts"

/** Who may move money, of all processes on one store. */
export class Lease extends Context.Service<
  Lease,
  {
    /** Whether this process does. Ask inside the transaction that depends on it. */
    readonly isHeld: Effect.Effect<boolean, StoreError>
  }
>()("cofferer/store/Lease") {
  /** One process at a time can open the file: that is the lease. A database of several has the table for another. */
  static readonly layerSole = Layer.succeed(Lease, { isHeld: Effect.succeed(true) })
}
