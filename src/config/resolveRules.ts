import { submittedRule } from "../domain/Intent.ts"
import type { Rule, RuleBase } from "../rules/Rule.ts"
import { asArray, durationMillis } from "./Fields.ts"
import { nameRemedy } from "./nearest.ts"
import type { Reporter } from "./Reporter.ts"
import type { RuleText } from "./RuleText.ts"
import { resolveHours, resolveMaintenance } from "./resolveHours.ts"
import { type Known, resolveKind, resolveNotify } from "./resolveKind.ts"
import { type Assets, amountsByAsset, type Parties, type Path } from "./resolveNames.ts"
import type { TreasuryFile } from "./TreasuryFile.ts"

/** The rules of the file; each name, amount and time in them is checked. */
export const resolveRules = (
  raw: TreasuryFile,
  parties: Parties,
  assets: Assets,
  report: Reporter,
): ReadonlyArray<Rule> => {
  const known = {
    parties,
    assets,
    report,
    hours: resolveHours(raw, report),
    maintenance: resolveMaintenance(raw, report),
    rules: (raw.rules ?? []).map(({ name }) => name),
  }
  const names = new Set<string>()
  return (raw.rules ?? []).flatMap((rule, i) => {
    if (names.has(rule.name)) {
      report.add(["rules", i, "name"], `a second rule "${rule.name}"`, "give each rule its own name")
    }
    if (rule.name === submittedRule) {
      report.add(["rules", i, "name"], `"${rule.name}" stands for payments of people`, "give the rule another name")
    }
    names.add(rule.name)
    const resolved = resolveRule(rule, ["rules", i], known)
    return resolved === undefined ? [] : [resolved]
  })
}

/** Modifiers that say something about money only. */
const ofMoney = [
  "for",
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

/** Modifiers that a kind has no use for. */
const useless: Readonly<Record<string, ReadonlyArray<(typeof ofMoney)[number]>>> = {
  notify: ofMoney,
  topUp: ["schedule"],
  sweep: ["schedule", "onShort"],
  rebalance: ["schedule"],
  split: ["schedule"],
  payout: ["onShort", "onNoData", "min", "cooldown"],
  request: ["schedule", "onShort", "floor"],
}

const resolveRule = (raw: RuleText, path: Path, known: Known): Rule | undefined => {
  const { report } = known
  const kind = Object.keys(useless).find((key) => raw[key as keyof RuleText] !== undefined) ?? ""
  for (const key of useless[kind] ?? []) {
    if (raw[key] !== undefined) report.add([...path, key], `${key} means nothing for ${kind}`, `remove ${key}`)
  }
  if (raw.notify !== undefined) return resolveNotify(raw.name, raw.notify, path, known)
  return resolveKind(raw, resolveBase(raw, path, known), path, known)
}

const resolveBase = (raw: RuleText, path: Path, { assets, hours, maintenance, rules, report }: Known): RuleBase => {
  const during = raw.during === undefined ? undefined : hours.get(raw.during)
  if (raw.during !== undefined && during === undefined) {
    const remedy = nameRemedy(raw.during, [...hours.keys()], "add it under hours")
    report.add([...path, "during"], `no hours are named "${raw.during}"`, remedy)
  }
  const inhibitedBy = asArray(raw.inhibitedBy ?? [])
  for (const name of inhibitedBy) {
    if (rules.includes(name) && name !== raw.name) continue
    const others = rules.filter((other) => other !== raw.name)
    const remedy = nameRemedy(name, others, "remove it: there is no other rule")
    report.add([...path, "inhibitedBy"], `"${name}" is no other rule`, remedy)
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
