import { timeText } from "../../domain/Time.ts"
import { pastsOf } from "../Condition.ts"
import type { Finding, RuleSet } from "./Finding.ts"

/** Alert rules that compare with a balance from before the rows that are kept: they would find none, and be silent. */
export const kept = ({ rules, keepMillis }: RuleSet): ReadonlyArray<Finding> =>
  rules.flatMap((rule): ReadonlyArray<Finding> => {
    if (rule.kind !== "alert") return []
    const over = Math.max(0, ...pastsOf(rule).map(({ overMillis }) => overMillis))
    if (over <= keepMillis) return []
    return [
      {
        lint: "kept",
        severity: "warning",
        path: ["store", "keep"],
        message: `${rule.name} compares with the balance of ${timeText(over)} before, and rows are kept for ${timeText(keepMillis)}: where that one is gone, it does not alert`,
        remedy: `keep them for ${timeText(over)} or longer`,
      },
    ]
  })
