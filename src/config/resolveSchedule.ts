import { Cron, Result } from "effect"
import type { Schedule } from "../rules/Schedule.ts"
import type { Reporter } from "./Reporter.ts"
import type { RuleText } from "./RuleText.ts"
import { isLocation } from "./resolveHours.ts"
import type { Path } from "./resolveNames.ts"

const fields = ["minute", "hour", "day", "month", "weekday"]
const remedy = 'write minute hour day month weekday, such as "0 9 1 * *"'

/** The plan, where it is one that comes again and again. */
export const resolveSchedule = (
  raw: NonNullable<RuleText["schedule"]>,
  path: Path,
  report: Reporter,
): Schedule | undefined => {
  const location = raw.location ?? "UTC"
  const isPlace = isLocation(location, [...path, "location"], report)
  const parsed = Cron.parse(raw.cron, isPlace ? location : "UTC")
  if (Result.isFailure(parsed)) {
    report.add([...path, "cron"], `"${raw.cron}" is no plan: ${reasonOf(raw.cron)}`, remedy)
    return undefined
  }
  if (!comes(parsed.success)) {
    report.add(
      [...path, "cron"],
      `"${raw.cron}" never comes`,
      "name a day that its months have, such as 28 in February",
    )
    return undefined
  }
  if (!isPlace) return undefined
  return { cron: parsed.success, text: raw.cron, location, missed: raw.missed ?? "once" }
}

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
const comes = (cron: Cron.Cron): boolean => {
  try {
    Cron.next(cron, new Date(0))
    return true
  } catch {
    return false
  }
}
