import { Effect, Option } from "effect"
import { type Intent, isFinalIntent } from "../domain/Intent.ts"
import { Outbox } from "../store/Outbox.ts"
import { Turns } from "./Turns.ts"

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
      }),
    )
  })
