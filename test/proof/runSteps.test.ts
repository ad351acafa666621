import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { tempDir } from "../support/tempDir.ts"
import { type Finished, runSteps, type Step } from "./runSteps.ts"
import { stepsOf } from "./steps.ts"

describe("a run of proofs", () => {
  const dir = tempDir("proof")
  const steps: ReadonlyArray<Step> = [
    { name: "sound", command: ["sh", "-c", "echo first; echo last; echo"] },
    { name: "unsound", command: ["sh", "-c", "printf wrong; exit 3"] },
    { name: "missing", command: ["no-such-program-of-proofs"] },
  ]
  const run = (name: string, commit: string | undefined) =>
    runSteps(steps, { figures: join(dir, name), commit, cwd: dir, print: () => {} })
  const noted = (name: string) =>
    readFileSync(join(dir, name), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Finished)

  it("notes how each step ends", async () => {
    assert.deepStrictEqual(await run("noted", "c1"), { done: 1, failed: 2, skipped: 0 })
    const [sound, unsound, missing] = noted("noted")
    assert.deepInclude(sound, { step: "sound", exit: 0, last: "last", commit: "c1" })
    assert.deepInclude(unsound, { step: "unsound", exit: 3, last: "wrong" })
    assert.deepInclude(missing, { step: "missing", exit: null, command: "no-such-program-of-proofs" })
  })

  it("repeats failed steps and steps of another commit", async () => {
    await run("again", "c1")
    assert.deepStrictEqual(await run("again", "c1"), { done: 0, failed: 2, skipped: 1 })
    assert.deepStrictEqual(await run("again", "c2"), { done: 1, failed: 2, skipped: 0 })
    assert.lengthOf(noted("again"), 8)
  })

  it("repeats every step of uncommitted changes", async () => {
    await run("changed", undefined)
    assert.deepStrictEqual(await run("changed", undefined), { done: 1, failed: 2, skipped: 0 })
  })

  it("gives each step a name of its own", () => {
    const names = stepsOf("tables").map(({ name }) => name)
    assert.lengthOf(new Set(names), names.length)
  })
})
