import { Clock, Effect } from "effect"
import { CycleConfig } from "../config/ConfigInForce.ts"
import { paymentFacts } from "../domain/alerts/Alert.ts"
import { shortId } from "../domain/Hex.ts"
import { type Intent, submittedRule, waitsFrom } from "../domain/Intent.ts"
import { dayMillis, instantText } from "../domain/Time.ts"
import { approvalOf } from "../payments/approvalOf.ts"
import { isNamed, subjectOfIntent } from "../payments/backing.ts"
import { isDroppedInPart } from "../payments/planAttempt.ts"
import { isUnsigned } from "../rules/policy/Policy.ts"
import { type Backing, judgeWait, type WaitFacts, waitAlertMillis } from "../rules/waiting.ts"
import { raise } from "../store/alerts/raise.ts"
import { Database } from "../store/database/Database.ts"
import { Signals } from "../store/database/Signals.ts"
import { Clearance } from "../store/payments/Clearance.ts"
import { listedBefore } from "../store/payments/LedgerAudit.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { RuleStates } from "../store/rules/RuleStates.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { countEnd } from "../telemetry/Metrics.ts"
import { clockGapNow } from "./audit/quarantine.ts"
import { currentBacking, otherParts, SigningFacts } from "./SigningFacts.ts"
import { settleAndAlert } from "./settleAndAlert.ts"

/** Unix milliseconds since which its rule has needed the payment without a break; undefined if it does not now. */
const neededSince = Effect.fnUntraced(function* (intent: Intent) {
  const subject = subjectOfIntent((yield* CycleConfig).treasury.rules, intent)
  const memories = yield* (yield* RuleStates).all
  return memories.find(({ rule, subject: name }) => rule === intent.rule && name === subject?.name)?.firingSince
})

/** True if our clock and the newest block agree. Otherwise no deadline ends a payment, and nothing is signed. */
export const clockAgrees = Effect.map(clockGapNow, (gap) => gap === undefined)

/** Interval of repeated alerts for a payment that still waits. */
const repeatMillis = dayMillis

/** Facts by which the wait is judged, and the number of signatures so far. */
const factsOf = Effect.fnUntraced(function* (intent: Intent, backing: Backing) {
  const attempts = yield* (yield* Outbox).attempts(intent.id)
  // One that nobody was asked for has no deadline of its approval.
  const isAsked = intent.state !== "proposed" && approvalOf((yield* CycleConfig).treasury, intent) !== undefined
  const facts: WaitFacts = {
    now: yield* Clock.currentTimeMillis,
    since: attempts.at(-1)?.updatedAt ?? waitsFrom(intent),
    // Once another part is dropped, none is signed: approval would only keep the rule from deciding again.
    needsApproval: isAsked && !isDroppedInPart({ parts: yield* otherParts(intent), backing }),
  }
  return { facts, signed: attempts.length }
})

/**
 * Shows on the payment why it is not signed, and alerts when it has waited too long. Both are written in one
 * transaction.
 */
export const showWait = Effect.fnUntraced(function* (intent: Intent, why: string) {
  const outbox = yield* Outbox
  const detail = `waits: ${why}`
  const shown = intent.detail === detail ? undefined : outbox.move(intent, intent.state, { detail })
  const source = yield* currentBacking(intent)
  const { facts, signed } = yield* factsOf(intent, source)
  const wait = judgeWait(source, facts)
  if (wait._tag !== "Waits" || wait.alertAt === undefined || facts.now < wait.alertAt) {
    if (shown !== undefined) yield* shown
    return
  }
  const alert = raise("payment_waits", {
    ...paymentFacts(intent),
    signed,
    times: Math.floor((facts.now - wait.alertAt) / repeatMillis),
    since: instantText(sinceOf(source, facts)),
    why,
    verb: signed === 0 ? "cancel" : "abandon",
    name: shortId(intent.id),
  })
  yield* (yield* Database).write(Effect.andThen(shown ?? Effect.void, alert))
})

/** Moves a permitted payment to `reserved`: its money and its part of the limits are reserved. */
export const reserve = (intent: Intent) =>
  intent.state === "reserved"
    ? Effect.succeed(intent)
    : Effect.flatMap(Outbox, (outbox) =>
        outbox.move(intent, "reserved", { detail: "permitted; money and limits are reserved" }),
      )

/** `showWait` for a payment that only this reason keeps from being signed: it is reserved first. */
export const reserveAndShowWait = (intent: Intent, why: string) =>
  Effect.flatMap(reserve(intent), (current) => showWait(current, why))

/**
 * Shows on an unsigned payment that the ledger lists it as paid by another copy of this database, and returns true if
 * so. Such a payment does not expire: the answer of a quorum (`settleListed`) or a person ends it. Only payments with
 * a name from outside the rules can be recognized.
 */
export const showIfListed = Effect.fnUntraced(function* (intent: Intent) {
  if (!isUnsigned(intent) || !isNamed(intent, yield* currentBacking(intent))) return false
  const [listed] = yield* listedBefore(intent)
  if (listed === undefined) return false
  const detail = `waits: the ledger lists it already, as transfer ${listed.id} of another copy of this database`
  const state = intent.state === "proposed" ? "reserved" : intent.state
  if (intent.state === state && intent.detail === detail) return true
  yield* (yield* Outbox).move(intent, state, { detail })
  yield* (yield* Signals).wake("reconcile")
  return true
})

const sinceOf = (backing: Backing, { since }: WaitFacts): number => (backing._tag === "Planned" ? backing.at : since)

/** Ends an unsigned payment that has waited too long. Returns true if it did. */
export const endWaiting = Effect.fnUntraced(function* (intent: Intent) {
  if (!isUnsigned(intent)) return false
  const source = yield* currentBacking(intent)
  const { facts, signed } = yield* factsOf(intent, source)
  const wait = judgeWait(source, facts)
  if (wait._tag === "Waits" || !(yield* clockAgrees)) return false
  const outbox = yield* Outbox
  const kept = intent.detail.startsWith("waits: ") ? `; it ${intent.detail.replace("waits: ", "waited: ")}` : ""
  if (wait._tag === "DecidedAnew" && signed === 0)
    return yield* dropDecided(intent, kept, "decided too long ago and never signed")
  const why = wait._tag === "Over" ? wait.why : "no attempt executed, and none could be signed since"
  const state = signed > 0 ? "abandoned" : "cancelled"
  const detail = `${why}${kept}`
  const ending = { state, sentence: `is ${state}, unpaid: ${detail}`, detail, severity: "ticket" } as const
  yield* settleAndAlert(intent, ending, outbox.move(intent, state, { detail }))
  return true
})

/**
 * Alerts to a need that is decided and dropped over and over: each decision waits a few minutes only, but the cause
 * that keeps all of them from being signed may last.
 */
const alertDropped = Effect.fnUntraced(function* (intent: Intent, kept: string) {
  const now = yield* Clock.currentTimeMillis
  const wanted = yield* neededSince(intent)
  const dropped = yield* (yield* Outbox).droppedSince(intent)
  if (wanted === undefined || dropped === undefined) return
  const since = Math.max(wanted, dropped)
  if (now - since < waitAlertMillis) return
  yield* raise("payment_dropped", {
    ...paymentFacts(intent),
    state: "cancelled",
    rule: intent.rule,
    account: intent.subject,
    first: since,
    times: Math.floor((now - since) / repeatMillis),
    since: instantText(since),
    kept,
  })
})

/**
 * Drops a decision that its rule makes again. If another part was signed meanwhile, this one is owed and stays; once
 * this one is dropped, no other is signed any more: see `planAttempt`.
 */
const dropDecided = Effect.fnUntraced(function* (intent: Intent, kept: string, why: string) {
  const outbox = yield* Outbox
  const detail = `${why}${kept}; the rule decides again`
  const isDropped = yield* (yield* Database).write(
    Effect.gen(function* () {
      if ((yield* currentBacking(intent))._tag !== "Level") return false
      yield* outbox.move(intent, "cancelled", { detail })
      yield* alertDropped(intent, kept)
      return true
    }),
  )
  if (!isDropped) return false
  yield* (yield* Signals).wake("alerts")
  yield* countEnd(intent, "cancelled")
  yield* logEvent("payment ended", { intent: intent.id, state: "cancelled", reason: detail })
  return true
})

/**
 * True if a decided payment is not put to operators: its payer was not compared with the ledger before its decision.
 * It waits for the comparison, and is then decided again: its need may be another one, and they would sign in vain.
 */
export const isAskedLater = Effect.fnUntraced(function* (intent: Intent) {
  if (intent.state !== "proposed" || intent.rule === submittedRule) return false
  const lacking = yield* (yield* Clearance).lacking(intent.payment.fromKey)
  if (lacking !== undefined) {
    if (!(yield* endWaiting(intent))) yield* showWait(intent, lacking)
    return true
  }
  const backing = yield* currentBacking(intent)
  if (backing._tag !== "Level" || backing.together) return false
  if ((yield* (yield* SigningFacts).beginning(intent)).isCompared) return false
  return yield* dropDecided(intent, "", "decided before its payer was compared with the ledger")
})
