import { takesPart } from "../Look.ts"
import { lineFor, type PolicyLine } from "../Policy.ts"
import { type PinnedAsset, receiverKey } from "../Rule.ts"
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
  const parts = partsText(spot, line.perTransfer)
  if (parts !== undefined) {
    const remedy = `nothing to do if that is meant, else raise perTransfer to ${say(subject.asset, most)}`
    return found("warning", targetPath(spot), `${needs}: ${parts}`, remedy)
  }
  return found(
    rule.onShort === "hold" ? policyGravity(set, rule) : "warning",
    targetPath(spot),
    needs,
    `set target to ${say(subject.asset, line.perTransfer)} or less, or raise perTransfer`,
  )
}

/** How a top-up that pays in parts fills an empty account: it stops once the account is not below its trigger. */
const partsText = (spot: Spot, perTransfer: bigint): string | undefined => {
  const { subject } = spot
  if (subject.kind !== "topUp" || !takesPart(subject.rule) || perTransfer === 0n) return undefined
  const { trigger, target, asset } = subject.level
  const full = trigger / perTransfer
  const last = min(target - full * perTransfer, perTransfer)
  const isLastPaid = full * perTransfer < trigger && last >= minOf(spot)
  const [count, paid] = isLastPaid ? [full + 1n, full * perTransfer + last] : [full, full * perTransfer]
  const often = `in ${count} ${count === 1n ? "part" : "parts"}`
  if (paid === target) return `it is paid ${often}`
  const rest = paid < trigger ? "the rest is too small" : `then is not below ${say(asset, trigger)}`
  return `it is paid ${say(asset, paid)} ${often}, and ${rest}`
}

const min = (a: bigint, b: bigint): bigint => (a < b ? a : b)

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
