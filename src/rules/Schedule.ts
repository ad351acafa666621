import { Cron, DateTime, Option } from "effect"
import { dayMillis } from "../domain/Time.ts"

/** Weekly opening hours in a time zone. */
export interface Hours {
  readonly name: string
  /** 0 is Sunday. */
  readonly weekdays: ReadonlySet<number>
  /** Minutes after midnight, the end excluded; a span whose end is not after its start reaches into the next day. */
  readonly spans: ReadonlyArray<{ readonly from: number; readonly until: number }>
  readonly location: string
}

/** A maintenance window, in which rules pay nothing. */
export interface Window {
  readonly name: string
  /** Unix milliseconds, the end excluded. */
  readonly from: number
  readonly until: number
}

const minuteMillis = 60_000
const searchMillis = 8 * dayMillis

interface Known {
  readonly from: number
  readonly until: number
  readonly open: boolean
}
const known = new WeakMap<Hours, Known>()

/** The largest step, in minutes, that passes over no edge of the hours: zones are shifted by whole quarters. */
const stepOf = ({ spans }: Hours): number => spans.flatMap(({ from, until }) => [from, until]).reduce(divisorOf, 15)

const divisorOf = (a: number, b: number): number => (b === 0 ? a : divisorOf(b, a % b))

/** Returns if the hours are open, and until when that stays so (Unix milliseconds; at most eight days ahead). */
export const hoursAt = (hours: Hours, now: number): Known => {
  const last = known.get(hours)
  if (last !== undefined && last.from <= now && now < last.until) return last
  const open = isOpen(hours, now)
  const step = stepOf(hours) * minuteMillis
  const begin = Math.floor(now / step) * step
  let until = begin + step
  while (until < begin + searchMillis && isOpen(hours, until) === open) until += step
  const found = { from: now, until, open }
  known.set(hours, found)
  return found
}

/** True if the hours are open at a time (Unix milliseconds). */
export const isOpen = (hours: Hours, at: number): boolean => {
  const zoned = Option.getOrThrow(DateTime.makeZoned(at, { timeZone: hours.location }))
  const { weekDay, hour, minute } = DateTime.toParts(zoned)
  const time = hour * 60 + minute
  const before = (weekDay + 6) % 7
  return hours.spans.some(({ from, until }) =>
    from < until
      ? hours.weekdays.has(weekDay) && time >= from && time < until
      : (hours.weekdays.has(weekDay) && time >= from) || (hours.weekdays.has(before) && time < until),
  )
}

/** The open window; of several, the one that ends last. */
export const openWindow = (windows: ReadonlyArray<Window>, now: number): Window | undefined =>
  windows.filter(({ from, until }) => from <= now && now < until).toSorted((a, b) => b.until - a.until)[0]

/** Times that one cron line plans, in the zone that it was read with. */
export interface Plan {
  readonly cron: Cron.Cron
  /** True: skips leap years. Set where February 28 stands for the last day of the month. */
  readonly commonYears?: boolean
}

/** Planned times of a payout. */
export interface Schedule {
  /** The plan as written; where "last" is a day of it, also one plan for each length of a month. At least one. */
  readonly plans: ReadonlyArray<Plan>
  /** Five fields, or six with seconds, as written, for people. */
  readonly text: string
  readonly location: string
  /** Times missed in an outage. once: one payment covers all of them; skip: they are dropped. */
  readonly missed: "once" | "skip"
  /** Time after the planned one at which "skip" drops the payment, and "once" alerts that it still waits. */
  readonly lateMillis: number
}

type Planned = Pick<Schedule, "plans">

/** `lateMillis` of a schedule that sets none. */
export const defaultLateMillis = 3_600_000

const isLeap = (millis: number): boolean => {
  const year = new Date(millis).getUTCFullYear()
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}

const nextOf = ({ cron, commonYears }: Plan, after: number): number => {
  let at = Cron.next(cron, new Date(after)).getTime()
  while (commonYears === true && isLeap(at)) at = Cron.next(cron, new Date(at + dayMillis)).getTime()
  return at
}

const prevOf = ({ cron, commonYears }: Plan, before: number): number => {
  let at = Cron.prev(cron, new Date(before)).getTime()
  while (commonYears === true && isLeap(at)) at = Cron.prev(cron, new Date(at - dayMillis)).getTime()
  return at
}

const nextTime = ({ plans }: Planned, after: number): number => Math.min(...plans.map((plan) => nextOf(plan, after)))

/** The last planned time before the given one, in Unix milliseconds. */
const prevTime = ({ plans }: Planned, before: number): number => Math.max(...plans.map((plan) => prevOf(plan, before)))

/** Cache of the planned times around the last requested one: they are read each second and change rarely. */
interface Span {
  readonly from: number
  readonly until: number
}
const cachedSpans = new WeakMap<Schedule, Span>()

const spanAt = (schedule: Schedule, now: number): Span => {
  const known = cachedSpans.get(schedule)
  if (known !== undefined && known.from <= now && now < known.until) return known
  // The search finds earlier times only: now itself, if it is planned, counts as past.
  const from = prevTime(schedule, now + 1)
  const found = { from, until: firstAfter(schedule, now) }
  cachedSpans.set(schedule, found)
  return found
}

/**
 * The first planned time after the given one. Searching forward passes over all but the first of
 * several times that clocks skip; searching backward does not.
 */
export const firstAfter = (schedule: Planned, now: number): number => {
  let first = nextTime(schedule, now)
  for (;;) {
    const before = prevTime(schedule, first)
    if (before <= now) return first
    first = before
  }
}

/** The same as `plannedUntil`, without a cache. */
export const lastUntil = (plans: Schedule["plans"], now: number): number => prevTime({ plans }, now + 1)

/** The last planned time at or before now, in Unix milliseconds. */
export const plannedUntil = (schedule: Schedule, now: number): number => spanAt(schedule, now).from

/** The first planned time after now, in Unix milliseconds. */
export const plannedAfter = (schedule: Schedule, now: number): number => spanAt(schedule, now).until

/** Planned times after the given one, in their order, without end; of several that clocks skip only the first. */
export const timesAfter = function* (schedule: Schedule, after: number): Iterable<number> {
  for (let at = nextTime(schedule, after); ; at = nextTime(schedule, at)) yield at
}

/**
 * The due time after `done` to be paid now, in Unix milliseconds, and those that were not paid and are too old. Once:
 * the newest stands for all of them. Skip: each by itself, the oldest first, while it is not late.
 */
export const dueAfter = (schedule: Schedule, done: number, now: number) => {
  const newest = plannedUntil(schedule, now)
  if (newest <= done) return { planned: undefined, missedTimes: undefined }
  if (schedule.missed === "once") return { planned: newest, missedTimes: undefined }
  const late = now - schedule.lateMillis
  if (done >= late) return { planned: firstAfter(schedule, done), missedTimes: undefined }
  const planned = newest < late ? undefined : firstAfter(schedule, late - 1)
  const last = prevTime(schedule, late)
  return { planned, missedTimes: last > done ? { first: firstAfter(schedule, done), last } : undefined }
}

/** First and last of the planned times that were not paid and are too old. Unix milliseconds. */
export interface MissedTimes {
  readonly first: number
  readonly last: number
}
