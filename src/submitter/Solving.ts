import { Context, Effect, Exit, Fiber, Layer } from "effect"
import type { Attempt } from "../domain/Attempt.ts"

/** A round waits so long for a search that it began: most work is found by then, and goes out in the same round. */
const joinMillis = 200

/** Searches for proofs of work beside the rounds: one that takes long keeps no other payment from its turn. */
export class Solving extends Context.Service<
  Solving,
  {
    /**
     * Begins the attempt's search, where none is under way, and waits for it for a moment. Undefined: it goes on by
     * itself, and `late` hears of a failure.
     */
    readonly join: <A, E, R, R2>(
      attempt: Attempt,
      search: Effect.Effect<A, E, R>,
      late: (failure: Exit.Failure<A, E>) => Effect.Effect<void, E, R2>,
    ) => Effect.Effect<A | undefined, E, R | R2>
    /** Ends all searches. */
    readonly stop: Effect.Effect<void>
  }
>()("cofferer/submitter/Solving") {
  static readonly layer = Layer.effect(
    Solving,
    Effect.gen(function* () {
      const scope = yield* Effect.scope
      const searches = new Map<string, Fiber.Fiber<unknown, unknown>>()
      return Solving.of({
        join: Effect.fnUntraced(function* (attempt, search, late) {
          const key = `${attempt.intentId}/${attempt.k}`
          if (searches.has(key)) return undefined
          let isJoined = true
          const noted = Effect.onExit(search, (exit) => {
            searches.delete(key)
            return isJoined || Exit.isSuccess(exit) ? Effect.void : late(exit)
          })
          // Not before it is known by its key: work of the calling thread may be over at once.
          const fiber = yield* Effect.forkIn(Effect.andThen(Effect.yieldNow, noted), scope)
          searches.set(key, fiber)
          const joined = Fiber.join(fiber).pipe(Effect.timeoutOption(joinMillis))
          const found = yield* Effect.ensuring(
            joined,
            Effect.sync(() => {
              isJoined = false
            }),
          )
          return found._tag === "Some" ? found.value : undefined
        }),
        stop: Effect.suspend(() => Fiber.interruptAll([...searches.values()])),
      })
    }),
  )
}
