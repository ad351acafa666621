import { type Alerted, type AlertMemory, alertAfter, alertSubject } from "./alerting.ts"
import { timeText } from "./Check.ts"
import type { AlertRule } from "./Condition.ts"
import { evaluate, type Facts } from "./evaluate.ts"
import type { Notice } from "./Notice.ts"
import { type Memories, memoryKey, type RuleMemory } from "./RuleMemory.ts"

/** One look at an alert's rule, without what people are told. */
export const lookAtAlert = (rule: AlertRule, facts: Facts, before: AlertMemory | undefined): Alerted => {
  const seen = {
    when: evaluate(rule.when, facts),
    clear: rule.clear === undefined ? undefined : evaluate(rule.clear, facts),
  }
  return alertAfter(rule, seen, { before, now: facts.now })
}

/** What a round says of a rule that tells people of a condition. */
export interface AlertLook {
  readonly rule: AlertRule
  readonly memory: RuleMemory
  readonly before: RuleMemory | undefined
  /** One when it fires, one when it is over: each time that it fires has one of each. */
  readonly notice: Notice | undefined
}

/** Judges the conditions that people are told of, all by what was remembered before any of them was looked at. */
export const lookAtAlerts = (
  rules: ReadonlyArray<AlertRule>,
  facts: Facts,
  memories: Memories,
): ReadonlyArray<AlertLook> =>
  rules.map((rule) => {
    const { now } = facts
    const before = memories.get(memoryKey(rule.name, alertSubject))
    const { tell, ...kept } = lookAtAlert(rule, facts, before)
    const memory: RuleMemory = {
      ...kept,
      rule: rule.name,
      subject: alertSubject,
      observations: 0,
      lastObservation: 0n,
      reasonSince: before !== undefined && before.reason === kept.reason ? before.reasonSince : now,
      decidedAt: now,
    }
    return { rule, memory, before, notice: tell === undefined ? undefined : noticeOf(rule, memory, before) }
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
  const dedup = `rule/${name}/${episode}`
  return {
    topic: isOver ? "cleared" : "firing",
    rule: name,
    subject: name,
    brief: detail,
    alert: {
      dedup: isOver ? `${dedup}/over` : dedup,
      severity: isOver ? "info" : rule.severity,
      kind: "rule",
      subject: name,
      detail,
      fields: { rule: name, episode, over: isOver },
      ...(isOver ? { resolves: [dedup] } : {}),
    },
  }
}
