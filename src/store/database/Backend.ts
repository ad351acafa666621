import { Context, type Effect } from "effect"
import type { Writes } from "./Writes.ts"

/** What an open database tells beside its client's answers. */
export class Backend extends Context.Service<
  Backend,
  {
    readonly writes: Writes
    /**
     * The lease is the right to move money: one of all processes on one store has it. True if this process has it, by
     * its own monotonic clock.
     */
    readonly isLeaseHeld: Effect.Effect<boolean>
  }
>()("cofferer/store/Backend") {}
