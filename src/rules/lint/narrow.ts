import { feeMax } from "../Policy.ts"
import type { Level } from "../Rule.ts"
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

/** Bands so narrow that the fee of a payment is worth more than what it moves, or that begin later than they say. */
export const narrow = (set: RuleSet): ReadonlyArray<Finding> => spotsOf(set).flatMap((spot) => bandOf(set, spot))

const bandOf = (set: RuleSet, spot: Spot): ReadonlyArray<Finding> => {
  const { subject } = spot
  switch (subject.kind) {
    case "topUp":
    case "sweep":
      return ofLevel(set, spot, subject.level, 1n, 1n)
    case "request":
      return ofLevel(set, spot, subject.rule.level, 1n, 1n)
    case "split": {
      const whole = subject.rule.to.reduce((sum, { weight }) => sum + weight, 0n)
      const least = subject.rule.to.map(({ weight }) => weight).reduce((a, b) => (a < b ? a : b))
      return ofLevel(set, spot, subject.rule.level, least, whole)
    }
    case "rebalance":
      return ofTolerance(set, spot)
    case "payout":
    case "withdraw":
    case "code":
      return []
  }
}

const ofLevel = (
  { policy }: RuleSet,
  spot: Spot,
  { trigger, target, asset }: Level,
  part: bigint,
  whole: bigint,
): ReadonlyArray<Finding> => {
  const { rule } = spot
  const width = trigger > target ? trigger - target : target - trigger
  const paid = ((width + 1n) * part) / whole
  const min = minOf(spot)
  const size = ((trigger > target ? trigger : target) * part) / whole
  const needed = feeMax(policy.maxFee, size) + 1n
  const band = `${say(asset, width)} between ${triggerPath(spot).at(-1) as string} and target`
  if (paid < needed && min < needed) {
    const wide = needed > paid ? (needed * whole + part - 1n) / part : needed
    return [
      {
        lint: "narrow",
        severity: gravity(rule),
        path: targetPath(spot),
        message: `${rule.name} has ${band}, less than a fee on ${say(asset, size)} may take (${say(asset, needed - 1n)}) and the smallest transfer`,
        remedy: `set them ${say(asset, wide)} apart or more, or set min to ${say(asset, needed)} or more`,
      },
    ]
  }
  if (min <= paid) return []
  const [word, from] = trigger > target ? ["above", target + (min * whole) / part] : ["below", target - min]
  const acts = from < 0n ? "never acts" : `acts ${word} ${say(asset, from)} only`
  return [
    {
      lint: "late",
      severity: from < 0n ? gravity(rule) : "warning",
      path: [...spot.path.slice(0, 2), "min"],
      message: `${rule.name} pays no less than ${say(asset, min)} and has ${band}: it ${acts}`,
      remedy: `lower min to ${say(asset, paid)}, or set target further from ${triggerPath(spot).at(-1) as string}`,
    },
  ]
}

const percent = ({ numerator, denominator }: { readonly numerator: bigint; readonly denominator: bigint }): string =>
  `${Number((numerator * 100_000_000n) / denominator) / 1_000_000} %`

const ofTolerance = ({ policy: { maxFee } }: RuleSet, spot: Spot): ReadonlyArray<Finding> => {
  const { rule } = spot
  if (rule.kind !== "rebalance") return []
  const { tolerance } = rule
  if (tolerance.numerator * maxFee.denominator > maxFee.numerator * tolerance.denominator) return []
  return [
    {
      lint: "narrow",
      severity: gravity(rule),
      path: triggerPath(spot),
      message: `${rule.name} tolerates ${percent(tolerance)}, no more than a fee may take (maxFee ${percent(maxFee)}): its own payments unbalance it`,
      remedy: `set tolerance above ${percent(maxFee)}`,
    },
  ]
}
