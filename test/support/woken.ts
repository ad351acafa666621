import { Effect } from "effect"
import { Signals, type Topic } from "../../src/store/database/Signals.ts"

/** Beyond every time that a test lets pass. */
const longMillis = 365 * 86_400_000

/** Whether the loop of the topic has been woken since it was last asked. Needs a clock that stands still. */
export const isWoken = Effect.fnUntraced(function* (topic: Topic) {
  const { wait } = yield* Signals
  const never = Effect.andThen(Effect.yieldNow, Effect.andThen(Effect.yieldNow, Effect.yieldNow))
  return yield* Effect.raceFirst(Effect.as(wait(topic, longMillis), true), Effect.as(never, false))
})
