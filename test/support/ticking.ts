import { type Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { turn, waitUntil } from "./until.ts"

/** Virtual time goes on while real answers are on their way, so that nobody waits for one that never comes. */
export const ticking = <A, E, R>(effect: Effect.Effect<A, E, R>, step: Duration.Input = "10 millis") =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect)
    const passing = Effect.andThen(turn, TestClock.adjust(step))
    yield* waitUntil("the end of the effect", () => fiber.pollUnsafe() !== undefined, passing)
    // Answers that come after the quorum's.
    yield* turn
    return yield* Fiber.join(fiber)
  })
