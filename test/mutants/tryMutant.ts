import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { root } from "../support/Cofferer.ts"
import type { Catch, Mutant, Tried } from "./Mutant.ts"
import { run, within } from "./run.ts"

/** A mistake may let a run go on for ever; a seed takes two seconds of a busy machine. */
const simulationMillis = (seeds: number): number => 120_000 + 6_000 * seeds
const testsMillisMax = 900_000
const wordsMax = 300

/** Source that does not hold what was to be replaced: then nothing was tried. */
const neverMade = / holds (\d+ times, not once|something else at)/

const node = join(root, "node_modules/.bin/node")

/** The first violation that a seed shows with it. */
export const inSimulation = async ({ edits }: Mutant, seeds: number): Promise<Catch | undefined> => {
  const args = ["--disable-warning=ExperimentalWarning", join(root, "test/mutants/seeds.ts")]
  const input = JSON.stringify({ edits, seeds })
  const millisMax = simulationMillis(seeds)
  const { stdout, stderr, status, isLate } = await run(node, args, { input, ...within(millisMax) })
  if (neverMade.test(stderr)) throw new Error(stderr.slice(0, wordsMax))
  if (isLate) return { by: "simulation", words: `it does not end within ${millisMax / 1_000} s` }
  if (status !== 0) {
    const said = stderr.split("\n").find((line) => /Error/.test(line)) ?? stderr
    return { by: "simulation", words: `it ends: ${said.trim().slice(0, wordsMax)}` }
  }
  const { words } = JSON.parse(stdout.trim().split("\n").at(-1)!) as { readonly words?: string }
  return words === undefined ? undefined : { by: "simulation", words: words.slice(0, wordsMax) }
}

const patternOf = (test: string): string =>
  statSync(join(root, "test", test)).isDirectory() ? `test/${test}/**/*.test.ts` : `test/${test}`

/** The first test of those near it that fails with it. */
export const inTests = async ({ edits, tests, title }: Mutant): Promise<Catch | undefined> => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-mutant-"))
  const file = join(dir, "mutant.json")
  writeFileSync(file, JSON.stringify({ edits, include: tests.map(patternOf), title }))
  const reporters = ["--reporter", "dot", "--reporter", "./test/support/PlainReporter.ts"]
  const args = [join(root, "node_modules/vitest/vitest.mjs"), "run", "--config", "test/mutants/vitest.mutant.ts"]
  const env = { MUTANT: file, NO_COLOR: "1" }
  const { stdout, stderr, isLate } = await run(node, [...args, ...reporters], { env, ...within(testsMillisMax) })
  rmSync(dir, { recursive: true, force: true })
  if (neverMade.test(stdout + stderr)) throw new Error(`${stdout}${stderr}`.slice(-wordsMax))
  if (isLate) return { by: "test", words: `they do not end within ${testsMillisMax / 1_000} s` }
  const [, passed, failed] = /([0-9]+) passed, ([0-9]+) failed/.exec(stdout) ?? []
  if (Number(passed ?? 0) + Number(failed ?? 0) === 0) throw new Error(`no test ran: ${stderr}${stdout}`.slice(-2_000))
  if (Number(failed) === 0) return undefined
  const first = /^ *FAIL +(.*)$/m.exec(`${stdout}\n${stderr}`)?.[1] ?? "a test"
  return { by: "test", words: first.slice(0, wordsMax) }
}

/** Whether the catch is by whom it must be: of the simulation, by the oracle whose name its words begin with. */
export const isRightCatch = ({ by, oracles }: Mutant, caught: Catch): boolean => {
  if (by !== undefined && caught.by !== by) return false
  if (caught.by === "test" || oracles === undefined) return true
  const [, oracle] = /^seed \d+: (\w+): /.exec(caught.words) ?? []
  return oracles.some((one) => one === oracle)
}

/** Tries one mistake against the tests that are near it, and where none shows it against the simulation. */
export const tryMutant = async (mutant: Mutant, seeds: number): Promise<Tried> => {
  const began = performance.now()
  const tested = mutant.by === "simulation" ? undefined : await inTests(mutant)
  const isLeft = tested === undefined && seeds > 0 && mutant.by !== "test"
  const caught = isLeft ? await inSimulation(mutant, seeds) : tested
  const isRight = caught !== undefined && isRightCatch(mutant, caught)
  return { name: mutant.name, catch: caught, isRight, seconds: Math.round((performance.now() - began) / 1_000) }
}
