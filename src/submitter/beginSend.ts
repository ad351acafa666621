import { Clock, Effect, Option } from "effect"
import { type Attempt, isFinalAttempt } from "../domain/Attempt.ts"
import { type Intent, isFinalIntent } from "../domain/Intent.ts"
import { maySend } from "../payments/planSend.ts"
import { pausesText, stopsPayment } from "../rules/checks/stops.ts"
import { Observations } from "../store/balances/Observations.ts"
import { Brake } from "../store/controls/Brake.ts"
import { Database, Lease } from "../store/database/Database.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import type { SendStart, SolvedWork } from "../store/payments/outboxRows.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { type Framing, frame, type Transaction, transactionBytes, txHash, txVersions } from "../tx/Transaction.ts"
import { Draining } from "./Draining.ts"
import { isOurChain, Tip } from "./Tip.ts"

/** Why nothing may be signed or sent for the intent now; undefined where nothing is in the way. */
export const brakeFor = Effect.fnUntraced(function* (intent: Intent) {
  const brake = yield* Brake
  const halts = yield* brake.halts
  if (halts.length > 0) return `halted: ${halts.map(({ reason }) => reason.replaceAll("_", " ")).join(", ")}`
  return pausesText((yield* brake.pauses).filter(stopsPayment(intent.rule, intent.payment)))
})

type Work = NonNullable<Attempt["work"]>

/** The transaction of a stored attempt in one of the two wire forms. */
export const transactionOf = (attempt: Attempt, work: Work, framing: Framing): Transaction => ({
  inputData: frame(framing, attempt.chainId, attempt.inputData),
  signature: attempt.signature,
  pubKey: attempt.party,
  version: txVersions.TX_VERSION_V3,
  pow: work,
})

/** An attempt with its proof of work, stored or about to be. */
export type Solved = Attempt & Readonly<Record<"hashBare" | "hashPrefixed", string>> & { readonly work: Work }

/** The attempt with its work, and its hashes in both wire forms. */
export const solvedBy = (attempt: Attempt, work: Work): Solved => ({
  ...attempt,
  work,
  hashBare: txHash(transactionBytes(transactionOf(attempt, work, "bare"))),
  hashPrefixed: txHash(transactionBytes(transactionOf(attempt, work, "prefixed"))),
})

/** Its work, as it is stored. */
export const solutionOf = ({ work, hashBare, hashPrefixed }: Solved): SolvedWork => ({
  ...work,
  hashBare,
  hashPrefixed,
})

export const hasWork = (attempt: Attempt): attempt is Solved =>
  attempt.work !== undefined && attempt.hashBare !== undefined && attempt.hashPrefixed !== undefined

/**
 * The network's present height. Blocks come about once a second: the time since its head was asked for is added, which
 * may be long before now if the answer is slow and shared, or the machine slept. Undefined on another chain.
 */
export const heightNow = Effect.fnUntraced(function* () {
  const tip = yield* Tip
  const head = yield* tip.head
  const askedAt = yield* tip.askedAt
  if (!(yield* isOurChain(head))) return undefined
  const seconds = Math.trunc(((yield* Clock.currentTimeMillis) - askedAt) / 1_000)
  return head.height + BigInt(Math.max(0, seconds))
})

/**
 * True if the attempt may be sent at this height, by the store's data: nothing stops it, be it the end of the attempt,
 * a halt, a pause, the margin of its window, another process that took over, or the end of this one.
 */
export const mayGoOut = Effect.fnUntraced(function* ({ intentId, k }: Attempt, height: bigint) {
  const outbox = yield* Outbox
  if (yield* (yield* Draining).isDraining) return false
  if (!(yield* (yield* Lease).isHeld)) return false
  const intent = Option.getOrUndefined(yield* outbox.byId(intentId))
  if (intent === undefined || isFinalIntent(intent.state)) return false
  if ((yield* brakeFor(intent)) !== undefined) return false
  const stored = (yield* outbox.attempts(intentId)).find((attempt) => attempt.k === k)
  if (stored === undefined || isFinalAttempt(stored.state)) return false
  const observed = (yield* (yield* Observations).watermark)?.height ?? 0n
  return maySend(stored, observed > height ? observed : height)
})

/**
 * Begins the send: its commit holds all that the bytes are made of, and from then on the POST may leave. Undefined if
 * anything that stops payments has come into force since it was decided to send, by what this very transaction reads.
 */
export const beginSend = Effect.fnUntraced(function* (start: SendStart & { readonly attempt: Solved }, height: bigint) {
  const outbox = yield* Outbox
  const { attempt } = start
  const isFree = mayGoOut(attempt, height)
  return yield* (yield* Database).atomically(
    Effect.gen(function* () {
      if (!(yield* isFree)) return undefined
      yield* outbox.saveWork(attempt, solutionOf(attempt))
      const seq = yield* outbox.beginSend(start)
      const { intentId: intent, k } = attempt
      const reason = "the store has other work for it, which the next round sends"
      if (seq === undefined) yield* logEvent("proof of work failed", { intent, attempt: k, reason })
      return seq
    }),
  )
})
