import { DateTime } from "effect"
import { type Schedule, timesAfter } from "../Schedule.ts"
import { type Finding, type RuleSet, spotsOf } from "./Finding.ts"

/** A leap year lies within; a plan's months do not depend on the years beside it. */
const years = [2024, 2025, 2026, 2027]
const names = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
]

interface Months {
  /** Of those that the plan names, how many it comes in, over all years that are looked at. */
  readonly met: number
  /** Those that it names and does not come in, in one year or in all. */
  readonly skipped: ReadonlyArray<string>
  readonly named: number
}

const monthsOf = (schedule: Schedule): Months => {
  const named = names.map((_, i) => schedule.plans.some(({ cron }) => cron.months.size === 0 || cron.months.has(i + 1)))
  const beginOf = (year: number, month: number): number =>
    DateTime.makeZonedUnsafe(
      { year, month: month + 1, day: 1 },
      { timeZone: schedule.location, adjustForTimeZone: true },
    ).epochMilliseconds
  const isMet = (year: number, month: number): boolean => {
    const end = month === 11 ? beginOf(year + 1, 0) : beginOf(year, month + 1)
    for (const at of timesAfter(schedule, beginOf(year, month) - 1)) return at < end
    return false
  }
  let met = 0
  const skipped = names.flatMap((name, month) => {
    if (!named[month]) return []
    const missing = years.filter((year) => !isMet(year, month)).length
    met += years.length - missing
    if (missing === 0) return []
    return [missing === years.length ? name : `${name} of ${missing} years in ${years.length}`]
  })
  return { met: met / years.length, skipped, named: named.filter((is) => is).length }
}

/** Payouts whose plan has no day in some of the months that it names. */
export const skippedMonths = (set: RuleSet): ReadonlyArray<Finding> =>
  spotsOf(set).flatMap(({ rule, path }): ReadonlyArray<Finding> => {
    if (rule.kind !== "payout") return []
    const { met, skipped, named } = monthsOf(rule.schedule)
    if (skipped.length === 0) return []
    const without = skipped.length > 1 ? `${skipped.slice(0, -1).join(", ")} and ${skipped.at(-1)}` : skipped[0]
    return [
      {
        lint: "skipped_months",
        severity: "warning",
        path: [...path.slice(0, 2), "schedule", "cron"],
        message: `${rule.name} pays in ${met} months of ${named}: "${rule.schedule.text}" has no day in ${without}`,
        remedy: 'write last as the day for the last of each month, such as "0 9 last * *", or a day up to 28',
      },
    ]
  })
