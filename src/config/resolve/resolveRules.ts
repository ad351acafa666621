import { formatLevel } from "../../domain/Amount.ts"
import { submittedRule } from "../../domain/Intent.ts"
import type { Condition } from "../../rules/Condition.ts"
import type { Rule, RuleBase } from "../../rules/Rule.ts"
import { asArray, durationMillis } from "../schema/Fields.ts"
import type { RuleText } from "../schema/RuleText.ts"
import type { TreasuryFile } from "../schema/TreasuryFile.ts"
import { nameRemedy } from "../yaml/decodeAll.ts"
import type { Reporter } from "../yaml/Reporter.ts"
import { resolveCondition } from "./resolveCondition.ts"
import { duringOf, resolveHours, resolveMaintenance } from "./resolveHours.ts"
import { type KnownNames, resolveKind } from "./resolveKind.ts"
import { type Assets, addressesOf, amountsByAsset, assetOf, type Parties, type Path } from "./resolveNames.ts"

/** Use of a rule that others name, as in `inhibitedBy`: one that only reports has no condition. */
const forOthers = ({ notify }: RuleText): "pays" | "alerts" | "reports" =>
  notify === undefined ? "pays" : notify.when === undefined ? "reports" : "alerts"

/** The rules of the file; each name, amount and time in them is checked. */
export const resolveRules = (
  raw: TreasuryFile,
  parties: Parties,
  assets: Assets,
  report: Reporter,
): ReadonlyArray<Rule> => {
  const known = {
    parties,
    addresses: addressesOf(raw),
    assets,
    report,
    hours: resolveHours(raw, report),
    maintenance: resolveMaintenance(raw, report),
    rules: new Map((raw.rules ?? []).map((rule) => [rule.name, forOthers(rule)])),
  }
  const names = new Set<string>()
  return (raw.rules ?? []).flatMap((rule, i) => {
    if (names.has(rule.name)) {
      report.add(["rules", i, "name"], `a second rule "${rule.name}"`, "give each rule its own name")
    }
    if (rule.name === submittedRule) {
      report.add(
        ["rules", i, "name"],
        `"${rule.name}" is reserved for payments of people`,
        "give the rule another name",
      )
    }
    names.add(rule.name)
    const resolved = resolveRule(rule, ["rules", i], known)
    return resolved === undefined ? [] : [resolved]
  })
}

/** Modifiers of rules that pay. Those of `ofAlerts` apply to conditions as well. */
const ofMoney = [
  "for",
  "clear",
  "cooldown",
  "settle",
  "maxAge",
  "min",
  "floor",
  "priority",
  "onShort",
  "onNoData",
  "during",
  "maintenance",
  "inhibitedBy",
  "mode",
  "schedule",
] as const

/** Modifiers without a meaning, by kind. */
const useless: Readonly<Record<string, ReadonlyArray<(typeof ofMoney)[number]>>> = {
  notify: ofMoney,
  topUp: ["schedule", "clear"],
  sweep: ["schedule", "clear", "onShort"],
  rebalance: ["schedule", "clear"],
  split: ["schedule", "clear"],
  payout: ["onShort", "onNoData", "min", "cooldown", "clear"],
  request: ["schedule", "clear", "onShort", "floor"],
  withdraw: ["schedule", "clear", "onShort"],
  code: ["schedule", "clear"],
}

/** Keys that set when a condition is alerted. */
const ofAlerts: ReadonlySet<string> = new Set(["for", "clear", "cooldown", "during"])

const resolveRule = (raw: RuleText, path: Path, known: KnownNames): Rule | undefined => {
  const { report } = known
  const kind = Object.keys(useless).find((key) => raw[key as keyof RuleText] !== undefined) ?? ""
  const isAlert = raw.notify?.when !== undefined
  for (const key of useless[kind] ?? []) {
    if (isAlert && ofAlerts.has(key)) continue
    if (raw[key] !== undefined) report.add([...path, key], `${key} means nothing for ${kind}`, `remove ${key}`)
  }
  if (raw.notify !== undefined) return resolveNotify(raw, raw.notify, path, known)
  return resolveKind(raw, resolveBase(raw, path, known), path, known)
}

const resolveBase = (raw: RuleText, path: Path, known: KnownNames): RuleBase => {
  const { assets, maintenance, rules, report } = known
  const during = duringOf(raw, path, known)
  const inhibitedBy = asArray(raw.inhibitedBy ?? [])
  for (const name of inhibitedBy) {
    if (name === raw.name || !rules.has(name)) {
      const others = [...rules.keys()].filter((other) => other !== raw.name)
      const remedy = nameRemedy(name, others, "remove it: there is no other rule")
      report.add([...path, "inhibitedBy"], `"${name}" is no other rule`, remedy)
    } else if (rules.get(name) === "reports") {
      const remedy = "name a rule with a condition, such as notify with when: { asset: … }"
      report.add([...path, "inhibitedBy"], `${name} has no condition, and would block nothing`, remedy)
    }
  }
  return {
    name: raw.name,
    forMillis: durationMillis(raw.for ?? "0s"),
    cooldownMillis: durationMillis(raw.cooldown ?? "0s"),
    settleMillis: durationMillis(raw.settle ?? "0s"),
    maxAgeMillis: raw.maxAge === undefined ? undefined : durationMillis(raw.maxAge),
    min: amountsByAsset(raw.min, [...path, "min"], assets, report),
    floor: amountsByAsset(raw.floor, [...path, "floor"], assets, report),
    priority: Number(raw.priority ?? "100"),
    onShort: raw.onShort ?? "hold",
    onNoData: raw.onNoData ?? "hold",
    during,
    maintenance: raw.maintenance === "ignore" ? [] : maintenance,
    inhibitedBy,
    trial: raw.mode === "shadow",
  }
}

/** A notify rule (on assets) or an alert rule (on a condition). */
const resolveNotify = (
  rule: RuleText,
  raw: NonNullable<RuleText["notify"]>,
  path: Path,
  known: KnownNames,
): Rule | undefined => {
  const { assets, report } = known
  const at = [...path, "notify"]
  const { name } = rule
  if (raw.when !== undefined) {
    if (raw.asset !== undefined) {
      report.add([...at, "asset"], "asset does not apply with when", "name it in the condition")
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
    report.add(
      [...at, "severity"],
      "alerts about assets are always info",
      "remove severity, or write a condition with when",
    )
  }
  if (raw.asset === undefined) {
    report.add([...at, "asset"], "notify.asset is missing", 'name a pinned asset, or "any"')
    return undefined
  }
  const asset = raw.asset === "any" ? "any" : assetOf(raw.asset, [...at, "asset"], assets, report)
  return { kind: "notify", name, asset: asset ?? "any", becomes: raw.becomes ?? [] }
}

/** Condition that clears the alert: a full condition, or for a balance alone another level of it. */
const clearOf = (
  raw: RuleText["clear"],
  when: Condition | undefined,
  path: Path,
  known: KnownNames,
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
    const remedy = `set clear ${isBelow ? "above" : "below"} ${level}, or remove it: the condition then ends at ${level}`
    report.add(path, `clear ${raw} is ${isBelow ? "less" : "more"} than the trigger ${level} (${when.side})`, remedy)
  }
  // The level itself clears the alert.
  return { _tag: "Not", of: { ...when, units } }
}
