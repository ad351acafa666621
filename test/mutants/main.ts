import { appendFileSync, existsSync, readFileSync } from "node:fs"
import { makeDice } from "../support/Dice.ts"
import { type Fail, readFlags } from "../support/Flags.ts"
import { keptMutants } from "./kept.ts"
import type { Mutant, Tried } from "./Mutant.ts"
import { type MechanicalMutant, mechanicalMutants } from "./mechanical.ts"
import { explanationOf, staleExplanations, tryMechanical } from "./tryMechanical.ts"
import { tryMutant } from "./tryMutant.ts"

const usage = `usage: npm run mutants -- [--kept | --mechanical] [--name TEXT] [--draw N [--dice S]] [--seeds N]
                         [--first N] [--until N] [--table FILE] [--workers N] [--patience N] [--list]

Plants mistakes into the money path, one after the other, and says who catches each: a test, or else the simulation.

  --kept        those that somebody made or thought of, each with what must catch it
  --mechanical  every guard negated: conditions of an if, and AND in a statement of the store
  --name        those whose name holds the text
  --draw        so many of them, drawn by --dice (default 1)
  --seeds       of the simulation, for each; default 60. 0: tests alone. One that a test catches needs none
  --workers     processes that try mechanical ones at the same time; default 1
  --patience    seconds of tests that a mechanical one may take; default 120
  --first       the first of them by number, from 1; --until the last: so that a long run can be done in parts
  --table       a file that gets a line of JSON for each; what stands in it is not tried again
  --list        prints them, with their numbers, and tries none`

const flags = readFlags("mutants", usage, {
  name: "",
  draw: undefined,
  dice: "1",
  seeds: "60",
  first: "1",
  until: "999999",
  table: undefined,
  workers: "1",
  patience: "120",
  kept: false,
  mechanical: false,
  list: false,
})
const { values, whole } = flags
const fail: Fail = flags.fail

type Chosen = Mutant & Partial<Pick<MechanicalMutant, "guard">>

const chosen = (): ReadonlyArray<Chosen> => {
  const all: ReadonlyArray<Chosen> = [
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

const mutants = chosen()
if (mutants.length === 0) fail("there is no such mistake")
if (values.list) {
  for (const [i, { name }] of mutants.entries()) console.log(`${String(i + 1).padStart(4)}  ${name}`)
  process.exit(0)
}
const byName = new Map(mutants.map((mutant) => [mutant.name, mutant]))
const explanation = ({ name }: { readonly name: string }) => explanationOf(byName.get(name)?.guard)

const lineOf = (tried: Tried): string => {
  const { name, catch: caught, isRight, seconds, reached, ran } = tried
  if (caught !== undefined) {
    return `${isRight ? "caught" : "WRONGLY CAUGHT"} by ${caught.by}   ${name}   (${seconds} s)\n  ${caught.words}`
  }
  const why = explanation(tried)?.why
  if (why !== undefined) return `explained    ${name}   (${seconds} s)\n  ${why}`
  const tests = reached === undefined ? "" : reached === 0 ? ", NOT REACHED by a test" : `, ${ran} of ${reached} tests`
  return `NOT CAUGHT   ${name}   (${seconds} s${tests})`
}

const seeds = whole("seeds", values.seeds, 0)
const tried = new Map(triedIn(values.table).flatMap((one) => (byName.has(one.name) ? [[one.name, one]] : [])))
const onTried = (one: Tried) => {
  tried.set(one.name, one)
  console.log(lineOf(one))
  if (values.table !== undefined) appendFileSync(values.table, `${JSON.stringify(one)}\n`)
}
const left = mutants.filter(({ name }) => !tried.has(name))
for (const mutant of left) if (mutant.guard === undefined) onTried(await tryMutant(mutant, seeds))
const [workers, millisMax] = [whole("workers", values.workers), 1_000 * whole("patience", values.patience)]
const guards = left.flatMap(({ guard }) => guard ?? [])
await tryMechanical(guards, { seeds, workers, millisMax, onTried })

const all = [...tried.values()]
const by = (who: "simulation" | "test") => all.filter(({ catch: caught }) => caught?.by === who).length
const isHarmless = (one: Tried) => one.catch === undefined && explanation(one) !== undefined
const missed = all.filter((one) => !one.isRight && !isHarmless(one))
for (const { name, catch: caught } of missed) console.log(`${caught === undefined ? "not" : "wrongly"} caught: ${name}`)
const needless = all.filter((one) => one.catch !== undefined && explanation(one) !== undefined)
for (const { name } of needless) console.log(`explained, and yet caught: ${name}`)
const stale = values.mechanical ? staleExplanations() : []
for (const { guard } of stale) console.log(`explained, and not there any more: ${guard}`)
const right = all.filter(({ isRight }) => isRight).length
const share = ((100 * right) / all.length).toFixed(1)
const caughtBy = `by the simulation ${by("simulation")}, by tests ${by("test")}`
const harmless = all.filter(isHarmless).length
console.log(`mistakes ${all.length} caught ${right} (${share} %): ${caughtBy}; explained ${harmless}`)
process.exitCode = missed.length + needless.length + stale.length === 0 ? 0 : 1
