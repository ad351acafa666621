import { Effect, Option } from "effect"
import { type Attempt, isFinalAttempt } from "../domain/Attempt.ts"
import { reasonText } from "../domain/Decision.ts"
import { haltText } from "../domain/Halt.ts"
import { type Intent, isFinalIntent } from "../domain/Intent.ts"
import { millisOf } from "../domain/Time.ts"
import { Health } from "../gateway/Health.ts"
import { maySend } from "../payments/planSend.ts"
import { pausesText, stopsPayment } from "../rules/checks/stops.ts"
import { blockMillis, Observations } from "../store/balances/Observations.ts"
import { Controls } from "../store/controls/Controls.ts"
import { Database } from "../store/database/Database.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import type { SendStart, SolvedWork } from "../store/payments/outboxRows.ts"
import { type Framing, frame, type Transaction, transactionBytes, txHash, txVersions } from "../tx/Transaction.ts"
import { ChainHeadCache, haltOnWrongChain, type Moment, momentNow } from "./ChainHeadCache.ts"
import { InFlight } from "./InFlight.ts"

/** Why nothing may be signed or sent for the intent now; undefined where nothing is in the way. */
export const blockedBy = Effect.fnUntraced(function* (intent: Intent) {
  const halts = yield* (yield* Controls).halts
  if (halts.length > 0) return reasonText("halted", halts.map(haltText).join("; "))
  const pauses = pausesText((yield* (yield* Controls).pauses).filter(stopsPayment(intent.rule, intent.payment)))
  return pauses === undefined ? undefined : reasonText("paused", pauses)
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
 * The network's present height. Blocks of the time since its head was asked for are added, at least one a second: it
 * may be long before now if the answer is slow and shared, the machine slept, or a node that is behind gave the newest
 * one. Undefined on another chain.
 */
export const heightNow = Effect.fnUntraced(function* () {
  const headCache = yield* ChainHeadCache
  const head = yield* headCache.head
  if (yield* haltOnWrongChain(head)) return undefined
  const { height, askedAt } = yield* headCache.highest
  return height + (yield* yield* blocksSince(askedAt))
})

/** The number of blocks since then, at least one a second, by the clock that shows more; read when it is run. */
export const blocksSince = Effect.fnUntraced(function* (at: Moment) {
  const perBlock = Math.min(blockMillis, yield* (yield* Observations).blockMillis)
  return Effect.map(momentNow, ({ millis, nanos }) =>
    BigInt(Math.trunc(Math.max(millis - at.millis, millisOf(nanos - at.nanos)) / perBlock)),
  )
})

/**
 * The stored attempt, if it may be sent at this height: nothing stops it, be it the end of the attempt, a halt, a
 * pause, the margin of its window, another process that took over, or the end of this one.
 */
export const sendable = Effect.fnUntraced(function* ({ intentId, k }: Attempt, height: bigint) {
  const outbox = yield* Outbox
  if (yield* (yield* InFlight).isDraining) return undefined
  if (!(yield* (yield* Database).isLeaseHeld)) return undefined
  const intent = Option.getOrUndefined(yield* outbox.byId(intentId))
  if (intent === undefined || isFinalIntent(intent.state)) return undefined
  if ((yield* blockedBy(intent)) !== undefined) return undefined
  const stored = (yield* outbox.attempts(intentId)).find((attempt) => attempt.k === k)
  if (stored === undefined || isFinalAttempt(stored.state)) return undefined
  const observed = (yield* (yield* Observations).watermark)?.height ?? 0n
  const named = stored.sends === 0 ? [] : yield* namedHeights
  return [height, observed, ...named].every((known) => maySend(stored, known)) ? stored : undefined
})

/**
 * The newest blocks that the gateways name. A copy that arrives in the last block of its window executes once more on
 * networks before 0.76.3, so one gateway that is ahead of a quorum stops repeats; a first send has no copy.
 */
const namedHeights = Effect.gen(function* () {
  const views = yield* (yield* Health).all
  return views.flatMap(({ state, isStray, named }) => (state === "quarantined" || isStray ? [] : (named ?? [])))
})

/**
 * Begins the send: its commit holds all that the bytes are made of, and from then on the POST may leave. Undefined if
 * anything that stops payments has come into force since it was decided to send, by what this very transaction reads,
 * or if the store has other work, which the next round sends.
 */
export const beginSend = Effect.fnUntraced(function* (start: SendStart & { readonly attempt: Solved }, height: bigint) {
  const outbox = yield* Outbox
  const { attempt } = start
  const reading = sendable(attempt, height)
  return yield* (yield* Database).write(
    Effect.gen(function* () {
      const stored = yield* reading
      if (stored === undefined) return undefined
      if (stored.work === undefined) yield* outbox.saveWork(stored, solutionOf(attempt))
      else if (stored.hashBare !== attempt.hashBare) return undefined
      return yield* outbox.beginSend(start)
    }),
  )
})
