import type { Scenario } from "../../src/sandbox/Scenario.ts"
import { away, type Days, type Event, event, live } from "./runMonth.ts"
import { longLook, type Year } from "./Year.ts"

/** A machine that slept reads what it missed first, as one that was started does. */
const woken = (happens: Event["happens"]): Event => ({ happens, awayMillis: longLook * 1_000 })

/** Some blocks more than a change of the work makes payments wait for. */
const settledBlocks = 20
const sparseHours = 10
/** The rows of a week are read by then. */
const caughtUpMillis = 15_000

/** The work that the network of the year asks for at its beginning. */
const firstWork: Scenario["pow"] = { difficulty: 1, pastBlocks: 100, txPerBlock: 2, increaseDifficulty: false }

/** A vote on the work, after which payments wait for the longer of the two windows: this alone is asked for. */
const workVote =
  (pow: Partial<Scenario["pow"]>) =>
  (year: Year): void => {
    const before = year.network.chain.scenario.pow
    const after = { ...before, ...pow }
    year.vote({ pow: after })
    year.look(year.time.now() + 1_000, longLook)
    live(year, Math.max(before.pastBlocks, after.pastBlocks) + settledBlocks)
  }

/** A legal vote on each parameter that payments depend on, one a day; the first five are the work's. */
const votes: ReadonlyArray<Event> = [
  away(workVote({ difficulty: 2 })),
  away(workVote({ pastBlocks: 500 })),
  away(workVote({ txPerBlock: 1 })),
  away(workVote({ increaseDifficulty: true })),
  away((year) => {
    year.untilSent("hot")
    workVote(firstWork)(year)
  }),
  event((year) => year.vote({ transfersPerEpoch: 30 })),
  event((year) => year.vote({ feeFactor: "0.002" })),
  event((year) => year.vote({ feeMaxQuantum: "2000" })),
  event((year) => year.vote({ minTransferQuantum: "1" })),
  event((year) => year.vote({ minWithdrawalQuantum: "20" })),
]

/** Hours in which no block is empty: one for each payment of somebody, the newest hours old when one is due. */
const sparseDay = (year: Year): void => {
  for (let hour = 0; hour < sparseHours; hour++) {
    year.time.passTo(year.time.now() + 3_540_000)
    year.sparse(10)
    if (hour % 3 === 2) year.take("hot")
    year.sparse(50)
  }
}

const days = (events: ReadonlyArray<Event>, more = 1): Days => ({
  count: 1 + events.length + more,
  events: new Map(events.map((one, i) => [i + 1, one])),
  // Each day a payment is due once all is as it was, and nothing may hold it.
  after: (year) => {
    year.take("hot")
    live(year, 30)
  },
})

export const calmNames = ["outage", "sparse", "votes", "night"] as const
export type CalmName = (typeof calmNames)[number]
export const isCalmName = (text: string): text is CalmName => calmNames.some((one) => one === text)

/** What is no lie and no attack, in its whole length or in one that a test can wait for. */
export const calmDays = (name: CalmName, isShort: boolean): Days => {
  const blocksPerHour = isShort ? 2 : 60
  switch (name) {
    case "outage":
      return days([{ happens: (year) => year.apart(168, blocksPerHour), awayMillis: caughtUpMillis }], 8)
    case "sparse":
      return days([event(sparseDay)])
    case "votes":
      return days(isShort ? votes.slice(0, 1).concat(votes.slice(5, 7)) : votes)
    case "night":
      return days([
        woken((year) => {
          year.sleep(8, blocksPerHour)
          year.take("hot")
        }),
        woken((year) => {
          year.untilSent("hot")
          year.sleep(12, blocksPerHour)
        }),
      ])
  }
}

/**
 * What people may hear of in a scenario: where no block comes for an hour, rows do not reach the block of a listing,
 * balances cannot be compared, and what was spent is not filled meanwhile.
 */
export const mayHear: Readonly<Record<CalmName, RegExp | undefined>> = {
  outage: undefined,
  sparse: /^people heard of health (not compared|out of band) /,
  votes: undefined,
  night: undefined,
}
