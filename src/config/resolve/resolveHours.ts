import { Cron, DateTime, Option, Result } from "effect"
import { defaultLateMillis, type Hours, type Plan, type Schedule, type Window } from "../../rules/Schedule.ts"
import { asArray, durationMillis } from "../schema/Fields.ts"
import type { RuleText } from "../schema/RuleText.ts"
import type { TreasuryFile } from "../schema/TreasuryFile.ts"
import { nameRemedy } from "../yaml/decodeAll.ts"
import type { Reporter } from "../yaml/Reporter.ts"
import type { Path } from "./resolveNames.ts"

const days = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
const timesText = /^([01][0-9]|2[0-3]):([0-5][0-9])-(?:([01][0-9]|2[0-3]):([0-5][0-9])|24:00)$/

/** True if the name is a time zone, such as "Europe/Zurich"; reports a problem otherwise. */
const isLocation = (location: string, path: Path, report: Reporter): boolean => {
  if (Option.isSome(DateTime.zoneMakeNamed(location))) return true
  report.add(path, `"${location}" is not a time zone`, 'name one such as "Europe/Zurich" or "UTC"')
  return false
}

/** The calendars of the file, by name. */
export const resolveHours = (raw: TreasuryFile, report: Reporter): ReadonlyMap<string, Hours> =>
  new Map(
    Object.entries(raw.hours ?? {}).map(([name, { weekdays, times, location }]): [string, Hours] => {
      const path = ["hours", name]
      const spans = asArray(times).flatMap((text) => spanOf(text, [...path, "times"], report))
      const open = new Set(asArray(weekdays).flatMap((text) => daysOf(text, [...path, "weekdays"], report)))
      // Hours with an invalid zone stay known, so that rules that name them are not reported too.
      const zone = isLocation(location, [...path, "location"], report) ? location : "UTC"
      return [name, { name, weekdays: open, spans, location: zone }]
    }),
  )

const daysOf = (text: string, path: Path, report: Reporter): ReadonlyArray<number> => {
  const [first = "", last = first, ...more] = text.split(":")
  const [from, until] = [days.indexOf(first), days.indexOf(last)]
  if (from < 0 || until < 0 || more.length > 0) {
    report.add(path, `"${text}" is not a weekday`, 'write "monday:friday", or a list such as [saturday, sunday]')
    return []
  }
  return Array.from({ length: ((until - from + 7) % 7) + 1 }, (_, i) => (from + i) % 7)
}

const spanOf = (text: string, path: Path, report: Reporter): Hours["spans"] => {
  const match = timesText.exec(text)
  if (match === null) {
    report.add(path, `"${text}" is not a span of hours`, 'write "08:00-18:00", or "22:00-06:00" for a night')
    return []
  }
  const [, h1, m1, h2 = "24", m2 = "0"] = match
  return [{ from: Number(h1) * 60 + Number(m1), until: Number(h2) * 60 + Number(m2) }]
}

/** The maintenance windows of the file. */
export const resolveMaintenance = (raw: TreasuryFile, report: Reporter): ReadonlyArray<Window> =>
  (raw.maintenance ?? []).flatMap(({ name, from, until }, i) => {
    const path = ["maintenance", i]
    const [start, end] = [Date.parse(from), Date.parse(until)]
    if (end <= start) report.add([...path, "until"], `it ends before it begins`, "set until after from")
    return [{ name, from: start, until: end }]
  })

/** The hours that a rule names; undefined where it names none, or ones that are not known. */
export const duringOf = (
  { during }: { readonly during?: string | undefined },
  path: ReadonlyArray<PropertyKey>,
  { hours, report }: { readonly hours: ReadonlyMap<string, Hours>; readonly report: Reporter },
): Hours | undefined => {
  const found = during === undefined ? undefined : hours.get(during)
  if (during !== undefined && found === undefined) {
    const remedy = nameRemedy(during, [...hours.keys()], "add it under hours")
    report.add([...path, "during"], `no hours are named "${during}"`, remedy)
  }
  return found
}

const remedy = 'write minute hour day month weekday, such as "0 9 1 * *" or "0 9 last * *"'

/** The schedule; undefined where its text is wrong, or names a time that never comes. */
export const resolveSchedule = (
  raw: NonNullable<RuleText["schedule"]>,
  path: Path,
  report: Reporter,
): Schedule | undefined => {
  const location = raw.location ?? "UTC"
  const isPlace = isLocation(location, [...path, "location"], report)
  const parsed = plansOf(raw, isPlace ? location : "UTC")
  if (Result.isFailure(parsed)) {
    report.add([...path, "cron"], `"${raw.cron}" is not a plan: ${parsed.failure}`, remedy)
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
  const text = raw.seconds === undefined ? raw.cron : `${raw.cron} at second ${raw.seconds}`
  return { plans: parsed.success, text, location, missed: raw.missed ?? "once", lateMillis }
}

/** The plans of a schedule's text with its location, as `Schedule` has them; undefined where it is none. */
export const readPlans = (written: string): Schedule["plans"] | undefined => {
  const [, cron = "", seconds, location = ""] = /^(.*?)(?: at second (\S+))? (\S+)$/.exec(written) ?? []
  return Result.getOrUndefined(plansOf({ cron, ...(seconds === undefined ? {} : { seconds }) }, location))
}

const fields = 5

/** The word for a month's last day. Other words of the field are numbers, so nothing else is spelled so. */
const last = "last"

/** Parses the plans of a text; fails with the reason. */
const plansOf = (
  { cron: text, seconds = "0" }: Pick<NonNullable<RuleText["schedule"]>, "cron" | "seconds">,
  location: string,
): Result.Result<ReadonlyArray<Plan>, string> => {
  const parts = text.trim().split(/\s+/)
  // With the seconds in front, "0 9 1 * * *" would pay each day instead of each month, and "0 9 1 *" once a year.
  if (parts.length !== fields) return Result.fail(`it has ${parts.length} fields instead of ${fields}`)
  const read = (cron: string) => readCron(`${seconds} ${cron}`, location)
  const at = 2
  const days = (parts[at] ?? "").split(",")
  const others = days.filter((day) => day !== last)
  if (others.length === days.length) return Result.map(read(text), (cron) => [{ cron }])
  const dayIs = (day: string): string => parts.map((part, i) => (i === at ? day : part)).join(" ")
  const weekday = parts[at + 2]
  const model = read(dayIs("1"))
  if (Result.isFailure(model)) return Result.fail(model.failure)
  if (weekday !== "*") return Result.fail(`its weekday "${weekday}" beside ${last}: a last day is any weekday`)
  const lasts = lastDays(model.success)
  if (others.length === 0) return Result.succeed(lasts)
  return Result.map(read(dayIs(others.join(","))), (cron) => [{ cron }, ...lasts])
}

const readCron = (text: string, location: string): Result.Result<Cron.Cron, string> =>
  Result.mapError(Cron.parse(text, zoneOf(location)), ({ message }) => message.toLowerCase())

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

/** True if such a date exists: the search for a missing one throws. */
const comes = ({ cron }: Plan): boolean => {
  try {
    Cron.next(cron, new Date(0))
    return true
  } catch {
    return false
  }
}
