import { DateTime, Option } from "effect"
import type { Hours, Window } from "../rules/Hours.ts"
import { asArray } from "./Fields.ts"
import { nameRemedy } from "./nearest.ts"
import type { Reporter } from "./Reporter.ts"
import type { Path } from "./resolveNames.ts"
import type { TreasuryFile } from "./TreasuryFile.ts"

const days = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
const timesText = /^([01][0-9]|2[0-3]):([0-5][0-9])-(?:([01][0-9]|2[0-3]):([0-5][0-9])|24:00)$/

/** Whether the name is one of a time zone, such as "Europe/Zurich"; tells where it is not. */
export const isLocation = (location: string, path: Path, report: Reporter): boolean => {
  if (Option.isSome(DateTime.zoneMakeNamed(location))) return true
  report.add(path, `"${location}" is no time zone`, 'name one such as "Europe/Zurich" or "UTC"')
  return false
}

/** The calendars of the file, by name. */
export const resolveHours = (raw: TreasuryFile, report: Reporter): ReadonlyMap<string, Hours> =>
  new Map(
    Object.entries(raw.hours ?? {}).map(([name, { weekdays, times, location }]): [string, Hours] => {
      const path = ["hours", name]
      const spans = asArray(times).flatMap((text) => spanOf(text, [...path, "times"], report))
      const open = new Set(asArray(weekdays).flatMap((text) => daysOf(text, [...path, "weekdays"], report)))
      // With a zone that is none it stays known: rules that name it are not wrong.
      const zone = isLocation(location, [...path, "location"], report) ? location : "UTC"
      return [name, { name, weekdays: open, spans, location: zone }]
    }),
  )

const daysOf = (text: string, path: Path, report: Reporter): ReadonlyArray<number> => {
  const [first = "", last = first, ...more] = text.split(":")
  const [from, until] = [days.indexOf(first), days.indexOf(last)]
  if (from < 0 || until < 0 || more.length > 0) {
    report.add(path, `"${text}" is no weekday`, 'write "monday:friday", or a list such as [saturday, sunday]')
    return []
  }
  return Array.from({ length: ((until - from + 7) % 7) + 1 }, (_, i) => (from + i) % 7)
}

const spanOf = (text: string, path: Path, report: Reporter): Hours["spans"] => {
  const match = timesText.exec(text)
  if (match === null) {
    report.add(path, `"${text}" is no span of hours`, 'write "08:00-18:00", or "22:00-06:00" for a night')
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
    if (Number.isNaN(start)) report.add([...path, "from"], `"${from}" is no time`, "write a date that exists")
    if (Number.isNaN(end)) report.add([...path, "until"], `"${until}" is no time`, "write a date that exists")
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
