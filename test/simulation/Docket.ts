/** What must hold in a run, by the name under which a violation of it is told. */
export const oracles = {
  disk: "every byte that leaves is on disk first, its send begun, no transaction open",
  ended: "no byte leaves whose attempt has come to its end",
  places: "no more transactions name one block than the network takes",
  known: "what our keys executed is known to the store",
  once: "each payment executes at most once",
  truth: "the store's word on each payment, amount, receiver and fee included, is the ledger's",
  end: "once the trouble is over each payment comes to its end, or waits for a person",
  foreign:
    "no payment of ours is taken for one made elsewhere, and each that was is noted with a halt; none of another treasury in the process is in the store",
  alert: "what ends otherwise than paid, or waits for a person, has its alert",
  journal: "the journal is whole from its first entry to its last",
  policy: "no transfer above the policy's limits, in one or in a day, none to anybody else, no other command",
  terms: "no payment is signed above the terms that were in force, and none weaker came into force alone",
  floor: "no account falls below its floor by our payments",
  filled: "no account is filled above what its rule fills it to",
  planned: "no planned time is paid ahead or twice, and each is paid or told",
  approved: "no payment that operators must approve executes without as many signatures",
  stop: "no send begins under a halt or a pause",
  left: "no attempt is signed for a payment that waits for a person or has ended",
  taken: "what was taken from a person is known at the end",
  replay: "what a third party makes execute again is noted in time, with a halt and a page, and nothing else is",
  called: "an open payment calls people within its bound, whatever fails meanwhile",
  told: "each alert reaches its receivers once they answer again",
  on: "no process ends by itself, and once the trouble is over nothing holds: an account that is emptied is filled",
} as const

export type Oracle = keyof typeof oracles
export const oracleNames = Object.keys(oracles) as ReadonlyArray<Oracle>

/** How often something happened, or could have been found, by its name. */
export type Counts = Readonly<Record<string, number>>

export const addCounts = (one: Counts, other: Counts): Counts => {
  const sums: Record<string, number> = { ...one }
  for (const [name, count] of Object.entries(other)) sums[name] = (sums[name] ?? 0) + count
  return sums
}

/** What was found in one run, and how often it could have been. */
export interface Docket {
  readonly wrong: (oracle: Oracle, words: string) => void
  /** The oracle was asked about something that could have been wrong. */
  readonly chance: (oracle: Oracle, times?: number) => void
  /** Something of the world happened. */
  readonly event: (name: string, times?: number) => void
  /** Each begins with its oracle's name. */
  readonly violations: ReadonlyArray<string>
  readonly chances: Counts
  readonly events: Counts
}

export const makeDocket = (): Docket => {
  const violations: Array<string> = []
  const chances: Record<string, number> = {}
  const events: Record<string, number> = {}
  const add = (counts: Record<string, number>, name: string, times: number): void => {
    if (times > 0) counts[name] = (counts[name] ?? 0) + times
  }
  return {
    violations,
    chances,
    events,
    wrong: (oracle, words) => void violations.push(`${oracle}: ${words}`),
    chance: (oracle, times = 1) => add(chances, oracle, times),
    event: (name, times = 1) => add(events, name, times),
  }
}
