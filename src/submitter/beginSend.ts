import { Clock, Effect, Option } from "effect"
import { isFinalAttempt } from "../domain/Attempt.ts"
import { isFinalIntent } from "../domain/Intent.ts"
import { Database } from "../store/Database.ts"
import { Lease } from "../store/Lease.ts"
import { Observations } from "../store/Observations.ts"
import { Outbox, type SendStart } from "../store/Outbox.ts"
import { brakeFor } from "./brakeFor.ts"
import { Draining } from "./Draining.ts"
import { isOurChain } from "./isOurChain.ts"
import { maySend } from "./schedule.ts"
import { Tip } from "./Tip.ts"

/**
 * The height that the network has come to, from a head asked for since the work was solved; where none was, one of the
 * last moment will do. Blocks come about once a second: what the answer took to arrive is added. Undefined on another
 * chain.
 */
export const heightNow = Effect.fnUntraced(function* ({ solved }: { readonly solved: boolean }) {
  const tip = yield* Tip
  const askedAt = yield* Clock.monotonicTimeNanos
  const head = yield* solved ? Effect.flatMap(Clock.currentTimeMillis, tip.headSince) : tip.head
  if (!(yield* isOurChain(head))) return undefined
  return head.height + ((yield* Clock.monotonicTimeNanos) - askedAt) / 1_000_000_000n
})

/**
 * Begins the send: from this commit on the POST may leave. Undefined where anything that stops payments has come into
 * force since it was decided to send, by what this very transaction reads: the end of the attempt, a halt, a pause, the
 * margin of its window, another process that took over, the end of this one.
 */
export const beginSend = Effect.fnUntraced(function* (start: SendStart, height: bigint) {
  const outbox = yield* Outbox
  const { intentId, k } = start.attempt
  const database = yield* Database
  const lease = yield* Lease
  const draining = yield* Draining
  const observations = yield* Observations
  return yield* database.atomically(
    Effect.gen(function* () {
      if (yield* draining.isDraining) return undefined
      if (!(yield* lease.isHeld)) return undefined
      const intent = Option.getOrUndefined(yield* outbox.byId(intentId))
      if (intent === undefined || isFinalIntent(intent.state)) return undefined
      if ((yield* brakeFor(intent)) !== undefined) return undefined
      const stored = (yield* outbox.attempts(intentId)).find((attempt) => attempt.k === k)
      if (stored === undefined || isFinalAttempt(stored.state)) return undefined
      const observed = (yield* observations.watermark)?.height ?? 0n
      if (!maySend(stored, observed > height ? observed : height)) return undefined
      return yield* outbox.beginSend(start)
    }),
  )
})
