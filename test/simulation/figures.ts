import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { addCounts, type Counts, oracleNames } from "./Docket.ts"
import type { Verdict } from "./runSeed.ts"

/** What runs of the simulation counted together. */
export interface Sums {
  readonly seeds: number
  /** Runs in which something was wrong. */
  readonly violations: number
  /** By oracle: how often it could have found something. */
  readonly chances: Counts
  /** By event: how often it happened. */
  readonly events: Counts
}

/** An event that is the answer to another one, and no kind of its own: "submit: failed". */
const isOutcome = (name: string): boolean => name.includes(": ") || name.includes("answered")

const column = (counts: Counts, names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.map((name) => `  ${String(counts[name] ?? 0).padStart(9)}  ${name}`)

export const makeFigures = () => {
  let chances: Counts = {}
  let events: Counts = {}
  let [seeds, violations] = [0, 0]
  return {
    add: (verdict: Verdict) => {
      seeds++
      if (verdict.violations.length > 0) violations++
      chances = addCounts(chances, verdict.chances)
      events = addCounts(events, verdict.events)
    },
    sums: (): Sums => ({ seeds, violations, chances, events }),
    lines: (kinds = Object.keys(events).toSorted()): ReadonlyArray<string> => [
      "what happened, how often:",
      ...column(
        events,
        kinds.filter((name) => !isOutcome(name)),
      ),
      "what came of what people asked for, how often:",
      ...column(events, kinds.filter(isOutcome)),
      "what each oracle could have found, how often:",
      ...column(chances, oracleNames),
    ],
  }
}

/** One command's figures, as they are kept. */
interface Kept extends Sums {
  /** Which gateways, which seeds. */
  readonly name: string
  readonly seconds: number
}

/** Puts a command's figures into a file of them; what the file has under the same name is replaced. */
export const addFigures = (file: string, one: Kept): void => {
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as ReadonlyArray<Kept>) : []
  const all = [...before.filter(({ name }) => name !== one.name), one]
  writeFileSync(file, `${JSON.stringify(all, undefined, 2)}\n`)
}
