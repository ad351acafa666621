import { longLook, Year, type YearOptions } from "./Year.ts"
import { dayMillis, firstDay, type YearPlan, yearDays } from "./YearWorld.ts"

/** Nothing is planned for this time, so that a vote is known before anything is decided. */
const eventMinute = 725

/** A time in which some payouts cannot be made: until the look at its end. */
export interface Blocked {
  readonly from: number
  readonly until: number
  readonly rules: ReadonlySet<string>
}

const timeOf = (date: string): number => Date.parse(`${date}T00:00:00Z`) + eventMinute * 60_000
const blocked = (from: string, until: string, ...rules: ReadonlyArray<string>): Blocked => ({
  from: timeOf(from),
  until: timeOf(until),
  rules: new Set(rules),
})
const allPayouts = ["night", "small", "monthly", "leapday"]

export const fee = blocked("2028-05-25", "2028-05-28", ...allPayouts)
export const outage = blocked("2028-07-25", "2028-07-29", ...allPayouts)
export const smallest = blocked("2028-03-08", "2028-03-22", "small")
/** Payouts may wait for the next epoch. */
export const scarce = blocked("2028-01-12", "2028-01-19", ...allPayouts)

/** People are told that balances cannot be compared while the network is away. */
export const upgrades = ["2027-11-17", "2028-06-14"].map(timeOf)

/** What happens on these days, before a look of its own. */
const eventsOf = (plan: YearPlan): ReadonlyMap<number, (year: Year) => void> =>
  new Map(
    Object.entries({
      "2027-10-06": (year: Year) => {
        year.kill()
        year.start()
      },
      "2027-11-17": (year: Year) => {
        year.untilSent("hot")
        year.upgrade("0.75", 15)
      },
      "2027-12-01": (year: Year) => year.vote({ feeFactor: "0.002" }),
      "2028-01-12": (year: Year) => year.vote({ transfersPerEpoch: plan.scarceTransfers }),
      "2028-01-13": (year: Year) => {
        year.take("hot")
        year.take("warm")
      },
      "2028-01-19": (year: Year) => year.vote({ transfersPerEpoch: 20 }),
      "2028-02-10": (year: Year) => {
        year.untilSent("warm")
        year.kill()
        year.start()
      },
      "2028-03-08": (year: Year) => year.vote({ minTransferQuantum: "10" }),
      "2028-03-22": (year: Year) => year.vote({ minTransferQuantum: "0.1" }),
      "2028-04-19": (year: Year) => {
        year.vote({ pow: { difficulty: 2, pastBlocks: 50, txPerBlock: 1, increaseDifficulty: true } })
        // What the network asks for is looked at; then nothing is signed for the longer of the two windows.
        year.look(year.time.now() + 1_000, longLook)
        for (let n = 0; n < 101; n++) year.block()
      },
      "2028-05-25": (year: Year) => year.vote({ feeFactor: "0.006" }),
      "2028-05-26": (year: Year) => year.take("hot"),
      "2028-05-28": (year: Year) => year.vote({ feeFactor: "0.001" }),
      "2028-06-14": (year: Year) => {
        year.untilSent("warm")
        year.upgrade("0.79", 15)
      },
      "2028-07-25": (year: Year) => year.kill(),
      "2028-07-29": (year: Year) => year.start(),
    }).map(([date, happens]) => [timeOf(date), happens]),
  )

/** Plays the year of the plan. The daemon still runs at its end. */
export const runYear = (plan: YearPlan, options: Omit<YearOptions, "perDay">): Year => {
  const year = new Year({ ...options, perDay: plan.perDay })
  const events = eventsOf(plan)
  year.start()
  year.look(year.time.now() + 1_000)
  for (let day = 0; day < yearDays; day++) {
    const midnight = firstDay + day * dayMillis
    const event = midnight + eventMinute * 60_000
    const happens = events.get(event)
    const looks = [...plan.looks.map((minute) => midnight + minute * 60_000), ...(happens === undefined ? [] : [event])]
    for (const at of looks.toSorted((a, b) => a - b)) {
      if (at !== event) year.look(at)
      else {
        year.time.passTo(at)
        happens?.(year)
        year.look(year.time.now() + 1_000, longLook)
      }
    }
  }
  return year
}
