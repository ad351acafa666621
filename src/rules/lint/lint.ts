import { cycle } from "./cycle.ts"
import type { Finding, RuleSet } from "./Finding.ts"
import { denied, floors, unreachable } from "./limits.ts"
import { quota, skippedMonths } from "./quota.ts"

/**
 * What is wrong with rules and policy that are sound one by one: what can never be paid, what pays back and forth
 * forever, what acts otherwise than it reads.
 */
export const lint = (set: RuleSet): ReadonlyArray<Finding> =>
  [denied, unreachable, floors, skippedMonths, quota, cycle].flatMap((each) => each(set))
