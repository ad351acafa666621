import { atOdds } from "./atOdds.ts"
import { clearing } from "./clearing.ts"
import { cycle } from "./cycle.ts"
import { denied } from "./denied.ts"
import type { Finding, RuleSet } from "./Finding.ts"
import { floors } from "./floors.ts"
import { hours } from "./hours.ts"
import { inhibition } from "./inhibition.ts"
import { narrow } from "./narrow.ts"
import { opposite } from "./opposite.ts"
import { payoutRate } from "./payoutRate.ts"
import { quota } from "./quota.ts"
import { skippedMonths } from "./skippedMonths.ts"
import { unreachable } from "./unreachable.ts"

/**
 * What is wrong with rules and policy that are sound one by one: what can never be paid, what pays back and forth
 * forever, what acts otherwise than it reads.
 */
export const lint = (set: RuleSet): ReadonlyArray<Finding> => {
  const all = [
    denied,
    unreachable,
    floors,
    narrow,
    opposite,
    inhibition,
    payoutRate,
    skippedMonths,
    quota,
    hours,
    clearing,
  ]
  const plain = all.flatMap((each) => each(set))
  // Opposite aims on one account are the plainer word for the circle that they close.
  const aims = plain.some(({ lint: kind, severity }) => kind === "opposite" && severity === "error")
  if (aims) return plain
  const circles = cycle(set)
  // A circle that was found has the numbers; where none was, balances may still exist that close one.
  return [...plain, ...(circles.length > 0 ? circles : atOdds(set))]
}
