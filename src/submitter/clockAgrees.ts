import { Clock, Effect } from "effect"
import { clockGap } from "../rules/clockGap.ts"
import { Observations } from "../store/Observations.ts"
import { SubmitterOptions } from "./SubmitterOptions.ts"

/**
 * Whether a time that is over may end a payment: by a clock that no block agrees with it may not be over, and nothing
 * is signed meanwhile.
 */
export const clockAgrees = Effect.gen(function* () {
  const { maxAgeMillis } = yield* SubmitterOptions
  const watermark = yield* (yield* Observations).watermark
  const block = watermark && Number(watermark.timestamp / 1_000_000n)
  return clockGap(yield* Clock.currentTimeMillis, block, maxAgeMillis) === undefined
})
