import type { Level, PayingRule } from "../Rule.ts"
import { type Finding, gravity, type RuleSet, type Spot, say, spotsOf, targetPath } from "./Finding.ts"

interface Side {
  readonly spot: Spot
  readonly rule: PayingRule
  readonly level: Level
}

const sides = (set: RuleSet, fills: boolean): ReadonlyArray<Side> =>
  spotsOf(set).flatMap((spot): ReadonlyArray<Side> => {
    const { subject, rule } = spot
    const filling = subject.kind === "topUp" || subject.kind === "request"
    if (filling !== fills) return []
    if (subject.kind === "topUp" || subject.kind === "sweep") return [{ spot, rule, level: subject.level }]
    if (subject.kind === "split" || subject.kind === "request" || subject.kind === "withdraw")
      return [{ spot, rule, level: subject.rule.level }]
    return []
  })

/** Rules of which one fills an account to where another empties it, or empties it to where another fills it. */
export const opposite = (set: RuleSet): ReadonlyArray<Finding> =>
  sides(set, true).flatMap((filling) =>
    sides(set, false)
      .filter(({ level }) => level.party === filling.level.party && level.asset === filling.level.asset)
      .flatMap((emptying) => [...overfilled(filling, emptying), ...overdrawn(filling, emptying)].slice(0, 1)),
  )

const overfilled = (filling: Side, emptying: Side): ReadonlyArray<Finding> => {
  const { asset, party, target } = filling.level
  const seen = filling.level.balance === emptying.level.balance || emptying.level.balance === "total"
  if (!seen || target <= emptying.level.trigger) return []
  const trigger = say(asset, emptying.level.trigger)
  return [
    {
      lint: "opposite",
      severity: gravity(filling.rule, emptying.rule),
      path: targetPath(filling.spot),
      message: `${filling.rule.name} fills ${party.name} to ${say(asset, target)}, and ${emptying.rule.name} empties it above ${trigger}`,
      remedy: `set this target to ${trigger} or less, or let ${emptying.rule.name} begin above ${say(asset, target)}`,
    },
  ]
}

const overdrawn = (filling: Side, emptying: Side): ReadonlyArray<Finding> => {
  const { asset, party, target } = emptying.level
  const seen = filling.level.balance === emptying.level.balance || emptying.level.balance === "total"
  if (!seen || target >= filling.level.trigger) return []
  const trigger = say(asset, filling.level.trigger)
  return [
    {
      lint: "opposite",
      severity: gravity(filling.rule, emptying.rule),
      path: targetPath(emptying.spot),
      message: `${emptying.rule.name} leaves ${say(asset, target)} with ${party.name}, and ${filling.rule.name} fills it below ${trigger}`,
      remedy: `set this target to ${trigger} or more, or let ${filling.rule.name} begin below ${say(asset, target)}`,
    },
  ]
}
