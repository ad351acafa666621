import { formatLevel } from "../domain/Amount.ts"
import type { Condition } from "../rules/Condition.ts"
import type { Rule } from "../rules/Rule.ts"
import { durationMillis } from "./Fields.ts"
import type { RuleText } from "./RuleText.ts"
import { resolveCondition } from "./resolveCondition.ts"
import { duringOf } from "./resolveHours.ts"
import type { Known } from "./resolveKind.ts"
import { assetOf, type Path } from "./resolveNames.ts"

/** A rule that tells people of assets, or of a condition. */
export const resolveNotify = (
  rule: RuleText,
  raw: NonNullable<RuleText["notify"]>,
  path: Path,
  known: Known,
): Rule | undefined => {
  const { assets, report } = known
  const at = [...path, "notify"]
  const { name } = rule
  if (raw.when !== undefined) {
    if (raw.asset !== undefined) {
      report.add([...at, "asset"], "asset means nothing beside when", "name it in the condition")
    }
    const when = resolveCondition(raw.when, [...at, "when"], known)
    const clear = clearOf(rule.clear, when, [...path, "clear"], known)
    const during = duringOf(rule, path, known)
    if (when === undefined || clear === "wrong") return undefined
    return {
      kind: "alert",
      name,
      when,
      clear,
      severity: raw.severity ?? "ticket",
      forMillis: durationMillis(rule.for ?? "0s"),
      cooldownMillis: durationMillis(rule.cooldown ?? "0s"),
      during,
    }
  }
  if (raw.severity !== undefined) {
    report.add([...at, "severity"], "news of assets are always info", "remove severity, or write a condition with when")
  }
  if (raw.asset === undefined) {
    report.add([...at, "asset"], "notify.asset is missing", 'name a pinned asset, or "any"')
    return undefined
  }
  const asset = raw.asset === "any" ? "any" : assetOf(raw.asset, [...at, "asset"], assets, report)
  return { kind: "notify", name, asset: asset ?? "any", becomes: raw.becomes ?? [] }
}

/** What must hold before the alert is over: a condition, or beside a balance alone another level of it. */
const clearOf = (
  raw: RuleText["clear"],
  when: Condition | undefined,
  path: Path,
  known: Known,
): Condition | undefined | "wrong" => {
  const { report } = known
  if (raw === undefined) return undefined
  if (typeof raw !== "string") return resolveCondition(raw, path, known) ?? "wrong"
  if (when === undefined) return "wrong"
  if (when._tag !== "Balance") {
    report.add(path, "a level clears a condition on one balance alone", "write a condition")
    return "wrong"
  }
  const units = report.amount(path, raw, when.account.asset)
  const isBelow = when.side === "below"
  if (isBelow ? units < when.units : units > when.units) {
    const level = formatLevel(when.units, when.account.asset.decimals)
    const remedy = `set clear ${isBelow ? "over" : "under"} ${level}, or take it away: it is over at ${level} then`
    report.add(path, `clear ${raw} is on the wrong side of ${when.side} ${level}`, remedy)
  }
  // Back at the level itself is back.
  return { _tag: "Not", of: { ...when, units } }
}
