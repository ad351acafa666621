import { Clock, Effect, Option } from "effect"
import { CycleConfig } from "../config/ConfigInForce.ts"
import { type Attempt, deadlineHeight, isFinalAttempt } from "../domain/Attempt.ts"
import { withdrawn } from "../domain/Balance.ts"
import { type Intent, isFinalIntent } from "../domain/Intent.ts"
import { nanosOf } from "../domain/Time.ts"
import { ifSupported } from "../gateway/GatewayError.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { Gateways } from "../gateway/Gateways.ts"
import type { TransferSighting } from "../gateway/readTransfers.ts"
import { judgeSighting } from "../payments/judgeAttempt.ts"
import { behindNanos, hasFallen, isInBalances, judgeExecuted, mayHaveLeft, signedBy } from "../payments/movements.ts"
import { Observations } from "../store/balances/Observations.ts"
import { Approvals } from "../store/controls/Approvals.ts"
import { LedgerAudit } from "../store/payments/LedgerAudit.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { noteExecution, recordListing } from "./audit/recordListing.ts"
import { alertOnContradiction, escalateIfOverdue, type Live, settleExecuted } from "./endings.ts"
import { loadEnds, loadSends } from "./loadEnds.ts"
import { settleAndAlert } from "./settleAndAlert.ts"

/** Withdrawals that ended within this time before a signature may be among the movements since. Milliseconds. */
const earlierMillis = 3_600_000

/** How far the ledger's clock may be behind ours. Nanoseconds. */
const clockNanos = 60_000_000_000n

type Sends = Effect.Success<ReturnType<typeof loadSends>>

/**
 * How often the ledger moved money for an attempt, with how far and how completely that was read. Movements of a
 * withdrawal bear no id: each one alike since its signature counts, so that none is called unpaid which may be paid.
 */
export const movementsFor = Effect.fnUntraced(function* (attempt: Attempt, sends: NonNullable<Sends>) {
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
const mayHaveWithdrawn = Effect.fnUntraced(function* ({ payment }: Intent, attempt: Attempt) {
  const now = nanosOf(yield* Clock.currentTimeMillis)
  const reader = yield* GatewayReader
  const answer = yield* ifSupported(reader.debits(attempt.party, signedBy(attempt) - clockNanos, now))
  return answer?.debits.some(
    ({ type, asset, quantity }) => type === withdrawn && asset === payment.assetId && quantity === payment.amount,
  )
})

/** Movements of withdrawals alike since the attempt was signed, with how far and how completely they were read. */
const alikeOf = Effect.fnUntraced(function* (intent: Intent, attempt: Attempt, mark: NonNullable<Sends>["mark"]) {
  const { assetId, amount } = intent.payment
  const since = sinceOf(attempt)
  const now = nanosOf(yield* Clock.currentTimeMillis)
  const newest = mark?.timestamp ?? now
  const answer = yield* (yield* GatewayReader).debits(attempt.party, since, newest > now ? newest : now)
  const alike = answer.debits.filter(
    ({ type, asset, quantity, timestamp }) =>
      type === withdrawn && asset === assetId && quantity === amount && timestamp > since,
  )
  return { count: alike.length, complete: answer.complete, mark: answer.mark }
})

/**
 * How often the ledger moved money for an attempt, where its movements say whose they are. Those of a withdrawal do
 * not: each one alike since its signature is its own, but one for each other signature of the journal that may have
 * made it.
 */
export const executionsOf = Effect.fnUntraced(function* (attempt: Attempt, sends: NonNullable<Sends>) {
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
  const listing = yield* ifSupported((yield* GatewayReader).withdrawalsFrom(fromKey))
  if (listing !== undefined) yield* recordListing(fromKey, { ...listing, cursor: undefined })
  const { countUnrecognized } = yield* LedgerAudit
  return yield* countUnrecognized({ party: fromKey, asset: assetId, amount, since: sinceOf(attempt) })
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

/**
 * Why the gateways of this process prove no payment dead: under the terms in force more of them must agree, or another
 * chain counts. Undefined where they do. A start with such a file halts; what it frees would be paid again afterwards.
 */
export const fewerThanAgreed = Effect.gen(function* () {
  const known = yield* (yield* Approvals).termsInForce
  if (known === undefined) return undefined
  const { quorum, chainId } = known.terms
  const gateways = yield* Gateways
  if (gateways.quorum < quorum) return `under the terms in force ${quorum} gateways must agree, not ${gateways.quorum}`
  const { chainId: own } = (yield* CycleConfig).treasury.network
  return own === chainId ? undefined : `under the terms in force the chain is ${chainId}, not ${own}`
})

type Where = "by id" | "in the listing"

/** Settles by a sighting of the attempt under its own transfer id. */
export const judgeFound = Effect.fnUntraced(function* (
  live: Live,
  { found, gateway, agreed }: TransferSighting,
  where: Where,
) {
  const { intent, attempt } = live
  if (found === undefined) return
  const outbox = yield* Outbox
  const isWithdrawn = intent.command === "withdraw"
  const context = { ...live, found, gateway, latest: yield* latestTime, lacking: yield* fewerThanAgreed }
  const first = judgeSighting({ ...context, before: undefined })
  const before = first._tag === "Ask" ? yield* hasExecuted(intent, attempt, found.timestamp) : undefined
  const verdict = before === undefined ? first : judgeSighting({ ...context, before })
  const seen = {
    gateway,
    height: undefined,
    detail: `${isWithdrawn ? "withdrawal" : "transfer"} ${where}: ${found.status}`,
  }
  switch (verdict._tag) {
    case "Ask":
      return
    case "Other": {
      if (agreed) return yield* alertOnContradiction(live, verdict.shown, gateway)
      yield* logEvent("gateway shows another payment", { intent: intent.id, gateway, reason: "under our transfer id" })
      return yield* escalateIfOverdue(live, `one of ${gateway} shows ${verdict.shown} under its transfer id`)
    }
    case "Nothing":
      return yield* escalateIfOverdue(live, verdict.why)
    case "Executed": {
      const audit = yield* LedgerAudit
      const how = where === "in the listing" ? "listed by the ledger" : "confirmed on the ledger"
      const settledAt = yield* executedAt(intent, attempt, found.timestamp)
      const noted = Effect.gen(function* () {
        yield* noteExecution(attempt, found.timestamp)
        yield* audit.watch(attempt)
        yield* outbox.addEvidence(attempt, "executed", seen)
      })
      return yield* settleExecuted(live, { fee: found.fees, settledAt, how }, noted)
    }
    case "ExecutedBefore": {
      const settledAt = yield* executedAt(intent, attempt, found.timestamp)
      const noted = outbox.addEvidence(attempt, "executed", { ...seen, detail: "the ledger shows it done before" })
      return yield* settleExecuted(live, { fee: undefined, settledAt, how: "seen on the ledger" }, noted)
    }
    case "Failed": {
      if (isWithdrawn && (yield* mayHaveWithdrawn(intent, attempt))) return yield* escalateIfOverdue(live)
      const { detail } = verdict
      yield* outbox.addEvidence(attempt, "execution_failed", seen)
      const ending = { state: "failed", sentence: `failed: ${detail}`, detail, severity: "page" } as const
      const failed = outbox.settle(intent, attempt, "failed", "failed", { detail, settledAt: found.timestamp })
      return yield* settleAndAlert(intent, ending, failed)
    }
  }
})

/** The latest time that a block can have by now, Unix nanoseconds. */
const latestTime = Effect.gen(function* () {
  const { maxAgeMillis } = (yield* CycleConfig).treasury.network
  const rows = (yield* (yield* Observations).watermark)?.timestamp ?? 0n
  const clock = nanosOf(yield* Clock.currentTimeMillis)
  return (rows > clock ? rows : clock) + nanosOf(maxAgeMillis)
})

/** Asks the ledger if the bytes executed before they failed. */
const hasExecuted = Effect.fnUntraced(function* (intent: Intent, attempt: Attempt, failedAt: bigint) {
  const isAlone = (yield* Gateways).quorum === 1
  const isListed = (yield* (yield* LedgerAudit).countExecutions(attempt.transferId)) > 0
  const sends = isAlone && isListed ? undefined : yield* loadSends(attempt.party, [attempt])
  const ends = yield* loadEnds(intent, attempt)
  return judgeExecuted({ intent, attempt, failedAt, isListed, isAlone, sends, ends })
})

/** When it executed: the reported time if possible, else now. Rules evaluate again once balances surely have it. */
const executedAt = Effect.fnUntraced(function* (intent: Intent, attempt: Attempt, reportedAt: bigint) {
  const ends = yield* loadEnds(intent, attempt)
  if (isInBalances(intent, attempt, ends, reportedAt)) return reportedAt
  const clock = nanosOf(yield* Clock.currentTimeMillis)
  const latest = ends.until > clock ? ends.until : clock
  // Balances that are not known up to that time do not contradict it.
  return reportedAt > signedBy(attempt) && reportedAt >= ends.until ? reportedAt : latest
})

/**
 * Evidence against the conclusion from listings that an attempt never executed, as text: a node that has not imported
 * its transfers yet honestly lists none. A movement shown by any one gateway, or any fall of the balance, forbids it.
 * Undefined if complete movements past the deadline (or, if none are reported, the balances up to there) show none of
 * it.
 */
export const speaksAgainst = Effect.fnUntraced(function* ({ intent, attempt }: Live) {
  const fell = "no listing has it, but the payer's balance fell by its amount"
  const ends = yield* loadEnds(intent, attempt)
  if (hasFallen(intent, attempt, ends)) return fell
  const sends = yield* loadSends(attempt.party, [attempt])
  // A block may hold several payments: where no movement says whose a fall is, a larger one may be its own as well.
  if (sends === undefined && mayHaveLeft(intent, attempt, ends, 0n) !== false) return fell
  if (sends?.shown.has(attempt.transferId) === true) return "no listing has it, but the movements do"
  if (intent.command === "withdraw" && (yield* mayHaveWithdrawn(intent, attempt))) {
    return "no listing has it, but the movements have a similar one"
  }
  const rows = yield* (yield* Observations).watermark
  const reached = sends?.mark?.height ?? rows?.height ?? 0n
  if (sends?.complete === false || reached <= deadlineHeight(attempt)) {
    return "the movements are not complete up to the end of the window"
  }
  return undefined
})
