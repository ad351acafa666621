import { takesPart } from "../Look.ts"
import { lineFor, type PolicyLine } from "../Policy.ts"
import { type PinnedAsset, receiverKey } from "../Rule.ts"
import { waysOf } from "../waysOf.ts"
import {
  type Finding,
  minOf,
  policyGravity,
  type RuleSet,
  type Spot,
  say,
  spotsOf,
  targetPath,
  triggerPath,
} from "./Finding.ts"
import { type NeedRange, needRanges } from "./needs.ts"

/** Ways named one by one; a rebalance among many has more. */
const namedMax = 3

/** Payments that no policy line allows. */
export const denied = (set: RuleSet): ReadonlyArray<Finding> =>
  spotsOf(set).flatMap((spot) => {
    const { rule, subject } = spot
    const lacking = waysOf(subject).filter(({ from, to }) => {
      const line = lineFor(set.policy, { from: from.publicKey, to: receiverKey(to), assetId: subject.asset.id })
      return line === undefined || line.transfersPer24h === 0
    })
    const [first] = lacking
    if (first === undefined) return []
    const names = lacking.slice(0, namedMax).map(({ from, to }) => `${from.name} -> ${to.name}`)
    const more = lacking.length > namedMax ? ` and ${lacking.length - namedMax} more` : ""
    const to = [...new Set(lacking.map((way) => way.to.name))].join(", ")
    const from = [...new Set(lacking.map((way) => way.from.name))].join(", ")
    const fields = `from: [${from}], to: [${to}], asset: ${subject.asset.symbol}`
    return [
      {
        lint: "denied",
        severity: policyGravity(set, rule),
        path: placeOf(spot, first.to.name),
        message: `${rule.name} is denied ${names.join(", ")}${more}: no policy line allows ${subject.asset.symbol} there`,
        remedy: `allow { ${fields}, perTransfer: …, per24h: …, transfersPer24h: … } in the policy, or remove it`,
      },
    ]
  })

const placeOf = ({ rule, own }: Spot, to: string): ReadonlyArray<PropertyKey> => {
  if (rule.kind === "split") return [...own, "to", to]
  return rule.kind === "rebalance" ? [...own, "weights"] : own
}

/** Payments that are larger than their policy line allows, whatever the balances are or where they are worst. */
export const unreachable = (set: RuleSet): ReadonlyArray<Finding> =>
  spotsOf(set).flatMap((spot) => {
    const { asset } = spot.subject
    const ranges = needRanges(spot, set.policy).flatMap((range) => {
      const way = { from: range.from.publicKey, to: receiverKey(range.to), assetId: asset.id }
      const line = lineFor(set.policy, way)
      return line === undefined || line.transfersPer24h === 0 ? [] : [{ range, line }]
    })
    const each = ranges.flatMap(({ range, line }) => tooLarge(set, spot, range, line))
    return each.length > 0 ? each.slice(0, 1) : tooMuchAtOnce(set, spot, ranges, asset)
  })

/** The least of one payment. What is paid in parts may be as small as the rule's own least. */
const atLeast = (spot: Spot, { least }: NeedRange): bigint => (takesPart(spot.rule) ? minOf(spot) : least)

const tooLarge = (set: RuleSet, spot: Spot, range: NeedRange, line: PolicyLine): ReadonlyArray<Finding> => {
  const { rule, subject } = spot
  const way = `${rule.name}, ${range.from.name} -> ${range.to.name}`
  const limit = `${say(subject.asset, line.perTransfer)} per transfer of policy line ${line.line}`
  const found = (severity: Finding["severity"], path: Finding["path"], message: string, remedy: string) => [
    { lint: "unreachable", severity, path, message, remedy } as const,
  ]
  if (atLeast(spot, range) > line.perTransfer) {
    const least = rule.kind === "payout" ? "" : "the least of "
    return found(
      policyGravity(set, rule),
      rule.kind === "payout" ? triggerPath(spot) : targetPath(spot),
      `${way}: ${least}${say(subject.asset, atLeast(spot, range))} is above the ${limit}, so it is never paid`,
      `raise perTransfer to ${say(subject.asset, range.most ?? atLeast(spot, range))} or more, or pay less at once`,
    )
  }
  const { most } = range
  if (most === undefined || most <= line.perTransfer) return []
  const needs = `${way}: an empty account needs ${say(subject.asset, most)}, above the ${limit}`
  if (takesPart(rule)) {
    const remedy = `nothing to do if that is meant, else raise perTransfer to ${say(subject.asset, most)}`
    return found("warning", targetPath(spot), `${needs}: it is paid in parts`, remedy)
  }
  return found(
    policyGravity(set, rule),
    targetPath(spot),
    needs,
    `set target to ${say(subject.asset, line.perTransfer)} or less, or raise perTransfer`,
  )
}

/** All transfers of a decision are made, or none: together they have to fit each line's day. */
const tooMuchAtOnce = (
  set: RuleSet,
  spot: Spot,
  ranges: ReadonlyArray<{ readonly range: NeedRange; readonly line: PolicyLine }>,
  asset: PinnedAsset,
): ReadonlyArray<Finding> =>
  [...Map.groupBy(ranges, ({ line }) => line)].flatMap(([line, own]) => {
    const sum = own.reduce((total, { range }) => total + atLeast(spot, range), 0n)
    if (own.length < 2 || sum <= line.per24h) return []
    return [
      {
        lint: "unreachable",
        severity: policyGravity(set, spot.rule),
        path: triggerPath(spot),
        message: `${spot.rule.name} pays ${say(asset, sum)} at least at once, above the ${say(asset, line.per24h)} per 24 h of policy line ${line.line}`,
        remedy: `raise per24h to ${say(asset, sum)} or more, or set above nearer to target`,
      },
    ]
  })
