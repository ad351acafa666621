import { Context, Effect, Layer, Option } from "effect"
import { type Intent, isFinalIntent } from "../domain/Intent.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { inPayment } from "../telemetry/Tracing.ts"

const lookMillis = 20

/**
 * Locks of payments. Loops read, ask the network and write: a person's verb between their reading and their writing
 * would be overwritten by a result of the older reading.
 */
export class Turns extends Context.Service<
  Turns,
  {
    /** A loop's work on the payment; none while a person has it in hand. */
    readonly loop: <A, E, R>(intentId: string, work: Effect.Effect<A, E, R>) => Effect.Effect<Option.Option<A>, E, R>
    /** A person's verb, between two turns of a loop; not run if a loop keeps the payment for too long. */
    readonly person: <A, E, R>(
      intentId: string,
      millisMax: number,
      work: Effect.Effect<A, E, R>,
    ) => Effect.Effect<Option.Option<A>, E, R>
  }
>()("cofferer/submitter/Turns") {
  static readonly layer = Layer.effect(
    Turns,
    Effect.sync(() => {
      const loops = new Map<string, number>()
      const people = new Map<string, number>()
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
      return Turns.of({
        loop: (id, work) =>
          Effect.suspend(() => (people.has(id) ? Effect.succeedNone : counted(loops, id)(Effect.asSome(work)))),
        person: (id, millisMax, work) =>
          Effect.gen(function* () {
            for (let waited = 0; loops.has(id); waited += lookMillis) {
              if (waited >= millisMax) return Option.none()
              yield* Effect.sleep(lookMillis)
            }
            return Option.some(yield* work)
          }).pipe(counted(people, id)),
      })
    }),
  )
}

/** A loop's work on a payment as it stands now; nothing where a person has it in hand, or has ended it. */
export const inTurn = <A, E, R>(intent: Intent, work: (now: Intent) => Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const turns = yield* Turns
    const outbox = yield* Outbox
    yield* turns.loop(
      intent.id,
      Effect.gen(function* () {
        const now = Option.getOrUndefined(yield* outbox.byId(intent.id))
        if (now !== undefined && !isFinalIntent(now.state)) yield* work(now)
      }).pipe(inPayment(intent.id)),
    )
  })
