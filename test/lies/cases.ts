import { type Falsehood, falsehoods, type Operation } from "../simulation/falsehoods.ts"
import { beginnings, durations, type LieCase, settings } from "./LieCase.ts"

/** Nobody asks for these in the treasury of the list, or there are none. */
const unasked: ReadonlySet<Operation> = new Set(["epoch", "withdrawal", "withdrawals"])

/**
 * True in the network of the list: all transfers are done, no page has two of them, submissions name block 0, and its
 * first epoch lasts longer than a case.
 */
const noLies: ReadonlySet<string> = new Set([
  "transfers id: shifted by a row",
  "transfers status: shifted by a row",
  "transfers rows: rows backwards",
  "submit height: 0",
  "submit height: 3 behind",
  "submit height: 30 behind",
  "submit height: doubled",
  "spam epochSeq: 1",
])

const told: ReadonlyArray<Falsehood> = falsehoods.filter(
  ({ operation, name }) => !unasked.has(operation) && !noLies.has(name),
)

const combinations = settings.flatMap((setting) =>
  durations.flatMap((duration) => beginnings.map((beginning) => ({ setting, duration, beginning }))),
)

/** Every lie, for each time, from each place, and from each beginning. */
const everything: ReadonlyArray<LieCase> = told
  .flatMap((falsehood) => combinations.map((combination) => ({ falsehood, ...combination })))
  .map((one, index) => ({ number: index + 1, ...one }))

/** What no decoder reads, in whatever field: one of these for each field is enough, a different one for the next. */
const formless = ["empty text", "an object", "a list", "1.5", '"1.5"', "1e30", "NaN", "2^64", "-2^63", "-1"]
/** One and the same reader of headers stands before all operations: but for rows of balances, each has its own few. */
const headersKept = 4

const fieldOf = ({ name }: Falsehood): string => name.split(": ")[0] ?? name
const wayOf = ({ name }: Falsehood): string => name.split(": ").at(-1) ?? name
const isHeader = ({ name }: Falsehood): boolean => / X-Block-/.test(name)
/** Two fields in each other's place: each of these is the only one of its kind. */
const isSwap = ({ name }: Falsehood): boolean => name.endsWith(" swapped")
const fields = [...new Set(told.map(fieldOf))]

/** The chain's head says what is signed, when it is dead, and how hard it is to send. */
const isGrave = ({ operation }: Falsehood): boolean => operation === "height"
/** Asked once a minute, and at the start: half of these lies are told there. */
const rare: ReadonlySet<Operation> = new Set(["statistics", "spam", "parameters"])
/** Of so many lies one is told by one of three gateways too. */
const amongThree = 8

/** Each lie that no other stands for, in order. */
const kept: ReadonlyArray<Falsehood> = told.filter((one, index) => {
  const field = fields.indexOf(fieldOf(one))
  const form = formless.indexOf(wayOf(one))
  if (form >= 0) return form === field % formless.length
  return !isHeader(one) || one.operation === "balanceChanges" || index % headersKept === 0
})

const beginningsOf = (one: Falsehood, index: number): ReadonlyArray<LieCase["beginning"]> => {
  if (rare.has(one.operation)) return index % 4 === 0 ? ["midway"] : ["from the start"]
  return index % 4 === 0 && isGrave(one) ? ["midway", "from the start"] : ["midway"]
}

const timeOf = (turn: number): LieCase["duration"] => durations[turn % durations.length] ?? "one answer"

/**
 * The cases of the list: of the kept lies two in three alone, their time changing from one pair to the next, the grave
 * ones all and for all times; and some of them also from one of three gateways.
 */
const isListed = ({ falsehood, setting, duration, beginning }: LieCase): boolean => {
  const index = kept.indexOf(falsehood)
  if (index < 0 || !beginningsOf(falsehood, index).includes(beginning)) return false
  if (setting === "one of three") return index % amongThree === 0 && duration === timeOf(index / amongThree)
  if (isGrave(falsehood)) return beginning === "midway" || duration === timeOf(index)
  return (index % 3 !== 1 || isSwap(falsehood)) && duration === timeOf(Math.floor(index / 3))
}

const listed: ReadonlyArray<LieCase> = everything.filter(isListed)

export const casesOf = (isAll: boolean): ReadonlyArray<LieCase> => (isAll ? everything : listed)
