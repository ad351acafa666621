import { root } from "../support/Cofferer.ts"
import { guards } from "./guards.ts"
import { planter } from "./planter.ts"

/** Puts one mistake of `guards.ts`, named by PLANTED, into the product while one test file runs. */
const one = guards.find(({ name }) => name === process.env["PLANTED"])
if (one === undefined) throw new Error(`PLANTED names no mistake: ${process.env["PLANTED"]}`)

export default {
  root,
  plugins: [planter(one.edits)],
  // What was transformed for another mistake, or for none, must not be taken for this one.
  test: { fsModuleCache: false, include: [one.test], testNamePattern: one.title, maxWorkers: 1, testTimeout: 300_000 },
}
