import { cycle } from "./cycle.ts"
import type { Finding, RuleSet } from "./Finding.ts"
import { denied, floors, unreachable } from "./limits.ts"
import { quota, skippedMonths } from "./quota.ts"

/**
 * Finds mistakes in rules and policy that are valid one by one: payments that can never be made, payments that go back
 * and forth forever, and rules whose effect differs from their text.
 */
export const lint = (set: RuleSet): ReadonlyArray<Finding> =>
  [denied, unreachable, floors, skippedMonths, quota, cycle].flatMap((each) => each(set))
