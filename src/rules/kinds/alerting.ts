import { alertOf, overOf } from "../../domain/alerts/Alert.ts"
import type { HoldReason } from "../../domain/Decision.ts"
import { instantText, timeText } from "../../domain/Time.ts"
import type { AlertRule } from "../Condition.ts"
import { allOf, type ConditionFacts, type Evaluation, evaluate, not } from "../evaluate.ts"
import type { Notice } from "../Need.ts"
import { type AlertMemory, isOn, type Memories, memoryKey, type RuleMemory } from "../RuleMemory.ts"
import { hoursAt } from "../Schedule.ts"

/** An alert's rule has one subject. */
export const alertSubject = "when"

/** Result of one evaluation of an alert rule. */
export interface Alerted extends AlertMemory {
  readonly reason: HoldReason | undefined
  readonly detail: string
  /** Notification to send now. */
  readonly notify: "fires" | "over" | undefined
}

const none: AlertMemory = {
  episode: 0,
  state: "inactive",
  firingSince: undefined,
  clearingSince: undefined,
  alertedAt: undefined,
}

/** State after one evaluation. An unknown condition neither fires nor clears, and leaves the timers as they are. */
export const alertAfter = (
  rule: AlertRule,
  { when, clear }: { readonly when: Evaluation; readonly clear: Evaluation | undefined },
  { before: known = none, now }: { readonly before: AlertMemory | undefined; readonly now: number },
): Alerted => {
  const before = notAfter(known, now)
  const seen = { when, now }
  if (!isOn(before)) {
    const firingSince =
      when.truth === undefined ? before.firingSince : when.truth ? (before.firingSince ?? now) : undefined
    const fires = when.truth === true && now - (firingSince ?? now) >= rule.forMillis
    if (fires) {
      return firing(rule, { ...before, episode: before.episode + 1, firingSince, clearingSince: undefined }, seen)
    }
    return notFiring({ ...before, firingSince }, rule, when)
  }
  const isOver = clear === undefined ? not(when.truth) : allOf([clear.truth, not(when.truth)])
  const clearingSince = isOver === undefined ? before.clearingSince : isOver ? (before.clearingSince ?? now) : undefined
  const ends = isOver === true && now - (clearingSince ?? now) >= rule.forMillis
  if (!ends) return firing(rule, { ...before, clearingSince }, seen)
  const ended = notFiring({ ...before, firingSince: undefined, clearingSince: undefined }, rule, clear ?? when)
  return { ...ended, notify: before.state === "acting" ? "over" : undefined }
}

/** Caps stored times at now: a clock that was wrong wrote the later ones. */
const notAfter = (memory: AlertMemory, now: number): AlertMemory => {
  const clamped = (at: number | undefined) => at && Math.min(at, now)
  const { firingSince, clearingSince, alertedAt } = memory
  return {
    ...memory,
    firingSince: clamped(firingSince),
    clearingSince: clamped(clearingSince),
    alertedAt: clamped(alertedAt),
  }
}

/** The rule does not fire. */
const notFiring = (memory: AlertMemory, { forMillis }: AlertRule, { truth, sentence }: Evaluation): Alerted => {
  const isPending = memory.firingSince !== undefined
  return {
    ...memory,
    state: isPending ? "pending" : "inactive",
    reason: truth === undefined ? "no_data" : isPending ? "pending" : "in_band",
    detail: isPending && truth === true ? `${sentence}; must stay so for ${timeText(forMillis)}` : sentence,
    notify: undefined,
  }
}

/** The rule fires: it alerts once, within its hours and after its cooldown. */
const firing = (
  { during, cooldownMillis }: AlertRule,
  memory: AlertMemory,
  { when: { sentence }, now }: { readonly when: Evaluation; readonly now: number },
): Alerted => {
  const held = (reason: HoldReason, why: string): Alerted => ({
    ...memory,
    state: "holding",
    reason,
    detail: `${sentence}; ${why}`,
    notify: undefined,
  })
  if (memory.state === "acting") return { ...memory, reason: undefined, detail: sentence, notify: undefined }
  const hours = during === undefined ? undefined : hoursAt(during, now)
  if (hours?.open === false) return held("outside_hours", `alerts are sent from ${instantText(hours.until)}`)
  const free = (memory.alertedAt ?? -Infinity) + cooldownMillis
  if (now < free) return held("cooldown", `the last alert was less than ${timeText(cooldownMillis)} ago`)
  return { ...memory, state: "acting", alertedAt: now, reason: undefined, detail: sentence, notify: "fires" }
}

/** One evaluation of an alert rule, without its notifications. */
export const evaluateAlert = (rule: AlertRule, facts: ConditionFacts, before: AlertMemory | undefined): Alerted => {
  const seen = {
    when: evaluate(rule.when, facts),
    clear: rule.clear === undefined ? undefined : evaluate(rule.clear, facts),
  }
  return alertAfter(rule, seen, { before, now: facts.now })
}

/** Result of a round for one alert rule. */
export interface AlertResult {
  readonly rule: AlertRule
  readonly memory: RuleMemory
  readonly before: RuleMemory | undefined
  /** One when it fires, one when it is over: each time that it fires has one of each. */
  readonly notice: Notice | undefined
}

/** Judges the conditions of the alert rules, all by the state from before any of them was evaluated. */
export const evaluateAlerts = (
  rules: ReadonlyArray<AlertRule>,
  facts: ConditionFacts,
  memories: Memories,
): ReadonlyArray<AlertResult> =>
  rules.map((rule) => {
    const { now } = facts
    const before = memories.get(memoryKey(rule.name, alertSubject))
    const { notify, ...kept } = evaluateAlert(rule, facts, before)
    const memory: RuleMemory = {
      ...kept,
      rule: rule.name,
      subject: alertSubject,
      observations: 0,
      lastObservation: 0n,
      reasonSince: before !== undefined && before.reason === kept.reason ? before.reasonSince : now,
      decidedAt: now,
    }
    return { rule, memory, before, notice: notify === undefined ? undefined : noticeOf(rule, memory, before) }
  })

const noticeOf = (
  rule: AlertRule,
  { state, episode, detail: said, decidedAt }: RuleMemory,
  before?: RuleMemory,
): Notice => {
  const { name } = rule
  const isOver = state !== "acting"
  const lasted = before?.firingSince === undefined ? "" : ` after ${timeText(decidedAt - before.firingSince)}`
  const detail = isOver ? `over${lasted}: ${said}` : said
  const facts = { rule: name, episode, words: detail }
  return {
    topic: isOver ? "cleared" : "firing",
    rule: name,
    subject: name,
    brief: detail,
    alert: isOver
      ? overOf("rule_fires", facts)
      : alertOf("rule_fires", { ...facts, severity: rule.severity, over: false }),
  }
}
