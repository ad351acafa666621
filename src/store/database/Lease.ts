import { Context, Effect, Layer } from "effect"
import type { StoreError } from "./StoreError.ts"

/** The right to move money: one of all processes on one store has it. */
export class Lease extends Context.Service<
  Lease,
  {
    /** True if this process has the lease, by its own monotonic clock. */
    readonly isHeld: Effect.Effect<boolean, StoreError>
  }
>()("cofferer/store/Lease") {
  /** One process at a time can open SQLite's file: that is the lease. */
  static readonly layerSole = Layer.succeed(Lease, { isHeld: Effect.succeed(true) })
}
