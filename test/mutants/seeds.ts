/** Runs seeds with the edits that stand on standard input, until one shows a violation; prints what it shows. */
import { readFileSync } from "node:fs"
import type { Edit } from "../simulation/planted.ts"
import type { Verdict } from "../simulation/runSeed.ts"
import { seedsFrom, simulate } from "../simulation/simulate.ts"

const { edits, seeds } = JSON.parse(readFileSync(0, "utf8")) as {
  readonly edits: ReadonlyArray<Edit>
  readonly seeds: number
}
const isCaught = ({ violations }: Verdict) => violations.length > 0
const verdicts = await simulate({
  // Most with honest gateways, an eighth with hostile ones and with one that lies.
  asked: seedsFrom(1, seeds).map((seed) => ({
    seed,
    gateways: seed % 8 === 0 ? "lying" : seed % 8 === 4 ? "hostile" : "honest",
  })),
  workers: 2,
  edits,
  enough: isCaught,
})
const caught = verdicts.find(isCaught)
console.log(JSON.stringify({ words: caught && `seed ${caught.seed}: ${caught.violations[0]}` }))
