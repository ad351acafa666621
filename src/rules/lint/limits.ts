import { several } from "../../domain/text.ts"
import { type Party, type PinnedAsset, type Receiver, receiverKey } from "../Account.ts"
import { feeMax, lineFor, type Policy, type PolicyLine } from "../policy/Policy.ts"
import { isPaying, levelsOf } from "../Rule.ts"
import { levelIn, waysOf } from "../Subject.ts"
import { floorOf, takesPart } from "../SubjectFacts.ts"
import {
  assetAmount,
  type Finding,
  minOf,
  policySeverity,
  type RuleSet,
  type Spot,
  severityOf,
  spotsOf,
  targetPath,
  triggerPath,
} from "./Finding.ts"

/** Payments that no policy line allows, or one that allows no transfer: a line after it would not count. */
export const denied = (set: RuleSet): ReadonlyArray<Finding> =>
  spotsOf(set).flatMap((spot) => {
    const { rule, subject } = spot
    const ways = waysOf(subject).map(({ from, to }) => {
      const way = { from: from.publicKey, to: receiverKey(to), assetId: subject.asset.id }
      return { from, to, line: lineFor(set.policy, way) }
    })
    const first = ways.find(({ line }) => line === undefined || line.transfersPer24h === 0)
    if (first === undefined) return []
    const lacking = ways.filter(({ line }) => line === first.line)
    const names = several(lacking.map(({ from, to }) => `${from.name} -> ${to.name}`))
    const to = [...new Set(lacking.map((way) => way.to.name))].join(", ")
    const from = [...new Set(lacking.map((way) => way.from.name))].join(", ")
    const fields = `from: [${from}], to: [${to}], asset: ${subject.asset.symbol}`
    return [
      {
        lint: "denied",
        severity: policySeverity(set, rule),
        path: placeOf(spot, first.to.name),
        ...(first.line === undefined
          ? {
              message: `no policy line allows ${rule.name} to pay ${subject.asset.symbol} ${names}`,
              remedy: `allow { ${fields}, perTransfer: …, per24h: …, transfersPer24h: … } in the policy, or remove the rule`,
            }
          : {
              message: `policy line ${first.line.line} allows ${rule.name} no transfer of ${subject.asset.symbol} ${names}`,
              remedy: "raise its transfersPer24h, or remove the rule",
            }),
      },
    ]
  })

const placeOf = ({ rule, own }: Spot, to: string): ReadonlyArray<PropertyKey> => {
  if (rule.kind === "split") return [...own, "to", to]
  return rule.kind === "rebalance" ? [...own, "weights"] : own
}

/** Payments that are larger than their policy line allows: at all balances, or only at the worst. */
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
  const limit = `${assetAmount(subject.asset, line.perTransfer)} per transfer of policy line ${line.line}`
  const found = (severity: Finding["severity"], path: Finding["path"], message: string, remedy: string) => [
    { lint: "unreachable", severity, path, message, remedy } as const,
  ]
  if (atLeast(spot, range) > line.perTransfer) {
    const least = rule.kind === "payout" ? "" : "the minimum of "
    return found(
      policySeverity(set, rule),
      rule.kind === "payout" ? triggerPath(spot) : targetPath(spot),
      `${way}: ${least}${assetAmount(subject.asset, atLeast(spot, range))} is above the ${limit}, so it is never paid`,
      `raise perTransfer to ${assetAmount(subject.asset, range.most ?? atLeast(spot, range))} or more, or pay less at once`,
    )
  }
  const { most } = range
  if (most === undefined || most <= line.perTransfer) return []
  const needs = `${way}: an empty account needs ${assetAmount(subject.asset, most)}, above the ${limit}`
  if (takesPart(rule)) {
    const remedy = `nothing to do if that is meant, else raise perTransfer to ${assetAmount(subject.asset, most)}`
    return found("warning", targetPath(spot), `${needs}: it is paid in parts`, remedy)
  }
  return found(
    policySeverity(set, rule),
    targetPath(spot),
    needs,
    `set target to ${assetAmount(subject.asset, line.perTransfer)} or less, or raise perTransfer`,
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
        severity: policySeverity(set, spot.rule),
        path: triggerPath(spot),
        message: `${spot.rule.name} pays ${assetAmount(asset, sum)} at least at once, above the ${assetAmount(asset, line.per24h)} per 24 h of policy line ${line.line}`,
        remedy: `raise per24h to ${assetAmount(asset, sum)} or more, or set above nearer to target`,
      },
    ]
  })

/** Levels that the payer's floor keeps from ever being reached, and payers that never hold what they are to pay. */
export const floors = (set: RuleSet): ReadonlyArray<Finding> =>
  spotsOf(set).flatMap((spot) => [...underFloor(spot), ...starved(set, spot)])

const underFloor = (spot: Spot): ReadonlyArray<Finding> => {
  const { rule, subject } = spot
  if (subject.kind !== "sweep" && subject.kind !== "split" && subject.kind !== "withdraw") return []
  const level = levelIn(subject)!
  const floor = floorOf(subject, level.party)
  if (level.target >= floor) return []
  return [
    {
      lint: "floor",
      severity: severityOf(rule),
      path: targetPath(spot),
      message: `${rule.name} leaves ${assetAmount(level.asset, level.target)} with ${level.party.name}, whose floor is ${assetAmount(level.asset, floor)}`,
      remedy: `set target to ${assetAmount(level.asset, floor)} or more, or lower the floor`,
    },
  ]
}

/** Kinds that take what is over a level from an account. */
const empties: ReadonlySet<string> = new Set(["sweep", "split", "withdraw"])

/** The level above which rules take money from the account, so that it never rests higher. */
const ceilingOf = ({ rules }: RuleSet, party: Party, asset: PinnedAsset) =>
  rules
    .flatMap((rule) => (isPaying(rule) && empties.has(rule.kind) && !rule.trial ? [rule] : []))
    .flatMap((rule) => levelsOf(rule).map((level) => ({ rule, level })))
    .filter(({ level }) => level.party === party && level.asset === asset)
    .toSorted((a, b) => (a.level.trigger < b.level.trigger ? -1 : 1))[0]

const starved = (set: RuleSet, spot: Spot): ReadonlyArray<Finding> => {
  const { rule, subject } = spot
  if (rule.kind !== "topUp" && rule.kind !== "payout") return []
  const ceiling = ceilingOf(set, rule.from, subject.asset)
  const [range] = needRanges(spot, set.policy)
  if (ceiling === undefined || range === undefined) return []
  const least = takesPart(rule) ? [minOf(spot), 1n].reduce((a, b) => (a > b ? a : b)) : range.least
  const floor = floorOf(subject, rule.from)
  const cost = costOf(least, set.policy)
  if (ceiling.level.trigger - floor >= cost) return []
  const kept = floor > 0n ? ` and keeps ${assetAmount(subject.asset, floor)}` : ""
  return [
    {
      lint: "starved",
      severity: severityOf(rule, ceiling.rule),
      path: rule.kind === "payout" ? triggerPath(spot) : targetPath(spot),
      message: `${rule.name} takes ${assetAmount(subject.asset, cost)} at least, fee included, from ${rule.from.name}, which ${ceiling.rule.name} empties above ${assetAmount(subject.asset, ceiling.level.trigger)}${kept}`,
      remedy: `let ${ceiling.rule.name} begin at ${assetAmount(subject.asset, cost + floor)} or above, or lower the floor`,
    },
  ]
}

/** One transfer that a rule may want, between the least and the most that it can be. */
interface NeedRange {
  readonly from: Party
  readonly to: Receiver
  readonly least: bigint
  /** Undefined where the balance alone bounds it. */
  readonly most: bigint | undefined
}

/** Amount left of a surplus that pays both amount and fee, with the highest fee. */
const afterFee = (surplus: bigint, { maxFee }: Policy): bigint =>
  (surplus * maxFee.denominator) / (maxFee.denominator + maxFee.numerator)

const max = (a: bigint, b: bigint): bigint => (a > b ? a : b)

/**
 * The transfers of one decision; empty if a group of balances or code decides their size, if people make them, or if
 * nothing moves.
 */
export const needRanges = (spot: Spot, policy: Policy): ReadonlyArray<NeedRange> => {
  const { subject } = spot
  const min = minOf(spot)
  switch (subject.kind) {
    case "topUp": {
      const { trigger, target, party } = subject.level
      return [{ from: subject.rule.from, to: party, least: max(target - trigger + 1n, min), most: target }]
    }
    case "sweep": {
      const { trigger, target, party } = subject.level
      const least = max(afterFee(trigger - target + 1n, policy), min)
      return [{ from: party, to: subject.rule.to, least, most: undefined }]
    }
    case "split": {
      const { level, to } = subject.rule
      const whole = to.reduce((sum, { weight }) => sum + weight, 0n)
      const surplus = level.trigger - level.target + 1n
      return to.map(({ party, weight }) => ({
        from: level.party,
        to: party,
        least: max(afterFee((surplus * weight) / whole, policy), min),
        most: undefined,
      }))
    }
    case "withdraw": {
      const { level, to } = subject.rule
      return [{ from: level.party, to, least: max(level.trigger - level.target + 1n, min), most: undefined }]
    }
    case "payout": {
      const { from, to, amount } = subject.rule
      return [{ from, to, least: amount, most: amount }]
    }
    case "rebalance":
    case "request":
    case "code":
      return []
  }
}

/** Highest debit of a transfer for its payer, fee included. */
const costOf = (amount: bigint, { maxFee }: Policy): bigint => amount + feeMax(maxFee, amount)
