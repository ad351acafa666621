import { Clock, Effect } from "effect"
import { CycleConfig } from "../../config/ConfigInForce.ts"
import { plainAmount } from "../../domain/Amount.ts"
import { type Attempt, isFinalAttempt } from "../../domain/Attempt.ts"
import { paymentFacts } from "../../domain/alerts/Alert.ts"
import { type Payment, sumText } from "../../domain/Decision.ts"
import { shortId } from "../../domain/Hex.ts"
import type { Intent } from "../../domain/Intent.ts"
import { instantText, millisOf, nanosOf } from "../../domain/Time.ts"
import { ifSupported } from "../../gateway/GatewayError.ts"
import { GatewayReader } from "../../gateway/GatewayReader.ts"
import type { ObservedTransfer } from "../../gateway/schema/Transfers.ts"
import { isNamed } from "../../payments/backing.ts"
import { isOver, sureHeight } from "../../payments/judgeAttempt.ts"
import { unseenOf } from "../../rules/kinds/payout.ts"
import { lostNotice } from "../../rules/kinds/payoutNotices.ts"
import { isRehearsed } from "../../rules/Rule.ts"
import { AlertQueue } from "../../store/alerts/AlertQueue.ts"
import { raise } from "../../store/alerts/raise.ts"
import { Observations } from "../../store/balances/Observations.ts"
import { Database } from "../../store/database/Database.ts"
import { Settings } from "../../store/database/Settings.ts"
import { listedBefore } from "../../store/payments/LedgerAudit.ts"
import type { UnrecognizedTransfer } from "../../store/payments/noteListing.ts"
import { Outbox } from "../../store/payments/Outbox.ts"
import { RuleStates } from "../../store/rules/RuleStates.ts"
import { logEvent, logPayment } from "../../telemetry/Logging.ts"
import { countEnd } from "../../telemetry/Metrics.ts"
import { ChainHeadCache } from "../ChainHeadCache.ts"
import { withIntentLock } from "../InFlight.ts"
import { currentBacking } from "../SigningFacts.ts"
import { settleAndAlert } from "../settleAndAlert.ts"

/**
 * Setting of a restored store, from its recovery until its open payments are handed over: "pending" and the keys
 * without a listing of the time since. Absent: there are none.
 */
export const handOverKey = "handOver"

const why = "the database is a restored backup, and the lost one may have paid it"
/** Stands for the gateway of a send that only the lost store knows of. */
export const lostGateway = "lost store"

/**
 * Hands payments under way in a restored database to people: the lost database continued from the same decisions. An
 * unsigned payment with a name from outside the rules stays, since the ledger shows before its signature if it was
 * paid; if the gateways do not list that time, it ends, with all times planned until now. Other decisions end: rules
 * decide again by the balances after the quarantine.
 */
export const handOver = Effect.fnUntraced(function* () {
  const settings = yield* Settings
  const [pending, ...unlisted] = ((yield* settings.get(handOverKey)) ?? "").split(" ")
  if (pending !== "pending") return
  const blind: ReadonlySet<string> = new Set(unlisted)
  const database = yield* Database
  const { open } = yield* Outbox
  const { forget } = yield* RuleStates
  const handed = Effect.gen(function* () {
    for (const intent of yield* open) if (intent.state !== "manual") yield* handOverOne(intent, blind)
    if (blind.size > 0) yield* dropPlannedTimes(blind)
    yield* settings.forget(handOverKey)
  })
  yield* database.write(handed, forget)
})

/**
 * Skips the planned times until now of the rules of these keys, and alerts: a lost store may have paid them, and no
 * gateway lists what was paid.
 */
const dropPlannedTimes = Effect.fn("Recover.dropPlannedTimes")(function* (payers: ReadonlySet<string>) {
  const { treasury, mode } = yield* CycleConfig
  const states = yield* RuleStates
  const now = yield* Clock.currentTimeMillis
  for (const before of yield* states.all) {
    const rule = treasury.rules.find(({ name }) => name === before.rule)
    // A rule that has concluded nothing begins with its next look.
    if (rule?.kind !== "payout" || before.episode === 0 || !payers.has(rule.from.publicKey)) continue
    const lost = unseenOf(rule, Math.min(before.episode * 1_000, now), now)
    if (lost === undefined) continue
    yield* states.save({ ...before, episode: Math.floor(lost.last / 1_000) }, before)
    if (!isRehearsed(mode, rule)) yield* (yield* AlertQueue).raise(lostNotice(rule, before.subject, lost).alert)
  }
})

/** Records that another copy of the database may have sent the attempt: it is looked up on the ledger from then on. */
export const noteLostSend = Effect.fnUntraced(function* (attempt: Attempt) {
  const { framing = "bare", hashBare, hashPrefixed } = attempt
  const txHash = (framing === "bare" ? hashBare : hashPrefixed) ?? ""
  yield* (yield* Outbox).beginSend({ attempt, gateway: lostGateway, framing, first: false, txHash })
})

const handOverOne = Effect.fnUntraced(function* (intent: Intent, blind: ReadonlySet<string>) {
  const outbox = yield* Outbox
  const attempts = yield* outbox.attempts(intent.id)
  const live = attempts.filter(({ state }) => !isFinalAttempt(state))
  for (const attempt of live) if (attempt.state === "signed") yield* noteLostSend(attempt)
  if (live.length > 0) {
    const said = `${why}, by this attempt or another; the money stays reserved until it is seen or a person resolves it`
    const ending = { state: "manual", sentence: `is manual: ${said}`, detail: said, severity: "page" } as const
    return yield* settleAndAlert(intent, ending, outbox.move(intent, "manual", { detail: why }))
  }
  const isListed = intent.command === "transfer" && !blind.has(intent.payment.fromKey)
  if (isListed && isNamed(intent, yield* currentBacking(intent))) return
  const state = attempts.length === 0 ? "cancelled" : "abandoned"
  const ending = { state, sentence: `is ${state}: ${why}`, detail: why, severity: "ticket" } as const
  yield* settleAndAlert(intent, ending, outbox.move(intent, state, { detail: why }))
})

/** States in which nothing of this store is under way. */
const idle: ReadonlySet<string> = new Set(["awaiting_approval", "reserved", "manual"])

const isSame = (
  { from, to, asset, amount }: ObservedTransfer,
  { fromKey, toKey, assetId, amount: ours }: Payment,
): boolean => from === fromKey && to === toKey && asset === assetId && amount === ours

/**
 * Ends the payments that another copy of this store has made: those named from outside, and those handed to people. If
 * a quorum does not show one as done it waits for a person. Decisions that a rule makes again are not settled: see
 * `signIntent`.
 */
export const settleListed = Effect.fnUntraced(function* () {
  const { open } = yield* Outbox
  for (const intent of yield* open) {
    if (idle.has(intent.state) && (yield* listedBefore(intent)).length > 0) yield* withIntentLock(intent, judge)
  }
})

const judge = Effect.fnUntraced(function* (intent: Intent) {
  if (!idle.has(intent.state)) return
  if (intent.state !== "manual" && !isNamed(intent, yield* currentBacking(intent))) return
  if (yield* mayExecute(intent)) return
  const listed = yield* listedBefore(intent)
  // A quorum must show it: a listing may be of a single gateway.
  let other: ObservedTransfer | undefined
  for (const { id } of listed) {
    const { found, agreed } = yield* (yield* GatewayReader).transfer(id)
    if (found === undefined || !agreed) continue
    if (!isSame(found, intent.payment)) other ??= found
    else if (found.status === "done" || (yield* hasMoved(found))) return yield* settle(intent, found)
  }
  if (other !== undefined) return yield* deny(intent, other)
  const [last] = listed.slice(-1)
  if (last !== undefined) yield* alertListedOpen(intent, last)
})

/** True if bytes of this store may still execute: they are judged first. */
const mayExecute = Effect.fnUntraced(function* ({ id }: Intent) {
  const live = (yield* (yield* Outbox).attempts(id)).find(({ state }) => !isFinalAttempt(state))
  if (live === undefined) return false
  const { height } = yield* (yield* ChainHeadCache).head
  return !isOver(
    live,
    sureHeight(live, {
      now: yield* Clock.currentTimeMillis,
      blockMillis: yield* (yield* Observations).blockMillis,
      reported: height,
    }),
  )
})

/** True if it moved money, whatever its status: before 0.76.3 a refused replay hides an execution. */
const hasMoved = Effect.fnUntraced(function* ({ id, from, timestamp }: ObservedTransfer) {
  const hour = 3_600_000_000_000n
  const now = nanosOf(yield* Clock.currentTimeMillis)
  const sends = yield* ifSupported((yield* GatewayReader).sends(from, timestamp - hour, now))
  return sends?.counts.has(id) === true
})

/** Settles it as executed. The window of an attempt of this store is over: it came to nothing. */
const settle = Effect.fnUntraced(function* (intent: Intent, { id, fees, timestamp }: ObservedTransfer) {
  const outbox = yield* Outbox
  const { payment, decimals } = intent
  const at = instantText(millisOf(timestamp))
  const detail = `${sumText(payment, decimals)} ${payment.from} -> ${payment.to}, paid by another copy of this database as transfer ${id} at ${at}`
  const settlement = { detail, fee: fees, settledAt: timestamp }
  const facts = { ...paymentFacts(intent), state: "confirmed", rule: intent.rule, transfer: id, words: detail }
  const change = Effect.gen(function* () {
    const live = (yield* outbox.attempts(intent.id)).find(({ state }) => !isFinalAttempt(state))
    if (live === undefined) yield* outbox.move(intent, "confirmed", settlement)
    else yield* outbox.settle(intent, live, "expired", "confirmed", settlement)
    yield* raise("listed_paid", facts)
  })
  yield* (yield* Database).write(change)
  yield* countEnd(intent, "confirmed", fees)
  yield* logEvent("payment confirmed", {
    ...logPayment(intent),
    transferId: id,
    ...(fees === undefined ? {} : { fee: plainAmount(fees, decimals) }),
    restored: true,
  })
})

/** Ends a payment under whose name another one was paid. A manual payment stays manual. */
const deny = Effect.fnUntraced(function* (intent: Intent, { id, to, asset, amount }: ObservedTransfer) {
  if (intent.state === "manual") return
  const paid = `${amount} base units of ${asset.slice(0, 8)} to ${to.slice(0, 8)}`
  const detail = `another copy of this database paid something else under its name: ${paid}, transfer ${id}`
  const state = intent.state === "awaiting_approval" ? "denied" : yield* deniedState(intent)
  const ending = { state, sentence: `is ${state}: ${detail}`, detail, severity: "ticket" } as const
  yield* settleAndAlert(intent, ending, (yield* Outbox).move(intent, state, { detail }))
})

const deniedState = Effect.fnUntraced(function* ({ id }: Intent) {
  return (yield* (yield* Outbox).attempts(id)).length === 0 ? ("denied" as const) : ("abandoned" as const)
})

const alertListedOpen = Effect.fnUntraced(function* (intent: Intent, { id, status }: UnrecognizedTransfer) {
  const name = shortId(intent.id)
  const isSigned = (yield* (yield* Outbox).attempts(intent.id)).length > 0
  const verb = intent.state === "manual" ? "resolve" : isSigned ? "abandon" : "cancel"
  const command = `cofferer intents ${verb} ${name}${verb === "resolve" ? " --never-executed" : ""} --reason TEXT`
  yield* raise("listed_open", { ...paymentFacts(intent), transfer: id, status, command })
})
