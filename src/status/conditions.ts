import { conditionTable } from "./conditionTable.ts"
import type { Facts, Found } from "./Facts.ts"

export type ConditionName = keyof typeof conditionTable

/** Everything that keeps a treasury from being healthy, the worst first. */
export const conditionNames = Object.keys(conditionTable) as ReadonlyArray<ConditionName>

/** Setting that keeps since when a condition holds that people are alerted to. */
export const troubleKey = (name: ConditionName): string => `health/${name}`

/** A condition that holds. */
export interface Condition extends Found {
  readonly condition: ConditionName
}

/**
 * The conditions that hold, the worst first: headline, colour, exit code, metrics and alerts are all of this one list.
 * A treasury of which none holds is healthy.
 */
export const conditionsOf = (facts: Facts): ReadonlyArray<Condition> => {
  const found = conditionNames.flatMap((condition): ReadonlyArray<Condition> => {
    const one = conditionTable[condition].find(facts)
    return one === undefined ? [] : [{ condition, ...one }]
  })
  return found.toSorted((a, b) => Number(a.severity === "warn") - Number(b.severity === "warn"))
}
