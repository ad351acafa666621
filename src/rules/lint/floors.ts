import { floorOf, takesPart } from "../Look.ts"
import { isPaying, levelsOf, type Party, type PinnedAsset } from "../Rule.ts"
import {
  type Finding,
  gravity,
  minOf,
  type RuleSet,
  type Spot,
  say,
  spotsOf,
  targetPath,
  triggerPath,
} from "./Finding.ts"
import { costOf, needRanges } from "./needs.ts"

/** Levels that the payer's floor keeps from ever being reached, and payers that never hold what they are to pay. */
export const floors = (set: RuleSet): ReadonlyArray<Finding> =>
  spotsOf(set).flatMap((spot) => [...underFloor(spot), ...starved(set, spot)])

const underFloor = (spot: Spot): ReadonlyArray<Finding> => {
  const { rule, subject } = spot
  if (rule.kind !== "sweep" && rule.kind !== "split" && rule.kind !== "withdraw") return []
  const level = subject.kind === "sweep" ? subject.level : rule.kind === "sweep" ? undefined : rule.level
  if (level === undefined) return []
  const floor = floorOf(subject, level.party)
  if (level.target >= floor) return []
  return [
    {
      lint: "floor",
      severity: gravity(rule),
      path: targetPath(spot),
      message: `${rule.name} is to leave ${say(level.asset, level.target)} with ${level.party.name}, whose floor is ${say(level.asset, floor)}`,
      remedy: `set target to ${say(level.asset, floor)} or more, or lower the floor`,
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
  const kept = floor > 0n ? ` and keeps ${say(subject.asset, floor)}` : ""
  return [
    {
      lint: "starved",
      severity: gravity(rule, ceiling.rule),
      path: rule.kind === "payout" ? triggerPath(spot) : targetPath(spot),
      message: `${rule.name} takes ${say(subject.asset, cost)} at least, fee included, from ${rule.from.name}, which ${ceiling.rule.name} empties above ${say(subject.asset, ceiling.level.trigger)}${kept}`,
      remedy: `let ${ceiling.rule.name} begin at ${say(subject.asset, cost + floor)} or above, or lower the floor`,
    },
  ]
}
