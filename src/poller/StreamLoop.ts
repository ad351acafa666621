import { Clock, Effect, Queue } from "effect"
import { Streams, type Watched } from "../gateway/Streams.ts"
import type { StreamKind } from "../gateway/streamHint.ts"
import { Signals, type Topic } from "../store/Signals.ts"

/** Between two wakes of a topic. */
const gapMillis = 100
/** Wakes of a topic in a row; after those one a second, which is how often its loop looks while money moves anyway. */
const burst = 10
const perSecond = 1

const topicOf: Readonly<Record<StreamKind, Topic>> = { results: "confirm", balances: "balances" }

/**
 * The loop that lets streams wake the others before their time. A flood of hints, true or false, wakes a loop no more
 * often than it would wake by itself. Never ends, never fails.
 */
export const streamLoop = (watched: Watched): Effect.Effect<never, never, Signals | Streams> =>
  Effect.gen(function* () {
    const signals = yield* Signals
    const streams = yield* Streams
    const hints = {
      results: yield* Queue.sliding<void>(1),
      balances: yield* Queue.sliding<void>(1),
    }
    const passOn = (kind: StreamKind) => spaced(Queue.take(hints[kind]), signals.wake(topicOf[kind]))
    const listen = streams.listen(watched, (kind) => Effect.asVoid(Queue.offer(hints[kind], undefined)))
    return yield* Effect.raceFirst(listen, Effect.raceFirst(passOn("results"), passOn("balances")))
  })

const spaced = Effect.fnUntraced(function* (
  hint: Effect.Effect<void>,
  wake: Effect.Effect<void>,
): Effect.fn.Return<never> {
  let left = burst
  let at = yield* Clock.currentTimeMillis
  for (;;) {
    yield* hint
    const now = yield* Clock.currentTimeMillis
    left = Math.min(burst, left + (Math.max(0, now - at) / 1_000) * perSecond) - 1
    at = now
    yield* wake
    yield* Effect.sleep(Math.max(gapMillis, left >= 1 ? 0 : ((1 - left) * 1_000) / perSecond))
  }
})
