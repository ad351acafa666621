import { Clock, Effect } from "effect"
import { Observations } from "../../src/store/balances/Observations.ts"

/** The newest block that was read is of now. */
export const blockNow = Effect.gen(function* () {
  const timestamp = BigInt(yield* Clock.currentTimeMillis) * 1_000_000n
  yield* (yield* Observations).rebase([], { timestamp, height: 9n })
})
