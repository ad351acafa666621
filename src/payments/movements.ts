import type { Attempt } from "../domain/Attempt.ts"
import { type BalanceChange, general } from "../domain/Balance.ts"
import { type Intent, isFinalIntent } from "../domain/Intent.ts"
import { nanosOf } from "../domain/Time.ts"

/** How far the ledger's clock may be behind ours: movements are counted from so long before the first signature. */
export const behindNanos = 600_000_000_000n

/** Payments that ended within this time (milliseconds) before the signature may be in balances newer than it. */
export const overlapMillis = 3_600_000

/** By our clock or by the ledger's, whichever was earlier when it was signed. */
export const signedBy = ({ createdAt, signedAfter }: Attempt): bigint => {
  const ours = nanosOf(createdAt)
  return signedAfter !== undefined && signedAfter < ours ? signedAfter : ours
}

/** The time before which no block can hold the attempt: the ledger's own, where it is known. Unix nanoseconds. */
export const signedAfterOf = ({ signedAfter, createdAt }: Attempt): bigint => signedAfter ?? nanosOf(createdAt)

/** Rows have the times of their blocks in microseconds, other answers in nanoseconds. */
export const inMicros = (nanos: bigint): bigint => nanos - (nanos % 1_000n)

/** A step of one account's balance, at a block time. */
interface Step {
  readonly at: bigint
  readonly by: bigint
}

/**
 * The steps between consecutive rows of the general account; the first one from the balance before, if it is known.
 * Without one, a first balance of exactly `opens` counts as a step from nothing: the account is new.
 */
export const stepsOf = (
  rows: ReadonlyArray<Pick<BalanceChange, "type" | "market" | "balance" | "timestamp">>,
  before?: bigint,
  opens?: bigint,
): ReadonlyArray<Step> => {
  const own = rows.filter((row) => row.type === general && row.market === "")
  const first = before ?? (own[0]?.balance === opens ? 0n : undefined)
  return own.flatMap((row, i) => {
    const last = i === 0 ? first : own[i - 1]?.balance
    return last === undefined ? [] : [{ at: row.timestamp, by: row.balance - last }]
  })
}

/** Steps of both ends of a payment, and other payments that may have made them. */
export interface Ends {
  readonly lost: ReadonlyArray<Step>
  readonly gained: ReadonlyArray<Step>
  /** Confirmed payments of the payer's account about that time. */
  readonly others: ReadonlyArray<Intent>
  /** Rows are known of all blocks before this time (Unix nanoseconds). */
  readonly until: bigint
}

interface Movement {
  readonly fee: bigint
  readonly settledAt: bigint
}

/** Blocks in which both ends moved by exactly the payment, with a fee of at most feeMax. */
const fitsOf = (
  { payment: { amount }, feeMax }: Intent,
  { lost, gained }: Pick<Ends, "lost" | "gained">,
): ReadonlyArray<Movement> =>
  lost.flatMap(({ at, by }) => {
    const fee = -by - amount
    const isPaid = fee >= 0n && fee <= feeMax && gained.some((step) => step.at === at && step.by === amount)
    return isPaid ? [{ fee, settledAt: at }] : []
  })

/** True if both are the same transfer under two names. */
export const isAlike = ({ payment: a }: Intent, { payment: b }: Intent): boolean =>
  a.fromKey === b.fromKey && a.toKey === b.toKey && a.assetId === b.assetId && a.amount === b.amount

/** True if the fee that a block seems to have taken may be another payment, which no other block shows. */
const mayHold = ({ fee, settledAt }: Movement, other: Intent, { lost }: Ends): boolean => {
  const place = inMicros(other.settledAt ?? 0n)
  const isElsewhere = place !== inMicros(settledAt) && lost.some(({ at }) => inMicros(at) === place)
  return other.payment.amount <= fee && !isElsewhere
}

/**
 * The execution of an attempt as both accounts show it. Undefined unless exactly one block fits that no other payment
 * has, and where the block of an earlier one of the same amount, or of one as small as the fee, is not known.
 */
export const movementOf = (intent: Intent, attempt: Attempt, ends: Ends): Movement | undefined => {
  const after = signedAfterOf(attempt)
  const blocks = fitsOf(intent, ends)
  const claimed = ends.others
    .filter((other) => isAlike(other, intent))
    .map(({ settledAt }) => inMicros(settledAt ?? 0n))
  const places = new Set(blocks.map(({ settledAt }) => inMicros(settledAt)))
  if (claimed.some((time) => !places.has(time))) return undefined
  const free = blocks.filter(({ settledAt }) => settledAt > after && !claimed.includes(inMicros(settledAt)))
  const [one] = free
  if (one === undefined || free.length > 1) return undefined
  return ends.others.some((other) => mayHold(one, other, ends)) ? undefined : one
}

/** By how much the payer's balance fell in each block that may hold the attempt, beyond what payments explain. */
const fallsOf = (attempt: Attempt, { lost, others }: Ends): ReadonlyArray<Step> => {
  const after = signedAfterOf(attempt)
  const explained = (at: bigint) =>
    others
      .filter(({ settledAt }) => settledAt !== undefined && inMicros(settledAt) === inMicros(at))
      .reduce((sum, { payment, fee, feeMax }) => sum + payment.amount + (fee ?? feeMax), 0n)
  return lost.flatMap(({ at, by }) => (at > after ? [{ at, by: -by - explained(at) }] : []))
}

/**
 * True if the payer's balance shows a fall that may be the attempt: at least its amount, in a block that it may be in,
 * beyond what confirmed payments of that block explain. Undefined if balances are not known up to `until`.
 */
export const mayHaveLeft = (intent: Intent, attempt: Attempt, ends: Ends, until: bigint): boolean | undefined =>
  ends.until <= until ? undefined : fallsOf(attempt, ends).some(({ by }) => by >= intent.payment.amount)

/** Falls of the payer's balance by exactly the attempt and a fee that it allows, whatever else fell. */
const exactFalls = ({ payment: { amount }, feeMax }: Intent, attempt: Attempt, ends: Ends): ReadonlyArray<Step> =>
  fallsOf(attempt, ends).filter(({ by }) => by >= amount && by <= amount + feeMax)

/** True if there is one. */
export const hasFallen = (intent: Intent, attempt: Attempt, ends: Ends): boolean =>
  exactFalls(intent, attempt, ends).length > 0

/**
 * True if the balances show that it moved money, a transfer at both ends of one block: at the payer's alone another
 * payment of the amount looks the same.
 */
export const hasMoved = (intent: Intent, attempt: Attempt, ends: Ends): boolean => {
  const { command, payment } = intent
  const isGained = (fall: Step) => ends.gained.some(({ at, by }) => at === fall.at && by >= payment.amount)
  return exactFalls(intent, attempt, ends).some((fall) => command === "withdraw" || isGained(fall))
}

/** True if the payer's balance fell by it in that block (Unix nanoseconds); withdrawals have times of their own. */
export const isInBalances = (intent: Intent, attempt: Attempt, ends: Ends, time: bigint): boolean => {
  if (time <= signedBy(attempt) || time >= ends.until) return false
  if (intent.command === "withdraw") return true
  const fall = fallsOf(attempt, ends).find(({ at }) => at === inMicros(time))
  return fall !== undefined && fall.by >= intent.payment.amount
}

/**
 * How many executions of the payment the balances show beyond those that payments explain. Only blocks count in which
 * both ends moved by exactly such a payment, so what else an account does is never taken for one.
 */
export const excessOf = (
  intent: Intent,
  steps: Pick<Ends, "lost" | "gained">,
  known: ReadonlyArray<Intent>,
): number => {
  const alike = known.filter((one) => isAlike(one, intent) && (one.state === "confirmed" || !isFinalIntent(one.state)))
  return fitsOf(intent, steps).length - alike.length
}

/** How often the ledger moved money for an attempt, as far as that was read. Times are Unix nanoseconds. */
interface Sends {
  readonly counts: ReadonlyMap<string, number>
  readonly shown: ReadonlySet<string>
  readonly complete: boolean
  readonly mark: { readonly height: bigint; readonly timestamp: bigint } | undefined
}

interface ExecutionContext {
  readonly intent: Intent
  readonly attempt: Attempt
  /** The block in which it failed, if that is known. */
  readonly failedAt: bigint | undefined
  /** True if a listing showed it as done. */
  readonly isListed: boolean
  /** True if one gateway's word is enough. One of several does not outweigh a quorum: only movements count then. */
  readonly isAlone: boolean
  /** Undefined if the gateway reports no movements. */
  readonly sends: Sends | undefined
  readonly ends: Ends
}

/**
 * Tells if an attempt now shown as failed has executed before: on networks that let a third party replay it, the
 * replay's failure hides that. If the ledger reports no movements, the payer's balance must show that nothing left, up
 * to the block in which it failed.
 */
export const judgeExecuted = (context: ExecutionContext): "yes" | "no" | "unknown" => {
  const { intent, attempt, failedAt, isListed, sends, ends } = context
  if ((context.isAlone && isListed) || sends?.counts.has(attempt.transferId) === true) return "yes"
  if (sends !== undefined) {
    const reaches = sends.mark === undefined || failedAt === undefined || sends.mark.timestamp >= failedAt
    return sends.complete && reaches && !hasFallen(intent, attempt, ends) ? "no" : "unknown"
  }
  return !isListed && mayHaveLeft(intent, attempt, ends, failedAt ?? 0n) === false ? "no" : "unknown"
}
