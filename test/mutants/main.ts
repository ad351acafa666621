import { appendFileSync, existsSync, readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { makeDice } from "../support/Dice.ts"
import { keptMutants } from "./kept.ts"
import type { Mutant, Tried } from "./Mutant.ts"
import { mechanicalMutants } from "./mechanical.ts"
import { tryMutant } from "./tryMutant.ts"

const usage = `usage: npm run mutants -- [--kept | --mechanical] [--name TEXT] [--draw N [--dice S]] [--seeds N]
                         [--first N] [--until N] [--table FILE] [--list]

Plants mistakes into the money path, one after the other, and says who catches each: the simulation, or else a test.

  --kept        those that somebody made or thought of, each with what must catch it
  --mechanical  every guard negated: conditions of an if, and AND in a statement of the store
  --name        those whose name holds the text
  --draw        so many of them, drawn by --dice (default 1)
  --seeds       of the simulation, for each; default 60. 0: tests alone
  --first       the first of them by number, from 1; --until the last: so that a long run can be done in parts
  --table       a file that gets a line of JSON for each; what stands in it is not tried again
  --list        prints them, with their numbers, and tries none`

const fail = (message: string): never => {
  console.error(`mutants: ${message}\n${usage}`)
  process.exit(2)
}

const readArguments = () => {
  try {
    return parseArgs({
      options: {
        kept: { type: "boolean", default: false },
        mechanical: { type: "boolean", default: false },
        name: { type: "string", default: "" },
        draw: { type: "string" },
        dice: { type: "string", default: "1" },
        seeds: { type: "string", default: "60" },
        first: { type: "string", default: "1" },
        until: { type: "string", default: "999999" },
        table: { type: "string" },
        list: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    }).values
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error))
  }
}

const whole = (name: string, text: string): number =>
  /^\d{1,6}$/.test(text) ? Number(text) : fail(`--${name} ${text} is no number`)

const values = readArguments()
if (values.help) {
  console.log(usage)
  process.exit(0)
}

const chosen = (): ReadonlyArray<Mutant> => {
  const all = [
    ...(values.mechanical && !values.kept ? [] : keptMutants),
    ...(values.kept && !values.mechanical ? [] : mechanicalMutants()),
  ]
  const [first, until] = [whole("first", values.first), whole("until", values.until)]
  const named = all.filter(({ name }, i) => name.includes(values.name) && i + 1 >= first && i + 1 <= until)
  if (values.draw === undefined) return named
  const dice = makeDice(`mutants ${values.dice}`)
  const ranked = named.map((one) => ({ one, rank: dice.next() })).toSorted((a, b) => a.rank - b.rank)
  return ranked.slice(0, whole("draw", values.draw)).map(({ one }) => one)
}

const triedIn = (table: string | undefined): ReadonlyArray<Tried> =>
  table === undefined || !existsSync(table)
    ? []
    : readFileSync(table, "utf8")
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Tried)

const lineOf = ({ name, catch: caught, isRight, seconds }: Tried): string => {
  if (caught === undefined) return `NOT CAUGHT   ${name}   (${seconds} s)`
  return `${isRight ? "caught" : "WRONGLY CAUGHT"} by ${caught.by}   ${name}   (${seconds} s)\n  ${caught.words}`
}

const mutants = chosen()
if (mutants.length === 0) fail("there is no such mistake")
if (values.list) {
  for (const [i, { name }] of mutants.entries()) console.log(`${String(i + 1).padStart(4)}  ${name}`)
  process.exit(0)
}
const seeds = whole("seeds", values.seeds)
const known = new Map(triedIn(values.table).map((one) => [one.name, one]))
const tried: Array<Tried> = []
for (const mutant of mutants) {
  const before = known.get(mutant.name)
  const one = before ?? (await tryMutant(mutant, seeds))
  tried.push(one)
  if (before !== undefined) continue
  console.log(lineOf(one))
  if (values.table !== undefined) appendFileSync(values.table, `${JSON.stringify(one)}\n`)
}
const by = (who: "simulation" | "test") => tried.filter(({ catch: caught }) => caught?.by === who).length
const missed = tried.filter(({ isRight }) => !isRight)
for (const { name, catch: caught } of missed) console.log(`${caught === undefined ? "not" : "wrongly"} caught: ${name}`)
const share = ((100 * (tried.length - missed.length)) / tried.length).toFixed(1)
const caughtBy = `by the simulation ${by("simulation")}, by tests ${by("test")}`
console.log(`mistakes ${tried.length} caught ${tried.length - missed.length} (${share} %): ${caughtBy}`)
process.exitCode = missed.length === 0 ? 0 : 1
