import { makeDice } from "../support/Dice.ts"
import { type Fail, readFlags } from "../support/Flags.ts"
import { casesOf } from "./cases.ts"
import { nameOf } from "./LieCase.ts"
import { tryOverHttp } from "./overHttp.ts"
import type { Fault, LieVerdict } from "./runCase.ts"
import { tryAll } from "./tryAll.ts"

const usage = `usage: npm run lies -- [--only TEXT] [--first N] [--count N] [--draw N [--dice S]] [--all] [--http] [--trace] [--told] [--workers N]

  --only     the cases whose name holds this text, or the case of this number
  --first    the first case to be tried, by its place in the list; default 1
  --count    how many
  --draw     this many of them, drawn by --dice (default 1)
  --all      every lie for every time and from every place, instead of the list
  --http     twenty of them over real HTTP, with real threads and seconds: some minutes
  --trace    prints what goes over the wire
  --told     prints what came of each case, also where nothing is wrong`

const flags = readFlags("lies", usage, {
  only: "",
  first: "1",
  count: "99999",
  draw: undefined,
  dice: "1",
  workers: "2",
  all: false,
  trace: false,
  http: false,
  told: false,
})
const { values, whole } = flags
const fail: Fail = flags.fail
if (values.http) process.exit((await tryOverHttp((line) => console.log(line))) > 0 ? 1 : 0)
const first = whole("first", values.first)
const count = whole("count", values.count)
const isMeant = (number: number, name: string) => String(number) === values.only || name.includes(values.only)
const listed = casesOf(values.all)
  .filter((one) => isMeant(one.number, nameOf(one)))
  .slice(first - 1, first - 1 + count)
  .map(({ number }) => number)
const dice = makeDice(`lies ${values.dice}`)
const numbers =
  values.draw === undefined
    ? listed
    : listed
        .map((number) => ({ number, rank: dice.next() }))
        .toSorted((a, b) => a.rank - b.rank)
        .slice(0, whole("draw", values.draw))
        .map(({ number }) => number)
if (numbers.length === 0) fail("no such case")

const began = performance.now()
const sums: Record<Fault, number> = { exit: 0, silent: 0, policy: 0, untold: 0 }
let tried = 0

const hear = ({ number, name, outcome, faults }: LieVerdict): void => {
  tried++
  for (const fault of new Set(faults.map((one) => one.fault))) sums[fault]++
  if (faults.length > 0 || values.told) console.log(`case ${number}: ${name}: ${outcome}`)
  for (const { fault, text } of faults) console.log(`  ${fault}: ${text}`)
  if (faults.length > 0) console.log(`  again: npm run lies -- --all --only ${number} --trace`)
  if (tried % 200 === 0)
    console.log(`${tried} of ${numbers.length}, ${Math.round((performance.now() - began) / 1000)} s`)
}

await tryAll({
  numbers,
  isAll: values.all,
  isTraced: values.trace,
  workers: values.trace ? 1 : whole("workers", values.workers),
  onVerdict: hear,
})
console.log(`${Math.round((performance.now() - began) / 1000)} s`)
if (sums.untold > 0) console.log(`never told ${sums.untold}`)
console.log(`tried ${tried} exits ${sums.exit} silent stops ${sums.silent} outside policy ${sums.policy}`)
process.exitCode = sums.exit + sums.silent + sums.policy + sums.untold > 0 ? 1 : 0
