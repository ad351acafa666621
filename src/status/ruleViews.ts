import type { Treasury } from "../config/Treasury.ts"
import { isOn } from "../rules/alerting.ts"
import { type AlertRule, conditionText } from "../rules/Condition.ts"
import { isAlert, isPaying } from "../rules/Rule.ts"
import type { RuleMemory } from "../rules/RuleMemory.ts"
import type { RuleView } from "./View.ts"

/** What each rule does, or why it does not: what wakes people first, else in the order of the file. */
export const ruleViews = (treasury: Treasury, memories: ReadonlyArray<RuleMemory>): ReadonlyArray<RuleView> =>
  viewsOf(treasury, memories).toSorted((a, b) => gravity(b) - gravity(a))

const gravity = ({ fires }: RuleView): number => (fires === "page" ? 2 : fires === "ticket" ? 1 : 0)

const viewsOf = (treasury: Treasury, memories: ReadonlyArray<RuleMemory>): ReadonlyArray<RuleView> =>
  treasury.rules.flatMap((rule): ReadonlyArray<RuleView> => {
    if (isAlert(rule)) return alertViews(rule, memories)
    if (!isPaying(rule)) {
      const asset = rule.asset === "any" ? "any asset" : rule.asset.symbol
      const sentence = `tells when ${asset} becomes ${rule.becomes.join(" or ")}`
      const view = { name: rule.name, kind: rule.kind, subject: asset, trial: false, state: "watching" }
      return [{ ...view, reason: null, fires: null, detail: "", sentence }]
    }
    const own = memories.filter((m) => m.rule === rule.name)
    if (own.length === 0) {
      return [
        {
          name: rule.name,
          kind: rule.kind,
          subject: "",
          trial: rule.trial,
          state: "inactive",
          reason: null,
          fires: null,
          detail: "",
          sentence: `${onTrial(rule.trial)}not yet evaluated`,
        },
      ]
    }
    return own.map((m) => ({
      name: rule.name,
      kind: rule.kind,
      subject: m.subject,
      trial: rule.trial,
      state: m.state,
      reason: m.reason ?? null,
      fires: null,
      detail: m.detail,
      sentence: `${onTrial(rule.trial)}${
        m.reason === undefined ? `acting: ${m.detail}` : `silent: ${m.reason.replaceAll("_", " ")}; ${m.detail}`
      }`,
    }))
  })

const onTrial = (trial: boolean): string => (trial ? "on trial, pays nothing; " : "")

/** What an alert's rule waits for, and whether people have heard of it. */
const alertViews = (rule: AlertRule, memories: ReadonlyArray<RuleMemory>): ReadonlyArray<RuleView> => {
  const { name } = rule
  const memory = memories.find((m) => m.rule === name)
  const waits = `tells when ${conditionText(rule.when)}`
  const view = { name, kind: "notify", subject: "", trial: false }
  if (memory === undefined)
    return [{ ...view, state: "inactive", reason: null, fires: null, detail: "", sentence: waits }]
  const { state, reason, detail } = memory
  const fires = isOn(memory) ? rule.severity : null
  const words =
    state === "acting"
      ? "fires"
      : reason === undefined || reason === "in_band"
        ? "silent"
        : `silent: ${reason.replaceAll("_", " ")}`
  return [{ ...view, state, reason: reason ?? null, fires, detail, sentence: `${words}; ${detail} (${waits})` }]
}
