import { type Alerted, type AlertMemory, alertAfter } from "./alerting.ts"
import { timeText } from "./Check.ts"
import type { AlertRule } from "./Condition.ts"
import { evaluate, type Facts, type Seen } from "./evaluate.ts"

/** What people are told of an alert: that its condition holds, or that it is over. */
export interface AlertNews {
  readonly isOver: boolean
  readonly severity: AlertRule["severity"]
  readonly detail: string
}

/** The conditions of an alert's rule on the facts. */
export interface SeenBoth {
  readonly when: Seen
  readonly clear: Seen | undefined
}

export const seeBoth = (rule: AlertRule, facts: Facts): SeenBoth => ({
  when: evaluate(rule.when, facts),
  clear: rule.clear === undefined ? undefined : evaluate(rule.clear, facts),
})

/** One look at an alert's rule: what it remembers from now on, and what people are told now. */
export const lookAtAlert = (
  rule: AlertRule,
  seen: SeenBoth,
  { before, now }: { readonly before: AlertMemory | undefined; readonly now: number },
): { readonly alerted: Alerted; readonly news: AlertNews | undefined } => {
  const alerted = alertAfter(rule, seen, { before, now })
  const { tell, detail } = alerted
  if (tell === undefined) return { alerted, news: undefined }
  if (tell === "fires") return { alerted, news: { isOver: false, severity: rule.severity, detail } }
  const lasted = before?.firingSince === undefined ? "" : ` after ${timeText(now - before.firingSince)}`
  return { alerted, news: { isOver: true, severity: "info", detail: `over${lasted}: ${detail}` } }
}
