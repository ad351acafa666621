import type { DatabaseSync } from "node:sqlite"
import { transferId } from "../../src/tx/Transaction.ts"
import { type Book, keyIn, plainBook, unit } from "./Book.ts"
import type { Docket } from "./Docket.ts"
import { problemOfSubmission } from "./Judge.ts"
import type { Network } from "./Network.ts"
import type { People } from "./People.ts"
import type { Plan } from "./Plan.ts"
import { anchorOf, decodedOf } from "./ThirdParty.ts"

interface Around {
  readonly plan: Plan
  readonly network: Network
  readonly docket: Docket
  readonly people: People
  /** Every book of the run. */
  readonly books: ReadonlyArray<Book>
  /** Whether balances are what our payments make of them, and are read as they are. */
  readonly isPlain: () => boolean
}

/** What is looked at while a run goes on. */
export interface Watch {
  /** Bytes that are about to leave a process. */
  readonly submission: (bytes: Uint8Array, db: DatabaseSync | undefined) => void
  /** The ledger after a block. */
  readonly balances: () => void
}

/** Watches one run. */
export const makeWatch = ({ plan, network, docket, people, books, isPlain }: Around): Watch => {
  const { chain } = network
  const [book = plainBook] = books
  const reserve = keyIn(book, "reserve")
  const overfilled = new Set<string>()
  const places = new Map<string, Set<string>>()
  const most = (of: (book: Book) => number): bigint => BigInt(Math.max(...books.map(of))) * unit
  const targets = new Map([
    [keyIn(book, "hot"), { name: "hot", target: most(({ targets }) => targets[0]) }],
    [keyIn(book, "warm"), { name: "warm", target: most(({ targets }) => targets[1]) }],
  ])
  const floors = books.flatMap(({ floor }) => (floor === undefined ? [] : [BigInt(floor) * unit]))
  const [floor] = floors
  const here = () => `(block ${chain.height})`

  const watchPlaces = (bytes: Uint8Array): void => {
    const wire = decodedOf(bytes)
    if (wire === undefined || plan.gateways !== "honest") return
    const name = `${wire.from.value ?? ""} ${anchorOf(bytes)}`
    const known = places.get(name) ?? new Set()
    places.set(name, known.add(transferId(wire.signature?.value ?? "")))
    docket.chance("places")
    if (known.size > plan.txPerBlock)
      docket.wrong("places", `${known.size} transactions name one block, which takes ${plan.txPerBlock} ${here()}`)
  }

  const watchFloor = (party: string, balance: bigint): void => {
    if (party !== reserve || floor === undefined) return
    docket.chance("floor")
    if (balance < floor) docket.wrong("floor", `the reserve holds ${balance}, its floor is ${floor} ${here()}`)
  }

  return {
    submission: (bytes, db) => {
      docket.chance("disk")
      docket.chance("ended")
      const problem = problemOfSubmission(db, bytes)
      if (problem !== undefined) {
        const [, oracle, words] = /^(disk|ended): (.*)$/.exec(problem) as unknown as [string, "disk" | "ended", string]
        docket.wrong(oracle, `${words} ${here()}`)
      }
      watchPlaces(bytes)
    },
    balances: () => {
      if (!isPlain()) return
      for (const { party, type, balance } of chain.ledger.accounts.values()) {
        if (type !== "ACCOUNT_TYPE_GENERAL") continue
        watchFloor(party, balance)
        const filled = targets.get(party as never)
        if (filled === undefined) continue
        docket.chance("filled")
        const target = filled.target + people.handedIn(filled.name)
        if (balance <= target || overfilled.has(party)) continue
        overfilled.add(party)
        docket.wrong("filled", `an account holds ${balance}, its rule fills it to ${target} ${here()}`)
      }
    },
  }
}
