import { DateTime, Option } from "effect"

/** Weekly opening hours in a time zone. */
export interface Hours {
  readonly name: string
  /** 0 is Sunday. */
  readonly weekdays: ReadonlySet<number>
  /** Minutes after midnight, the end excluded; a span whose end is not after its start reaches into the next day. */
  readonly spans: ReadonlyArray<{ readonly from: number; readonly until: number }>
  readonly location: string
}

/** A planned stretch of time in which money, or alerts too, rest. */
export interface Window {
  readonly name: string
  /** Unix milliseconds, the end excluded. */
  readonly from: number
  readonly until: number
}

const minuteMillis = 60_000
const searchMillis = 8 * 86_400_000

interface Known {
  readonly from: number
  readonly until: number
  readonly open: boolean
}
const known = new WeakMap<Hours, Known>()

/** Whether the hours are open, and until when that stays so (Unix milliseconds; at most eight days ahead). */
export const hoursAt = (hours: Hours, now: number): Known => {
  const last = known.get(hours)
  if (last !== undefined && last.from <= now && now < last.until) return last
  const open = isOpen(hours, now)
  // Zones are shifted by whole quarters of an hour, so nothing changes within a minute.
  const minute = Math.floor(now / minuteMillis) * minuteMillis
  let until = minute + minuteMillis
  while (until < minute + searchMillis && isOpen(hours, until) === open) until += minuteMillis
  const found = { from: now, until, open }
  known.set(hours, found)
  return found
}

/** Whether the hours are open at a time (Unix milliseconds). */
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

/** The window that is open now; the one that ends last where several are. */
export const openWindow = (windows: ReadonlyArray<Window>, now: number): Window | undefined =>
  windows.filter(({ from, until }) => from <= now && now < until).toSorted((a, b) => b.until - a.until)[0]
