import { Cron, DateTime, Option, Result } from "effect"
import { defaultLateMillis, type Plan, type Schedule } from "../rules/Schedule.ts"
import { durationMillis } from "./Fields.ts"
import type { Reporter } from "./Reporter.ts"
import type { RuleText } from "./RuleText.ts"
import { isLocation } from "./resolveHours.ts"
import type { Path } from "./resolveNames.ts"

const fields = ["minute", "hour", "day", "month", "weekday"]
const remedy = 'write minute hour day month weekday, such as "0 9 1 * *" or "0 9 last * *"'

/** The plan, where it is one that comes again and again. */
export const resolveSchedule = (
  raw: NonNullable<RuleText["schedule"]>,
  path: Path,
  report: Reporter,
): Schedule | undefined => {
  const location = raw.location ?? "UTC"
  const isPlace = isLocation(location, [...path, "location"], report)
  const parsed = plansOf(raw.cron, isPlace ? location : "UTC")
  if (Result.isFailure(parsed)) {
    report.add([...path, "cron"], `"${raw.cron}" is no plan: ${parsed.failure}`, remedy)
    return undefined
  }
  if (!parsed.success.every(comes)) {
    report.add(
      [...path, "cron"],
      `"${raw.cron}" never comes`,
      "name a day that its months have, such as 28 in February",
    )
    return undefined
  }
  if (!isPlace) return undefined
  const lateMillis = raw.late === undefined ? defaultLateMillis : durationMillis(raw.late)
  return { plans: parsed.success, text: raw.cron, location, missed: raw.missed ?? "once", lateMillis }
}

/** The word for a month's last day. Other words of the field are numbers, so nothing else is spelled so. */
const last = "last"

/** What the text plans; where it cannot be read, why. */
const plansOf = (text: string, location: string): Result.Result<ReadonlyArray<Plan>, string> => {
  const parts = text.trim().split(/\s+/)
  const at = parts.length - 3
  const days = (parts[at] ?? "").split(",")
  const others = days.filter((day) => day !== last)
  if (others.length === days.length) return Result.map(read(text, location), (cron) => [{ cron }])
  const dayIs = (day: string): string => parts.map((part, i) => (i === at ? day : part)).join(" ")
  const weekday = parts[at + 2]
  const model = read(dayIs("1"), location)
  if (Result.isFailure(model)) return Result.fail(model.failure)
  if (weekday !== "*") return Result.fail(`its weekday "${weekday}" beside ${last}: a last day is any weekday`)
  const lasts = lastDays(model.success)
  if (others.length === 0) return Result.succeed(lasts)
  return Result.map(read(dayIs(others.join(",")), location), (cron) => [{ cron }, ...lasts])
}

const read = (text: string, location: string): Result.Result<Cron.Cron, string> =>
  Result.mapError(Cron.parse(text, zoneOf(location)), () => reasonOf(text))

/** UTC has no history of offsets that would have to be looked up for each time. */
const zoneOf = (location: string): string | DateTime.TimeZone =>
  location === "UTC" ? DateTime.zoneMakeOffset(0) : location

/** Months by the number of their last day. */
const lengths = new Map([
  [31, [1, 3, 5, 7, 8, 10, 12]],
  [30, [4, 6, 9, 11]],
  [29, [2]],
  [28, [2]],
])

/** The same times on the last day of each of its months. */
const lastDays = ({ seconds, minutes, hours, months, tz }: Cron.Cron): ReadonlyArray<Plan> =>
  [...lengths].flatMap(([day, all]) => {
    const own = all.filter((month) => months.size === 0 || months.has(month))
    if (own.length === 0) return []
    const times = { seconds, minutes, hours, days: [day], months: own, weekdays: [] }
    const cron = Cron.make({ ...times, tz: Option.getOrUndefined(tz) })
    return [day === 28 ? { cron, commonYears: true } : { cron }]
  })

/** Which field cannot be read, and why. */
const reasonOf = (text: string): string => {
  const parts = text.trim().split(/\s+/)
  if (parts.length !== 5 && parts.length !== 6) {
    return `it has ${parts.length} ${parts.length === 1 ? "field" : "fields"}`
  }
  const names = parts.length === 6 ? ["second", ...fields] : fields
  const found = parts.flatMap((part, i) => {
    const alone = Cron.parse(parts.map((_, j) => (i === j ? part : "*")).join(" "))
    return Result.isFailure(alone) ? [`its ${names[i]} "${part}": ${alone.failure.message.toLowerCase()}`] : []
  })
  return found.join(", ")
}

/** Whether there is such a date at all: the search for one gives up with an error. */
const comes = ({ cron }: Plan): boolean => {
  try {
    Cron.next(cron, new Date(0))
    return true
  } catch {
    return false
  }
}
