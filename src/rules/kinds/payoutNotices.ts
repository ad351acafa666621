import { type Alert, alertOf, overOf } from "../../domain/alerts/Alert.ts"
import { type HoldReason, reasonText } from "../../domain/Decision.ts"
import { dayMillis, millisOf, timeText as spanText } from "../../domain/Time.ts"
import { clockGap } from "../checks/wrongClock.ts"
import type { Notice } from "../Need.ts"
import type { PayoutRule } from "../Rule.ts"
import type { RuleMemory } from "../RuleMemory.ts"
import type { Outcome } from "../round.ts"
import { firstAfter, type MissedTimes, plannedUntil } from "../Schedule.ts"
import type { SubjectFacts } from "../SubjectFacts.ts"
import { neverPaid } from "../waiting.ts"
import { coveredText, misclockedText, payoutText, timesText, unseenOf, unseenText } from "./payout.ts"

/** Describes planned times that may have been paid by a database that was lost. */
const lostText = (rule: PayoutRule, lost: MissedTimes): string =>
  `${payoutText(rule)} planned for ${timesText(lost)} is dropped: the database is a restored backup, and the ` +
  `lost one may have paid it. Compare the ledger; ${neverPaid}`

/** Hold reason of a rule, and its sentence. */
interface Held {
  readonly reason: HoldReason
  readonly detail: string
}

/**
 * Planned times that are open and late, the first and the last of them: where a rule makes up for what was missed, none
 * is dropped, however long it is held. `planned` (Unix seconds) is the last; `episode` what was concluded before.
 */
const lateOf = (
  { schedule }: PayoutRule,
  { planned, episode }: { readonly planned: number; readonly episode: number },
  now: number,
): MissedTimes | undefined => {
  const done = Math.min(episode * 1_000, now)
  if (schedule.missed !== "once" || now - done < schedule.lateMillis) return undefined
  const first = firstAfter(schedule, done)
  return now - first < schedule.lateMillis ? undefined : { first, last: planned * 1_000 }
}

/** Describes planned times that are late and held before a decision. */
const lateText = (rule: PayoutRule, late: MissedTimes, { reason, detail }: Held): string => {
  const one = late.first === late.last ? "" : ", with one payment for all of them,"
  return (
    `${payoutText(rule)} planned for ${timesText(late)} is not paid: it is held (${reasonText(reason, detail)}). ` +
    `It stays owed, and is paid${one} once the cause is gone; see "cofferer explain ${rule.name}"`
  )
}

/** Describes, for people, that it is no longer held. */
const lateOverText = (rule: PayoutRule, late: MissedTimes): string =>
  `${payoutText(rule)} planned for ${timesText(late)} is held no longer: it is decided, or covered by another payment`

/** Describes planned times that nobody paid in time, and why. `before` is the hold reason before they were late. */
const missedText = (rule: PayoutRule, missedTimes: MissedTimes, { reason, detail }: RuleMemory): string => {
  // The age of the data at the last evaluation says nothing about the time after it.
  const sentence = reason === "stale" ? "no newer block was known" : detail
  const why =
    reason === undefined || reason === "not_due"
      ? "it was not evaluated in time"
      : `it was held (${reasonText(reason, sentence)})`
  const late = `after ${spanText(rule.schedule.lateMillis)} it is dropped (missed: skip)`
  const what = `${payoutText(rule)} planned for ${timesText(missedTimes)} is not paid`
  return `${what}: ${why}, and ${late}; ${neverPaid}`
}

/** An open payment of the rule itself blocks it, and alerts by its own bounds. */
export const byOpen: ReadonlySet<HoldReason> = new Set(["in_flight", "unresolved", "awaiting_approval"])

/** After an outage most holds end within this time of the first evaluation with new data. */
const freshMillis = 60_000

/** Interval of repeated alerts for what is still held. */
const repeatMillis = dayMillis

const instant = (millis: number): string => new Date(millis).toISOString()

const factsOf = (rule: PayoutRule, account: string, words: string) => ({
  rule: rule.name,
  account,
  words,
  from: rule.from.name,
  to: rule.to.name,
})

const notice = (rule: PayoutRule, subject: string, brief: string, alert: Alert) => ({
  topic: "payout" as const,
  rule: rule.name,
  subject,
  brief,
  alert,
})

const unpaidNotice = (what: string, rule: PayoutRule, subject: string, { last }: MissedTimes, words: string): Notice =>
  notice(
    rule,
    subject,
    words,
    alertOf("payout_unpaid", { ...factsOf(rule, subject, words), what, lastMillis: last, last: instant(last) }),
  )

/** Notice for planned times that are skipped because the database was restored from a backup. */
export const lostNotice = (rule: PayoutRule, subject: string, lost: MissedTimes): Notice =>
  unpaidNotice("lost", rule, subject, lost, lostText(rule, lost))

/** Notices for planned times: those that are skipped, and those that are late and held. */
export const payoutNotices = (
  outcome: Outcome,
  memory: RuleMemory,
  before: RuleMemory | undefined,
): ReadonlyArray<Notice> => {
  const { subject } = outcome.facts
  if (subject.kind !== "payout" || before === undefined) return []
  const { rule, name } = subject
  const found: Array<Notice> = []
  const missed = missedOf(outcome)
  if (missed !== undefined) {
    const text = missedText(rule, missed, before)
    found.push({ ...unpaidNotice("let-go", rule, name, missed, text), missedTimes: missed })
  }
  const covered = coveredOf(outcome)
  if (covered !== undefined) found.push(unpaidNotice("covered", rule, name, covered, coveredText(rule, covered)))
  const late =
    memory.episode === before.episode ? lateNotice(outcome, before, rule) : lateOver(outcome, memory, before, rule)
  if (late !== undefined) found.push(late)
  const unseen = unseenNotice(outcome, before, rule)
  if (unseen !== undefined) found.push(unseen)
  return found
}

/** Notice for planned times since the rule or its plan came into force that are concluded and not paid. */
const unseenNotice = (
  { facts: { subject, snapshot }, judgement: { concluded } }: Outcome,
  { episode, reasonSince, lastObservation }: RuleMemory,
  rule: PayoutRule,
): Notice | undefined => {
  if (concluded === undefined) return undefined
  const { now, maxAgeMillis } = snapshot
  const since = episode === 0 ? reasonSince : episode * 1_000
  if (since > now + maxAgeMillis) {
    // It began by a clock that was ahead, at an unknown time after the last block that the rule was evaluated with.
    const last = plannedUntil(rule.schedule, now)
    const time = { first: last, last }
    if (last <= millisOf(lastObservation)) return undefined
    return unpaidNotice("misclocked", rule, subject.name, time, misclockedText(rule, time))
  }
  const unseen = episode === 0 ? unseenOf(rule, since, now) : undefined
  return unseen && unpaidNotice("unseen", rule, subject.name, unseen, unseenText(rule, unseen))
}

/** Planned times that this evaluation drops: those that it concludes. */
const missedOf = ({ facts: { need }, judgement: { concluded } }: Outcome): MissedTimes | undefined =>
  concluded !== undefined && (need?._tag === "NotDue" || need?._tag === "Wanted") ? need.missedTimes : undefined

/** Planned times that this evaluation concludes as paid by an earlier payment. */
const coveredOf = ({ facts: { need }, judgement: { concluded } }: Outcome): MissedTimes | undefined =>
  concluded !== undefined && need?._tag === "NotDue" ? need.coveredTimes : undefined

/** Notice for a planned payment that is late, still owed, and held before any part of it is decided. */
const lateNotice = (
  { facts: { subject, snapshot }, judgement: { decision, planned, timer } }: Outcome,
  { episode }: RuleMemory,
  rule: PayoutRule,
): Notice | undefined => {
  if (planned === undefined || decision._tag !== "Hold" || byOpen.has(decision.reason)) return undefined
  const { now, asOf, maxAgeMillis } = snapshot
  if (now - (timer.firingSince ?? now) < freshMillis) return undefined
  // A clock that no block agrees with makes nothing late; the clock itself alerts.
  if (clockGap(now, asOf === undefined ? undefined : millisOf(asOf), maxAgeMillis) !== undefined) {
    return undefined
  }
  const late = lateOf(rule, { planned, episode }, now)
  if (late === undefined) return undefined
  const times = Math.floor((now - late.first - rule.schedule.lateMillis) / repeatMillis)
  const words = lateText(rule, late, decision)
  const facts = { ...factsOf(rule, subject.name, words), firstMillis: late.first, first: instant(late.first), times }
  return notice(rule, subject.name, words, alertOf("payout_late", facts))
}

/** Notice that a late payment is concluded. */
const lateOver = (
  { facts: { snapshot } }: Outcome,
  { subject, episode: planned }: RuleMemory,
  { episode }: RuleMemory,
  rule: PayoutRule,
): Notice | undefined => {
  const late = episode === 0 ? undefined : lateOf(rule, { planned, episode }, snapshot.now)
  if (late === undefined) return undefined
  const words = lateOverText(rule, late)
  const facts = { ...factsOf(rule, subject, words), firstMillis: late.first, first: instant(late.first) }
  return { ...notice(rule, subject, words, overOf("payout_late", facts)), isOver: true }
}

/** Unix milliseconds from which a late time alerts, if it is held until then. */
export const lateTimes = function* ({ subject, snapshot: { now }, memory, timer }: SubjectFacts): Iterable<number> {
  if (subject.kind !== "payout" || subject.rule.schedule.missed !== "once" || memory === undefined) return
  const { schedule } = subject.rule
  const late = firstAfter(schedule, Math.min(memory.episode * 1_000, now)) + schedule.lateMillis
  yield late
  if (now >= late) yield late + (Math.floor((now - late) / repeatMillis) + 1) * repeatMillis
  if (timer.firingSince !== undefined) yield timer.firingSince + freshMillis
}
