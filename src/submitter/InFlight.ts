import { Context, Effect, type Exit, Fiber, Layer, Option } from "effect"
import type { Attempt } from "../domain/Attempt.ts"
import { type Intent, isFinalIntent } from "../domain/Intent.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { inPayment } from "../telemetry/Tracing.ts"

const pollMillis = 20
/** A round waits this long for its search: most work is found by then, and sent in the same round. */
const joinMillis = 200

/** Work of this process that is under way: turns of payments, sends, and searches for proofs of work. */
export class InFlight extends Context.Service<
  InFlight,
  {
    /**
     * Runs a loop's work on the payment; none while a person's verb runs. Loops read, ask the network and write: a verb
     * in between would be overwritten by a result of the older reading.
     */
    readonly loop: <A, E, R>(intentId: string, work: Effect.Effect<A, E, R>) => Effect.Effect<Option.Option<A>, E, R>
    /** Runs a person's verb between two turns of a loop; none if a loop keeps the payment longer than `millisMax`. */
    readonly person: <A, E, R>(
      intentId: string,
      millisMax: number,
      work: Effect.Effect<A, E, R>,
    ) => Effect.Effect<Option.Option<A>, E, R>
    /** From then on no send begins, and `sending` falls to 0. */
    readonly drain: Effect.Effect<void>
    readonly isDraining: Effect.Effect<boolean>
    /** Sends whose answer is awaited. */
    readonly sending: Effect.Effect<number>
    /** True while an answer for this attempt is awaited. */
    readonly isSending: (attempt: Attempt) => Effect.Effect<boolean>
    /** Counts the effect as a send of the attempt while it runs. */
    readonly sends: <A, E, R>(attempt: Attempt, send: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /**
     * Starts a background search for the attempt's proof of work, unless one runs, and waits `joinMillis` for it.
     * Undefined: the search continues and blocks no other payment; `late` gets its result.
     */
    readonly search: <A, E, R, R2>(
      attempt: Attempt,
      search: Effect.Effect<A, E, R>,
      late: (exit: Exit.Exit<A, E>) => Effect.Effect<void, E, R2>,
    ) => Effect.Effect<A | undefined, E, R | R2>
    /** Ends all searches. */
    readonly stopSearches: Effect.Effect<void>
  }
>()("cofferer/submitter/InFlight") {
  static readonly layer = Layer.effect(
    InFlight,
    Effect.gen(function* () {
      const scope = yield* Effect.scope
      const searches = new Map<string, Fiber.Fiber<unknown, unknown>>()
      const loops = new Map<string, number>()
      const people = new Map<string, number>()
      const sending = new Map<string, number>()
      let draining = false
      const keyOf = ({ intentId, k }: Attempt) => `${intentId}/${k}`
      const counted =
        (counts: Map<string, number>, id: string) =>
        <A, E, R>(work: Effect.Effect<A, E, R>) =>
          Effect.acquireUseRelease(
            Effect.sync(() => counts.set(id, (counts.get(id) ?? 0) + 1)),
            () => work,
            () =>
              Effect.sync(() => {
                const left = (counts.get(id) ?? 1) - 1
                if (left === 0) counts.delete(id)
                else counts.set(id, left)
              }),
          )
      return InFlight.of({
        loop: (id, work) =>
          Effect.suspend(() => (people.has(id) ? Effect.succeedNone : counted(loops, id)(Effect.asSome(work)))),
        person: (id, millisMax, work) =>
          Effect.gen(function* () {
            for (let waited = 0; loops.has(id); waited += pollMillis) {
              if (waited >= millisMax) return Option.none()
              yield* Effect.sleep(pollMillis)
            }
            return Option.some(yield* work)
          }).pipe(counted(people, id)),
        drain: Effect.sync(() => {
          draining = true
        }),
        isDraining: Effect.sync(() => draining),
        sending: Effect.sync(() => sending.size),
        isSending: (attempt) => Effect.sync(() => sending.has(keyOf(attempt))),
        sends: (attempt, send) => counted(sending, keyOf(attempt))(send),
        search: Effect.fnUntraced(function* (attempt, search, late) {
          const key = keyOf(attempt)
          if (searches.has(key)) return undefined
          let isJoined = true
          const noted = Effect.onExit(search, (exit) =>
            Effect.ensuring(
              isJoined ? Effect.void : late(exit),
              Effect.sync(() => searches.delete(key)),
            ),
          )
          // Starts after the fiber is registered: a search of the calling thread may end at once.
          const fiber = yield* Effect.forkIn(Effect.andThen(Effect.yieldNow, noted), scope)
          searches.set(key, fiber)
          const joined = Fiber.join(fiber).pipe(Effect.timeoutOption(joinMillis))
          const found = yield* Effect.ensuring(
            joined,
            Effect.sync(() => {
              isJoined = false
            }),
          )
          return Option.getOrUndefined(found)
        }),
        stopSearches: Effect.suspend(() => Fiber.interruptAll([...searches.values()])),
      })
    }),
  )
}

/** A loop's work on a payment, read again; not run while a person's verb runs, or once the payment has ended. */
export const withIntentLock = <A, E, R>(intent: Intent, work: (now: Intent) => Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const { loop } = yield* InFlight
    const outbox = yield* Outbox
    yield* loop(
      intent.id,
      Effect.gen(function* () {
        const now = Option.getOrUndefined(yield* outbox.byId(intent.id))
        if (now !== undefined && !isFinalIntent(now.state)) yield* work(now)
      }).pipe(inPayment(intent.id)),
    )
  })
