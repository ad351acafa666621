import { Clock, Effect, Option } from "effect"
import { type Attempt, isFinalAttempt } from "../domain/Attempt.ts"
import { type Intent, isFinalIntent } from "../domain/Intent.ts"
import { Confirmation } from "../gateway/Confirmation.ts"
import { LedgerHistory } from "../gateway/LedgerHistory.ts"
import { withdrawn } from "../gateway/schema/LedgerEntries.ts"
import { Findings } from "../store/Findings.ts"
import { Outbox } from "../store/Outbox.ts"
import { noteListing } from "./noteListing.ts"
import { behindNanos, type sendsOf, signedBy } from "./sendsOf.ts"

/** Withdrawals that ended so long before an attempt was signed may be among the movements since. Milliseconds. */
const earlierMillis = 3_600_000

/** How far the ledger's clock may be behind ours. */
const clockNanos = 60_000_000_000n

type Sends = Effect.Success<ReturnType<typeof sendsOf>>

/**
 * How often the ledger moved money for an attempt, with how far and how completely that was read. Movements of a
 * withdrawal bear no id: each one alike since its signature counts, so that none is called unpaid which may be paid.
 */
export const movedFor = Effect.fnUntraced(function* (attempt: Attempt, sends: NonNullable<Sends>) {
  const { transferId, intentId, state } = attempt
  const { counts, complete, mark } = sends
  const own = { count: counts.get(transferId) ?? 0, complete, mark }
  if (state !== "confirmed" || own.count > 0) return own
  const intent = Option.getOrUndefined(yield* (yield* Outbox).byId(intentId))
  return intent?.command === "withdraw" ? yield* alikeOf(intent, attempt, mark) : own
})

/** No block before this time (Unix nanoseconds) can hold the attempt. */
const sinceOf = (attempt: Attempt): bigint => attempt.signedAfter ?? signedBy(attempt) - behindNanos

/** Movements of a withdrawal bear no id: any alike since its signature says that it may have executed. */
export const hasWithdrawn = Effect.fnUntraced(function* ({ payment }: Intent, attempt: Attempt) {
  const now = BigInt(yield* Clock.currentTimeMillis) * 1_000_000n
  const told = yield* (yield* LedgerHistory)
    .debits(attempt.party, signedBy(attempt) - clockNanos, now)
    .pipe(Effect.catchReason("GatewayError", "Unsupported", () => Effect.undefined))
  return told?.debits.some(
    ({ type, asset, quantity }) => type === withdrawn && asset === payment.assetId && quantity === payment.amount,
  )
})

/** Movements of withdrawals alike since the attempt was signed, with how far and how completely they were read. */
const alikeOf = Effect.fnUntraced(function* (intent: Intent, attempt: Attempt, mark: NonNullable<Sends>["mark"]) {
  const { assetId, amount } = intent.payment
  const since = sinceOf(attempt)
  const now = BigInt(yield* Clock.currentTimeMillis) * 1_000_000n
  const newest = mark?.timestamp ?? now
  const told = yield* (yield* LedgerHistory).debits(attempt.party, since, newest > now ? newest : now)
  const alike = told.debits.filter(
    ({ type, asset, quantity, timestamp }) =>
      type === withdrawn && asset === assetId && quantity === amount && timestamp > since,
  )
  return { count: alike.length, complete: told.complete, mark: told.mark }
})

/**
 * How often the ledger moved money for an attempt, where its movements say whose they are. Those of a withdrawal do
 * not: each one alike since its signature is its own, but one for each other signature of the journal that may have
 * made it.
 */
export const countOf = Effect.fnUntraced(function* (attempt: Attempt, sends: NonNullable<Sends>) {
  const outbox = yield* Outbox
  const intent = Option.getOrUndefined(yield* outbox.byId(attempt.intentId))
  if (intent?.command !== "withdraw") return sends.counts.get(attempt.transferId) ?? 0
  const { count, complete } = yield* alikeOf(intent, attempt, sends.mark)
  if (!complete) return 0
  const mayMove = ({ state }: Attempt) => state === "confirmed" || !isFinalAttempt(state)
  const siblings = (yield* outbox.attempts(intent.id)).filter((one) => one.k !== attempt.k && mayMove(one))
  const others = yield* withdrawalsLike(intent, attempt)
  const left = count - siblings.length - others.length
  return Math.max(0, left > 1 ? left - (yield* elsewhere(intent, attempt)) : left)
})

/** Withdrawals alike that another store of the key made: listed under ids of their own, as no replay is. */
const elsewhere = Effect.fnUntraced(function* ({ payment: { fromKey, assetId, amount } }: Intent, attempt: Attempt) {
  const listing = yield* (yield* Confirmation)
    .withdrawalsFrom(fromKey)
    .pipe(Effect.catchReason("GatewayError", "Unsupported", () => Effect.undefined))
  if (listing !== undefined) yield* noteListing(fromKey, { ...listing, cursor: undefined })
  return yield* (yield* Findings).alike({ party: fromKey, asset: assetId, amount, since: sinceOf(attempt) })
})

/** Other withdrawals of the journal to whose execution such a movement may belong. */
const withdrawalsLike = Effect.fnUntraced(function* (intent: Intent, attempt: Attempt) {
  const outbox = yield* Outbox
  const { fromKey, assetId, amount } = intent.payment
  const since = sinceOf(attempt)
  const known = [...(yield* outbox.settledSince(attempt.createdAt - earlierMillis)), ...(yield* outbox.open)]
  return known.filter(
    ({ id, command, state, settledAt, payment }) =>
      id !== intent.id &&
      command === "withdraw" &&
      (state === "confirmed" || !isFinalIntent(state)) &&
      (settledAt === undefined || settledAt > since) &&
      payment.fromKey === fromKey &&
      payment.assetId === assetId &&
      payment.amount === amount,
  )
})
