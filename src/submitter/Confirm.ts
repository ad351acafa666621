import { Clock, Effect, Result } from "effect"
import { byOneConfig, CycleConfig } from "../config/ConfigInForce.ts"
import { type Attempt, deadlineHeight, isFinalAttempt } from "../domain/Attempt.ts"
import type { Intent, IntentCommand } from "../domain/Intent.ts"
import { type GatewayError, ifSupported, warnOf } from "../gateway/GatewayError.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { Gateways } from "../gateway/Gateways.ts"
import { agreedSighting } from "../gateway/quorumGateway.ts"
import type { TransferSighting } from "../gateway/readTransfers.ts"
import type { ChainHead } from "../gateway/schema/ChainHead.ts"
import {
  absencesOf,
  apartMillis,
  isDeadUnsent,
  isOver,
  judgeAbsence,
  quorumListing,
  sureHeight,
} from "../payments/judgeAttempt.ts"
import { hasFallen, movementOf } from "../payments/movements.ts"
import { Observations } from "../store/balances/Observations.ts"
import { Database } from "../store/database/Database.ts"
import { Signals } from "../store/database/Signals.ts"
import { Clearance } from "../store/payments/Clearance.ts"
import { LedgerAudit } from "../store/payments/LedgerAudit.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { Metrics } from "../telemetry/Metrics.ts"
import { AuditMemory } from "./AuditMemory.ts"
import { recordListing } from "./audit/recordListing.ts"
import { noteLostSend } from "./audit/settleListed.ts"
import { ChainHeadCache, haltOnWrongChain } from "./ChainHeadCache.ts"
import { escalateIfOverdue, escalateUnseen, type Live, settleExecuted, settleExpired } from "./endings.ts"
import { InFlight, withIntentLock } from "./InFlight.ts"
import { fewerThanAgreed, judgeFound, speaksAgainst } from "./judgeFound.ts"
import { loadEnds, otherUnderWay, recordMovements, signedOn } from "./loadEnds.ts"
import { clockAgrees } from "./waiting.ts"

/** Searches the ledger for one attempt, and settles it if the evidence is enough. */
export const confirmIntent = Effect.fn("Confirm.intent")(function* (live: Live) {
  const { attempt } = live
  if (attempt.state === "signed") {
    if (yield* noteSentElsewhere(attempt)) return
    // Before the clearance, another copy of the database may have sent it, and no listing was read that shows it.
    const lacking = yield* (yield* Clearance).lacking(attempt.party)
    return yield* lacking === undefined ? expireUnsent(live) : escalateIfOverdue(live, lacking)
  }
  const lookups = lookupsFor(live.intent.command, yield* GatewayReader)
  const asked = yield* Effect.result(lookups.byId(attempt.transferId))
  if (Result.isFailure(asked)) {
    const listed = yield* listedSighting(live)
    if (listed?.found !== undefined) return yield* judgeFound(live, listed, "in the listing")
    if (asked.failure.reason._tag === "Unsupported") return yield* byMovement(live)
    return yield* asked.failure
  }
  const sighting = asked.success
  if (sighting.found !== undefined) return yield* judgeFound(live, sighting, "by id")
  yield* judgeAbsent(live, sighting)
})

/**
 * Records an attempt as sent if the ledger lists it as done although this database never sent it: another copy of the
 * database did. It is then confirmed as if it had been sent here. Returns true if so.
 */
const noteSentElsewhere = Effect.fnUntraced(function* (attempt: Attempt) {
  if ((yield* (yield* LedgerAudit).countExecutions(attempt.transferId)) === 0) return false
  yield* noteLostSend(attempt)
  return true
})

/** Lookups for such a payment on the ledger. */
const lookupsFor = (command: IntentCommand, reader: GatewayReader["Service"]) =>
  command === "withdraw"
    ? { byId: reader.withdrawal, listing: reader.withdrawalsFrom }
    : { byId: reader.transfer, listing: reader.transfersFrom }

/** Shortest interval between two listings for one payment that cannot be looked up by its id. */
const listMillisMin = 10_000

/**
 * Listing of an attempt that cannot be looked up by its id: read once one listing showed it as done, and when its
 * window is over. Undefined: not read.
 */
const listedSighting = Effect.fnUntraced(function* ({ intent, attempt, height }: Live) {
  const executions = yield* (yield* LedgerAudit).countExecutions(attempt.transferId)
  if (executions === 0 && !isOver(attempt, height)) return undefined
  const clock = yield* Clock.currentTimeMillis
  if (!(yield* (yield* AuditMemory).claimDue(`list/${attempt.transferId}`, clock, listMillisMin))) return undefined
  const gateways = yield* Gateways
  const answers = yield* ifSupported(
    gateways.several((reader) => lookupsFor(intent.command, reader).listing(attempt.party)),
  )
  const sightings = answers?.map(({ gateway: { name }, value: { transfers, mark } }): TransferSighting => {
    const found = transfers.find(({ id }) => id === attempt.transferId)
    return { found, mark, gateway: name, agreed: true }
  })
  return sightings === undefined ? undefined : agreedSighting(sightings, gateways.quorum)
})

/** Settles an attempt that is not found as expired once its window is over and two complete listings lack it. */
const judgeAbsent = Effect.fn("Confirm.judgeAbsent")(function* (live: Live, sighting: TransferSighting) {
  const { attempt, height } = live
  const { command } = live.intent
  const outbox = yield* Outbox
  if (!isOver(attempt, height) || sighting.mark === undefined) return yield* escalateIfOverdue(live)
  if (!(yield* clockAgrees)) return yield* escalateIfOverdue(live, "clock and blocks differ")
  const gateways = yield* Gateways
  const answers = yield* gateways.several((reader) => lookupsFor(command, reader).listing(attempt.party))
  // The stored cursor is that of the transfers, and of several gateways each has its own.
  const isAlone = gateways.all.length === 1 && command === "transfer"
  for (const { value } of answers)
    yield* recordListing(attempt.party, isAlone ? value : { ...value, cursor: undefined })
  // A node that was restored without its history lists fewer transfers than an earlier listing.
  const newest = yield* (yield* LedgerAudit).newestListed(attempt.party, command)
  const listings = answers.map(({ value: { mark, complete, transfers } }) => ({
    height: mark?.height,
    complete: complete && (newest === undefined || transfers.some(({ id }) => id === newest)),
    holds: transfers.some((t) => t.id === attempt.transferId),
  }))
  const seen = quorumListing(listings, { quorum: gateways.quorum, tip: height })
  const before = absencesOf(yield* outbox.evidence(attempt.intentId), attempt)
  const earlier = before.map((one) => one.height)
  const judged = judgeAbsence(attempt, height, seen, earlier)
  if (judged === "nothing" || seen.height === undefined) return yield* escalateIfOverdue(live)
  if (judged === "proven") {
    if ((yield* Clock.currentTimeMillis) - (before[0]?.at ?? 0) < apartMillis) return yield* escalateIfOverdue(live)
    const against = (yield* fewerThanAgreed) ?? (yield* speaksAgainst(live))
    if (against !== undefined) return yield* escalateIfOverdue(live, against)
  }
  const gateway = answers.map((one) => one.gateway.name).join("+")
  const at = [...earlier.slice(0, 1), seen.height]
  const detail =
    judged === "note"
      ? `a complete listing at block ${seen.height} does not hold it; the window ended at ${deadlineHeight(attempt)}`
      : `complete listings at blocks ${at.join(" and ")} do not hold it; the window ended at ${deadlineHeight(attempt)}`
  yield* outbox.addEvidence(attempt, "absent", { gateway, height: seen.height, detail })
  if (judged === "proven") yield* settleExpired(live, detail)
})

/** Settles an attempt that was never sent. The transaction checks that no send has begun meanwhile. */
const expireUnsent = Effect.fnUntraced(function* (live: Live) {
  const { intent, attempt, height } = live
  const outbox = yield* Outbox
  const database = yield* Database
  yield* database.write(
    Effect.gen(function* () {
      const sends = (yield* outbox.sends(intent.id)).filter((s) => s.k === attempt.k).length
      const stored = (yield* outbox.attempts(intent.id)).find(({ k }) => k === attempt.k)
      if (stored === undefined || !isDeadUnsent(stored, sends, height)) return
      yield* settleExpired({ intent, attempt: stored, height }, "it was never sent, and its window is over")
    }),
  )
})

/** Confirms by the exact movement of the balances if no lookup is possible, and no other payment may have made it. */
const byMovement = Effect.fnUntraced(function* (live: Live) {
  const { intent, attempt } = live
  const outbox = yield* Outbox
  const { gateways } = (yield* CycleConfig).treasury.network
  const other = yield* otherUnderWay(intent, signedOn(attempt))
  // A withdrawal is visible at one end only, where other debits may be of the same amount.
  const isVisible = other === undefined && intent.command === "transfer"
  const ends = yield* loadEnds(intent, attempt)
  const movement = isVisible ? movementOf(intent, attempt, ends) : undefined
  if (movement === undefined) {
    const fell = hasFallen(intent, attempt, ends)
      ? "the payer's balance fell by its amount, by it or by another payment"
      : other
    return yield* escalateIfOverdue(live, fell)
  }
  const audit = yield* LedgerAudit
  const detail = `the balances of both ends moved by it at ${movement.settledAt}`
  const noted = Effect.andThen(
    audit.watch(attempt),
    outbox.addEvidence(attempt, "executed", { gateway: gateways[0].name, height: undefined, detail }),
  )
  yield* settleExecuted(live, { ...movement, how: "seen in the balances" }, noted)
})

const waitMillisMax = 1_000
/** Interval of lookups just after a send, times the number of live attempts: the next block has the payment. */
const waitMillisEach = 250
/** Time after which an attempt that is not found is looked up at the slow pace. */
const recentMillis = 5_000
const waitMillisUnanswered = 5_000

/**
 * One lookup for every live attempt. A failed lookup does not stop the others, and if the newest block cannot be read,
 * executed attempts are searched all the same; then the round fails with that error.
 */
export const confirmOnce = Effect.fn("Confirm.round")(function* () {
  const outbox = yield* Outbox
  const signals = yield* Signals
  const draining = yield* InFlight
  const { mode } = yield* CycleConfig
  if (mode !== "live") return
  yield* recordMovements()
  const open = yield* outbox.open
  const live = yield* outbox.live
  if (live.length === 0) return
  const head = yield* Effect.map((yield* ChainHeadCache).head, Result.succeed).pipe(
    Effect.catchTag("GatewayError", (error) => Effect.succeed(Result.fail(error))),
  )
  if (Result.isSuccess(head) && (yield* haltOnWrongChain(head.success))) return
  for (const attempt of live) {
    const intent = open.find((i) => i.id === attempt.intentId)
    if (intent === undefined || isFinalAttempt(attempt.state)) continue
    // Its answer is awaited: two loops would write one attempt at the same time.
    if (yield* draining.isSending(attempt)) continue
    yield* withIntentLock(intent, (now) => confirmOrEscalate(now, attempt, head))
  }
  if ((yield* outbox.live).length < live.length) yield* signals.wake("engine")
  if (Result.isFailure(head)) return yield* head.failure
})

/** Height while no block is known: no window counts as over, and no attempt as absent. */
const heightUnknown = 0n

/** Confirms one attempt. Escalates it if the ledger could not be read, or the newest block is unknown. */
const confirmOrEscalate = Effect.fnUntraced(function* (
  intent: Intent,
  attempt: Attempt,
  head: Result.Result<ChainHead, GatewayError>,
) {
  const pace = { now: yield* Clock.currentTimeMillis, blockMillis: yield* (yield* Observations).blockMillis }
  const height = sureHeight(attempt, {
    ...pace,
    reported: Result.isSuccess(head) ? head.success.height : heightUnknown,
  })
  const error = yield* confirmIntent({ intent, attempt, height }).pipe(
    Effect.as(Result.isFailure(head) ? head.failure : undefined),
    Effect.catchTag("GatewayError", (failure) =>
      Effect.as(logEvent("payment not looked up", { intent: intent.id, reason: failure.message }), failure),
    ),
  )
  if (error === undefined) return
  if (Result.isSuccess(head)) return yield* escalateUnseen({ intent, attempt, height }, error.message)
  // Only alerts, by the newest reported block.
  const known = sureHeight(attempt, { ...pace, reported: yield* knownHeight })
  yield* escalateUnseen({ intent, attempt, height: known }, error.message)
})

/** The newest reported block of our chain. */
const knownHeight = Effect.gen(function* () {
  const { chainId } = (yield* CycleConfig).treasury.network
  const heads = (yield* (yield* ChainHeadCache).recent).filter((head) => head.chainId === chainId)
  const watermark = (yield* (yield* Observations).watermark)?.height ?? heightUnknown
  return heads.reduce((newest, { height }) => (height > newest ? height : newest), watermark)
})

const waitMillis = Effect.gen(function* () {
  const now = yield* Clock.currentTimeMillis
  const live = yield* (yield* Outbox).live
  const isRecent = live.some(({ sends, createdAt }) => sends > 0 && Math.abs(now - createdAt) < recentMillis)
  return isRecent ? Math.min(waitMillisMax, waitMillisEach * live.length) : waitMillisMax
})

/** The loop that confirms payments. It cannot send. */
export const confirmLoop = Effect.gen(function* () {
  const { counted } = yield* Metrics
  const signals = yield* Signals
  yield* counted("confirm", confirmOnce()).pipe(
    Effect.catchTag("GatewayError", (error) =>
      warnOf("newest block not read", error).pipe(Effect.andThen(Effect.sleep(waitMillisUnanswered))),
    ),
  )
  yield* signals.wait("confirm", yield* waitMillis)
}).pipe(byOneConfig, Effect.forever)
