import { Cron } from "effect"

/** Planned times of a payout. */
export interface Schedule {
  /** Five fields, or six with seconds, in the schedule's own time zone. */
  readonly cron: Cron.Cron
  /** As written, for people. */
  readonly text: string
  readonly location: string
  /** once: what fell into an outage is made up for, one payment whatever their number; skip: it is let go. */
  readonly missed: "once" | "skip"
}

/** With `missed: skip` a planned time is let go this long after it. */
export const missedAfterMillis = 3_600_000

/** The plan around the last time that was asked for: it is asked for each second and changes rarely. */
interface Around {
  readonly from: number
  readonly until: number
}
const around = new WeakMap<Schedule, Around>()

const look = (schedule: Schedule, now: number): Around => {
  const known = around.get(schedule)
  if (known !== undefined && known.from <= now && now < known.until) return known
  // The search is strict: a time that is planned for this very millisecond is its own past.
  const from = Cron.prev(schedule.cron, new Date(now + 1)).getTime()
  const found = { from, until: firstAfter(schedule.cron, now) }
  around.set(schedule, found)
  return found
}

/** Searching forward passes over all but the first of several times that clocks skip; searching backward does not. */
const firstAfter = (cron: Cron.Cron, now: number): number => {
  let first = Cron.next(cron, new Date(now)).getTime()
  for (;;) {
    const before = Cron.prev(cron, new Date(first)).getTime()
    if (before <= now) return first
    first = before
  }
}

/** The last planned time at or before now, in Unix milliseconds. */
export const plannedUntil = (schedule: Schedule, now: number): number => look(schedule, now).from

/** The first planned time after now, in Unix milliseconds. */
export const plannedAfter = (schedule: Schedule, now: number): number => look(schedule, now).until

/** Whether the planned time is too old to be paid. */
export const isMissed = (schedule: Schedule, planned: number, now: number): boolean =>
  schedule.missed === "skip" && now - planned > missedAfterMillis
