import { cycle } from "./cycle.ts"
import { denied } from "./denied.ts"
import type { Finding, RuleSet } from "./Finding.ts"
import { floors } from "./floors.ts"
import { hours } from "./hours.ts"
import { inhibition } from "./inhibition.ts"
import { narrow } from "./narrow.ts"
import { quota } from "./quota.ts"
import { skippedMonths } from "./skippedMonths.ts"
import { unreachable } from "./unreachable.ts"

/**
 * What is wrong with rules and policy that are sound one by one: what can never be paid, what pays back and forth
 * forever, what acts otherwise than it reads.
 */
export const lint = (set: RuleSet): ReadonlyArray<Finding> =>
  [denied, unreachable, floors, narrow, inhibition, skippedMonths, quota, hours, cycle].flatMap((each) => each(set))
