import type { FaultSpec } from "../../src/sandbox/Faults.ts"
import { profileNames } from "../../src/sandbox/Profiles.ts"
import { longLook, Year, type YearOptions } from "./Year.ts"
import { dayMillis, firstDay, wholeYear, type YearPlan, yearScenario } from "./YearWorld.ts"

export const monthDays = 30
export const monthProfiles = ["0.74", "0.75"] as const
export type MonthProfile = (typeof monthProfiles)[number]
export const isMonthProfile = (text: string): text is MonthProfile => monthProfiles.some((one) => one === text)

/** The treasury of the year, asked for more often, and with a part of each day in which time runs. */
export const monthPlan: YearPlan = { ...wholeYear, perDay: [8_000_000_000n, 5_000_000_000n, 9_000_000_000n] }
/** From noon on, a block a second for so long. */
const liveMinute = 725
const liveSeconds = 120
/** On these days it lasts longer than what is known of the network may be old, and a payment follows. */
const longDays: ReadonlySet<number> = new Set([3, 20])
const longSeconds = 900
/** What a request is under way on days of lag. */
const latencyMillis = 150

/** A time in which payments may wait: the network or the daemon is away, or does not say what is asked for. */
export interface Away {
  readonly from: number
  readonly until: number
}

/** The poll after an outage is done by then. */
export const pollMillis = 3_000

const lag: FaultSpec = { operation: "any", kind: "lagging_replica", blocks: 2, rate: 0.3 }
const slow: FaultSpec = { operation: "any", kind: "delay", delayMillis: 900, rate: 0.3 }
const lost: FaultSpec = { operation: "submit", kind: "accept_drop_answer", rate: 0.5 }
const silent: FaultSpec = { operation: "parameters", kind: "http_status", status: 503, rate: 1 }
const blind: FaultSpec = { operation: "height", kind: "http_status", status: 503, rate: 1 }

/** A month of the daemon, and when something was away. */
export interface Month {
  readonly year: Year
  readonly aways: ReadonlyArray<Away>
  /** The poll after each silence of hours between two looks, in which nobody woke: what is known then is old. */
  readonly polls: ReadonlyArray<Away>
}

/** Something is away while `happens` goes on, and for these milliseconds after it; undefined: nothing is away. */
export interface Event {
  readonly happens: (year: Year) => void
  readonly awayMillis: number | undefined
}
export const event = (happens: Event["happens"]): Event => ({ happens, awayMillis: undefined })
export const away = (happens: Event["happens"]): Event => ({ happens, awayMillis: pollMillis })
/** A daemon that was started has read nothing, and must compare its balances first. */
const start = (happens: Event["happens"]): Event => ({ happens, awayMillis: longLook * 1_000 })

/** What happens at noon of these days of the month. */
const eventsOf = (profile: MonthProfile): ReadonlyMap<number, Event> =>
  new Map([
    [2, event((year) => year.disturb(lag))],
    [4, event((year) => year.calm())],
    [5, event((year) => year.vote({ feeFactor: "0.002" }))],
    [7, away((year) => withFault(year, silent, 45))],
    [
      8,
      away((year) => {
        year.untilSent("hot")
        year.outage(40)
      }),
    ],
    [10, event((year) => year.disturb(slow))],
    [11, event((year) => year.calm())],
    [12, event((year) => year.vote({ minTransferQuantum: "1" }))],
    [13, away((year) => withFault(year, blind, 30))],
    [
      14,
      start((year) => {
        year.untilSent("warm")
        year.kill()
        year.time.passTo(year.time.now() + 10 * 3_600_000)
        year.start()
      }),
    ],
    [16, event((year) => year.disturb(lost))],
    [18, event((year) => year.calm())],
    [19, event((year) => year.vote({ feeFactor: "0.001" }))],
    [
      21,
      away((year) => {
        year.untilSent("hot")
        year.upgrade(profileNames[profileNames.indexOf(profile) + 1] ?? profile, 15)
      }),
    ],
    [23, event((year) => year.vote({ transfersPerEpoch: 30 }))],
    [25, away((year) => year.outage(300))],
    [27, event((year) => year.disturb({ ...lag, blocks: 1, rate: 1 }))],
    [28, event((year) => year.calm())],
  ])

/** Nobody hears of what is asked for, minute by minute. */
const withFault = (year: Year, fault: FaultSpec, minutes: number): void => {
  year.disturb(fault)
  for (let n = 0; n < minutes; n++) {
    year.waitMinutes(1)
    year.block()
  }
  year.calm()
}

/** So many seconds with a block each. */
export const live = (year: Year, seconds: number): void => {
  for (let n = 0; n < seconds; n++) year.second()
}

/** Days of the treasury, and what happens at noon of some. */
export interface Days {
  readonly count: number
  readonly events: ReadonlyMap<number, Event>
  /** At noon of each day, once what happens has happened. */
  readonly after: (year: Year, day: number) => void
}

/** Plays thirty days on a network of the profile. The daemon still runs at their end. */
export const runMonth = (profile: MonthProfile, options: Omit<YearOptions, "perDay" | "scenario">): Month =>
  runDays(profile, options, {
    count: monthDays,
    events: eventsOf(profile),
    after: (year, day) => {
      if (!longDays.has(day)) return
      live(year, longSeconds)
      year.take("hot")
      live(year, liveSeconds)
    },
  })

/** Plays the days. The daemon still runs at their end. */
export const runDays = (
  profile: MonthProfile,
  options: Omit<YearOptions, "perDay" | "scenario">,
  { count, events, after }: Days,
): Month => {
  const scenario = yearScenario.replace('profile: "0.74"', `profile: "${profile}"`)
  const year = new Year({ ...options, scenario, latencyMillis, perDay: monthPlan.perDay })
  const polls: Array<Away> = []
  const begins = year.time.now()
  year.start()
  year.look(begins + 1_000, longLook)
  // A new daemon has read nothing, and compared no balance yet.
  const aways: Array<Away> = [{ from: begins, until: year.time.now() }]
  for (let day = 0; day < count; day++) {
    const midnight = firstDay + day * dayMillis
    const noon = midnight + liveMinute * 60_000
    const looks = [...monthPlan.looks.map((minute) => midnight + minute * 60_000), noon]
    for (const at of looks.toSorted((a, b) => a - b)) {
      if (at < year.time.now()) continue
      polls.push({ from: at, until: at + pollMillis })
      if (at !== noon) year.look(at, longLook)
      else {
        year.time.passTo(at)
        const now = events.get(day)
        now?.happens(year)
        const end = year.time.now() + 1_000
        if (now?.awayMillis !== undefined) aways.push({ from: at, until: end + now.awayMillis })
        year.look(end, longLook)
        live(year, liveSeconds)
        after(year, day)
      }
    }
  }
  return { year, aways, polls }
}
