import { Clock, Effect, Option } from "effect"
import { general } from "../domain/AccountType.ts"
import type { Attempt } from "../domain/Attempt.ts"
import { type Intent, isFinalIntent } from "../domain/Intent.ts"
import { warnOf } from "../gateway/GatewayError.ts"
import { LedgerHistory } from "../gateway/LedgerHistory.ts"
import { Observations } from "../store/balances/Observations.ts"
import type { AccountBalance } from "../store/balances/storeRows.ts"
import { Signals } from "../store/database/Signals.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { Looks } from "./Looks.ts"

/** How far the ledger's clock may be behind ours: movements are counted from so long before the first signature. */
export const behindNanos = 600_000_000_000n

/** By our clock or by the ledger's, whichever was earlier when it was signed. */
export const signedBy = ({ createdAt, signedAfter }: Attempt): bigint => {
  const ours = BigInt(createdAt) * 1_000_000n
  return signedAfter !== undefined && signedAfter < ours ? signedAfter : ours
}

/** How often the ledger moved money for each of a party's attempts; undefined if the gateway cannot report it. */
export const sendsOf = Effect.fn("Reconcile.sends")(function* (party: string, attempts: ReadonlyArray<Attempt>) {
  const history = yield* LedgerHistory
  const now = BigInt(yield* Clock.currentTimeMillis) * 1_000_000n
  const newest = (yield* (yield* Observations).watermark)?.timestamp ?? now
  const since = attempts.map(signedBy).reduce((first, time) => (time < first ? time : first)) - behindNanos
  return yield* history
    .sends(party, since, newest > now ? newest : now)
    .pipe(Effect.catchReason("GatewayError", "Unsupported", () => Effect.undefined))
})

/** A step of one account's balance, at a block time. */
interface Step {
  readonly at: bigint
  readonly by: bigint
}

/** The steps between consecutive rows of the general account. */
export const stepsOf = (rows: ReadonlyArray<AccountBalance>): ReadonlyArray<Step> => {
  const own = rows.filter((row) => row.type === general && row.market === "")
  return own.slice(1).map((row, i) => ({ at: row.timestamp, by: row.balance - own[i]!.balance }))
}

/** How far before the signature the opening balances are looked for. */
const openingNanos = 86_400_000_000_000n

/** Payments that ended so long before the signature may be in balances that are newer than it. Milliseconds. */
const claimMillis = 3_600_000

/** Rows have the times of their blocks in microseconds, other answers in nanoseconds. */
const toMicros = (nanos: bigint): bigint => nanos - (nanos % 1_000n)

/** The time before which no block can hold the attempt: the ledger's own, where it is known. Unix nanoseconds. */
const signedAfterOf = ({ signedAfter, createdAt }: Attempt): bigint => signedAfter ?? BigInt(createdAt) * 1_000_000n

/** Other debits of the payer's account about that time, as far as confirmed payments explain them. */
const othersOf = Effect.fnUntraced(function* ({ id, payment }: Intent, attempt: Attempt) {
  const settled = yield* (yield* Outbox).settledSince(attempt.createdAt - claimMillis)
  return settled.filter(
    (other) =>
      other.id !== id &&
      other.state === "confirmed" &&
      other.payment.fromKey === payment.fromKey &&
      other.payment.assetId === payment.assetId,
  )
})

/**
 * The execution of an attempt as both accounts show it: in one block the receiver gained exactly the amount and the
 * sender lost it with a fee of at most feeMax. Undefined unless exactly one block fits that no other payment has, and
 * where the block of an earlier one of the same amount is not known.
 */
export const movementOf = Effect.fnUntraced(function* (intent: Intent, attempt: Attempt) {
  const after = signedAfterOf(attempt)
  const blocks = yield* fitsOf(intent, after - openingNanos)
  const fits = blocks.filter(({ settledAt }) => settledAt > after)
  if (fits.length === 0) return undefined
  const { toKey, amount } = intent.payment
  const others = yield* othersOf(intent, attempt)
  const alike = others.filter(({ payment }) => payment.toKey === toKey && payment.amount === amount)
  const claimed = alike.map(({ settledAt }) => toMicros(settledAt ?? 0n))
  const places = new Set(blocks.map(({ settledAt }) => toMicros(settledAt)))
  if (claimed.some((time) => !places.has(time))) return undefined
  const free = fits.filter(({ settledAt }) => !claimed.includes(toMicros(settledAt)))
  return free.length === 1 ? free[0] : undefined
})

/**
 * True if the payer's balance shows a fall that may be the attempt: at least its amount, in a block that it may be in,
 * beyond what confirmed payments of that block explain. Undefined if balances are not known up to `until`.
 */
export const mayHaveLeft = Effect.fnUntraced(function* (intent: Intent, attempt: Attempt, until: bigint) {
  const observations = yield* Observations
  const { amount } = intent.payment
  // Rows are known of all blocks before that one.
  if (((yield* observations.watermark)?.timestamp ?? 0n) <= until) return undefined
  return (yield* fallsOf(intent, attempt)).some((fall) => fall >= amount)
})

/** True if the payer's balance fell by exactly the attempt and a fee that it allows, whatever else fell. */
export const hasFallen = Effect.fnUntraced(function* (intent: Intent, attempt: Attempt) {
  const { amount } = intent.payment
  return (yield* fallsOf(intent, attempt)).some((fall) => fall >= amount && fall <= amount + intent.feeMax)
})

/** By how much the payer's balance fell in each block that may hold the attempt, beyond what payments explain. */
const fallsOf = Effect.fnUntraced(function* (intent: Intent, attempt: Attempt) {
  const { fromKey, assetId } = intent.payment
  const after = signedAfterOf(attempt)
  const others = yield* othersOf(intent, attempt)
  const explained = (at: bigint) =>
    others
      .filter(({ settledAt }) => settledAt !== undefined && toMicros(settledAt) === toMicros(at))
      .reduce((sum, { payment, fee, feeMax }) => sum + payment.amount + (fee ?? feeMax), 0n)
  const steps = stepsOf(yield* (yield* Observations).history(fromKey, assetId, after - openingNanos))
  return steps.flatMap(({ at, by }) => (at > after ? [-by - explained(at)] : []))
})

/**
 * True if the payer's balance fell in that block (Unix nanoseconds) by the attempt's amount at least, beyond what
 * confirmed payments of the block explain.
 */
export const hasLeftAt = Effect.fnUntraced(function* (intent: Intent, attempt: Attempt, time: bigint) {
  const observations = yield* Observations
  const { fromKey: party, assetId: asset, amount } = intent.payment
  const block = toMicros(time)
  const rows = yield* observations.history(party, asset, block)
  const row = rows.find(({ timestamp, type, market }) => timestamp === block && type === general && market === "")
  const before = yield* observations.before({ party, asset, market: "", type: general }, block)
  if (row === undefined || before === undefined) return false
  const explained = (yield* othersOf(intent, attempt))
    .filter(({ settledAt }) => settledAt !== undefined && toMicros(settledAt) === block)
    .reduce((sum, { payment, fee, feeMax }) => sum + payment.amount + (fee ?? feeMax), 0n)
  return before - row.balance - explained >= amount
})

/** The blocks since a time (Unix nanoseconds) in which both ends moved by exactly the payment. */
const fitsOf = Effect.fnUntraced(function* (intent: Intent, after: bigint) {
  const observations = yield* Observations
  const { fromKey, toKey, assetId, amount } = intent.payment
  const since = after - openingNanos
  const lost = stepsOf(yield* observations.history(fromKey, assetId, since))
  const gained = stepsOf(yield* observations.history(toKey, assetId, since))
  return lost.flatMap(({ at, by }) => {
    const fee = -by - amount
    const matches = at > after && fee >= 0n && fee <= intent.feeMax
    return matches && gained.some((step) => step.at === at && step.by === amount) ? [{ fee, settledAt: at }] : []
  })
})

/**
 * By intent: how many executions of a payment the balances show beyond those that payments explain. Only blocks count
 * in which both ends moved by exactly such a payment, so what else an account does is never taken for one.
 */
export const excessOf = Effect.fnUntraced(function* (attempts: ReadonlyArray<Attempt>) {
  const outbox = yield* Outbox
  const found = new Map<string, number>()
  const since = Math.min(...attempts.map((attempt) => attempt.createdAt))
  const known = [...(yield* outbox.settledSince(since)), ...(yield* outbox.open)]
  for (const attempt of attempts) {
    const intent = Option.getOrUndefined(yield* outbox.byId(attempt.intentId))
    if (intent === undefined) continue
    const alike = known.filter(
      ({ payment, state }) =>
        payment.fromKey === intent.payment.fromKey &&
        payment.toKey === intent.payment.toKey &&
        payment.assetId === intent.payment.assetId &&
        payment.amount === intent.payment.amount &&
        (state === "confirmed" || !isFinalIntent(state)),
    )
    const excess = (yield* fitsOf(intent, BigInt(since) * 1_000_000n)).length - alike.length
    if (excess > 0) found.set(intent.id, excess)
  }
  return found
})

/** Shortest interval between queries of the ledger's movements for one payment that balances do not show. */
const askMillisMin = 5_000

/**
 * Looks for the movement of each payment that is confirmed and not seen to have moved money yet: until then both its
 * ends stay reserved, so that the false word of a lone gateway lets nothing be paid again while the bytes may execute.
 */
export const seeMoved = Effect.fn("Confirm.moved")(function* () {
  const outbox = yield* Outbox
  for (const intent of yield* outbox.unmoved) {
    const attempt = (yield* outbox.attempts(intent.id)).find(({ state }) => state === "confirmed")
    if (attempt === undefined) continue
    const isShown = yield* hasFallen(intent, attempt)
    const now = yield* Clock.currentTimeMillis
    if (!isShown && !(yield* (yield* Looks).isDue(`moved/${attempt.transferId}`, now, askMillisMin))) continue
    // Whoever does not tell of movements now keeps no other payment from being looked up.
    const asked = sendsOf(attempt.party, [attempt]).pipe(
      Effect.catchTag("GatewayError", (error) =>
        Effect.as(warnOf("payment movements not looked up", error), undefined),
      ),
    )
    const sends = isShown ? undefined : yield* asked
    if (!isShown && sends?.counts.has(attempt.transferId) !== true) continue
    const detail = isShown ? "the payer's balance fell by it" : "it is among the ledger's movements"
    yield* outbox.addEvidence(attempt, "moved", { gateway: "", height: undefined, detail })
    yield* (yield* Signals).wake("engine")
  }
})
