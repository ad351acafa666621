import { formatLevel } from "../../domain/Amount.ts"
import type { PinnedAsset } from "../Account.ts"
import type { Policy } from "../policy/Policy.ts"
import { isPaying, type PayingRule, type Rule } from "../Rule.ts"
import { type Subject, subjectsOf } from "../Subject.ts"

/** Kinds of mistakes in rules and policy together, where each alone is valid. */
export const lintKinds = [
  "cycle",
  "unreachable",
  "floor",
  "starved",
  "denied",
  "skipped_months",
  "either_day",
  "split_size",
  "quota",
  "dense",
  "kept",
] as const
export type LintKind = (typeof lintKinds)[number]

/** One mistake or doubt, with its place in the file. */
export interface Finding {
  readonly lint: LintKind
  /** An error keeps the file from being used. */
  readonly severity: "error" | "warning"
  /** From the root of the treasury file: ["rules", 3, "sweep", "target"]. */
  readonly path: ReadonlyArray<PropertyKey>
  /** One sentence with the numbers. */
  readonly message: string
  readonly remedy: string
}

/** Input of the lint: rules and policy of one treasury, names resolved. */
export interface RuleSet {
  /** In the order of the file: the position is the place. */
  readonly rules: ReadonlyArray<Rule>
  readonly policy: Policy
  readonly mode: "observe" | "shadow" | "live"
  /** Transfers that the network permits a key in 24 hours; undefined where they are not judged. */
  readonly transfersPerDay: number | undefined
  /** How long balance rows are kept. */
  readonly keepMillis: number
}

/** One subject of a rule, and its place. */
export interface Spot {
  readonly rule: PayingRule
  readonly subject: Subject
  /** Place of the rule. */
  readonly path: ReadonlyArray<PropertyKey>
  /** Place of the subject's own keys. */
  readonly own: ReadonlyArray<PropertyKey>
}

export const spotsOf = ({ rules }: Pick<RuleSet, "rules">): ReadonlyArray<Spot> =>
  rules.flatMap((rule, i) => {
    if (!isPaying(rule)) return []
    const path = ["rules", i, rule.kind]
    return subjectsOf(rule).map((subject, j) => ({
      rule,
      subject,
      path,
      own: rule.kind === "topUp" ? [...path, "levels", j] : path,
    }))
  })

/** Place of the subject's trigger. */
export const triggerPath = ({ rule, own }: Spot): ReadonlyArray<PropertyKey> => {
  if (rule.kind === "rebalance") return [...own, "tolerance"]
  if (rule.kind === "payout") return [...own, "amount"]
  return [...own, rule.kind === "topUp" || rule.kind === "request" ? "below" : "above"]
}

export const targetPath = ({ own }: Spot): ReadonlyArray<PropertyKey> => [...own, "target"]

/** A mistake that involves a rule on trial is only a warning: it moves no money yet. */
export const severityOf = (...rules: ReadonlyArray<PayingRule>): Finding["severity"] =>
  rules.some(({ trial }) => trial) ? "warning" : "error"

/** As `severityOf`; what the policy does not permit does no harm where nothing is paid. */
export const policySeverity = ({ mode }: RuleSet, rule: PayingRule): Finding["severity"] =>
  mode === "live" ? severityOf(rule) : "warning"

/** "25,000 USDT" */
export const assetAmount = (asset: PinnedAsset, units: bigint): string =>
  `${formatLevel(units, asset.decimals)} ${asset.symbol}`

/** A rule's own least payment, by its `min`. */
export const minOf = ({ rule, subject }: Spot): bigint => rule.min.get(subject.asset.id) ?? 0n
