import { type Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"

const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** Virtual time goes on while real answers are on their way, so that nobody waits for one that never comes. */
export const ticking = <A, E, R>(effect: Effect.Effect<A, E, R>, step: Duration.Input = "2 millis") =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect)
    while (fiber.pollUnsafe() === undefined) {
      yield* turn
      yield* TestClock.adjust(step)
    }
    return yield* Fiber.join(fiber)
  })
