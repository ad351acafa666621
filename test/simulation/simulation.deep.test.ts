import { readFileSync } from "node:fs"
import { assert, describe, it } from "vitest"
import { keptMutants } from "../mutants/kept.ts"
import { catchOne } from "./catchPlanted.ts"
import { planted } from "./planted.ts"
import { seedsFrom, simulate } from "./simulate.ts"
import { failEachStatement } from "./statements.ts"

const honest = () => "honest" as const

describe("the simulation of the whole daemon", () => {
  it("finds every payment executed exactly once, and the same run each time", async () => {
    // One with much code, three that die often; .ci/run plays a hundred.
    const options = { seeds: [10, 15, 88, 95], gateways: honest, workers: 2 }
    const verdicts = await simulate(options)
    assert.deepStrictEqual(
      verdicts.flatMap(({ seed, violations }) => violations.map((violation) => `seed ${seed}: ${violation}`)),
      [],
    )
    assert.isAtLeast(
      verdicts.reduce((sum, { executed }) => sum + executed, 0),
      10,
    )
    assert.isAtLeast(
      verdicts.reduce((sum, { deaths }) => sum + deaths, 0),
      10,
    )
    assert.isAtLeast(
      verdicts.reduce((sum, { byCode }) => sum + byCode, 0),
      3,
    )
    const again = await simulate({ ...options, seeds: [10, 15] })
    assert.deepStrictEqual(again, verdicts.slice(0, 2))
  })

  it.each([
    [
      "replays came late",
      true,
      [7_000_170, 7_000_331, 7_001_532, 7_001_748, 7_002_863, 8_000_114, 8_002_272, 8_002_939],
    ],
    ["a restored store once paid twice, wild", false, [44, 187]],
    ["a restored store once paid twice, tame", true, [7_000_015]],
  ])("finds nothing wrong where %s", async (_, isTame, seeds) => {
    const verdicts = await simulate({ seeds, gateways: honest, isTame, workers: 1 })
    assert.deepStrictEqual(
      verdicts.map(({ seed, violations }) => [seed, violations]),
      seeds.map((seed) => [seed, []]),
    )
  })

  it("finds that lies of gateways move no money beyond the policy", async () => {
    const verdicts = await simulate({ seeds: seedsFrom(1, 3), gateways: () => "hostile", workers: 2 })
    assert.deepStrictEqual(
      verdicts.flatMap(({ violations }) => violations),
      [],
    )
    assert.isAtLeast(
      verdicts.reduce((sum, { intents }) => sum + intents, 0),
      5,
    )
  })

  it("finds two treasuries of one process apart, each right as if it were alone", async () => {
    const verdicts = await simulate({ seeds: seedsFrom(1, 4), gateways: honest, isPair: true, workers: 2 })
    assert.deepStrictEqual(
      verdicts.flatMap(({ seed, violations }) => violations.map((violation) => `seed ${seed}: ${violation}`)),
      [],
    )
    assert.isAtLeast(
      verdicts.reduce((sum, { events }) => sum + (events["payment of another treasury"] ?? 0), 0),
      100,
    )
  })

  it("finds no send without its durable row, whichever statement fails", async () => {
    const verdicts = await failEachStatement(41)
    assert.isAtLeast(verdicts.length, 20)
    assert.deepStrictEqual(
      verdicts.flatMap(({ seed, violations }) => violations.map((violation) => `run ${seed}: ${violation}`)),
      [],
    )
  })

  it("catches a planted mistake", async () => {
    const [one = assert.fail()] = planted.filter(({ name }) => name === "sends before the send is on disk")
    const caught = await catchOne(one, 20, honest)
    assert.match(caught?.violations[0] ?? "", /^disk: bytes leave (before their send is|that are not) on disk/)
  })

  it("refuses to plant what it does not find", async () => {
    const edits = [{ file: "payments/planSend.ts", source: "no such source", instead: "" }]
    const run = simulate({ seeds: [1], gateways: honest, workers: 1, edits })
    await run.then(
      () => assert.fail("it ran"),
      (error: Error) => assert.match(error.message, /^payments\/planSend\.ts holds 0 times, not once/),
    )
  })

  it("knows where each mistake is made: its source is there, once", () => {
    const all = keptMutants.flatMap(({ name, edits }) => edits.map((edit) => ({ name, ...edit })))
    const files = new Map(
      all.map(({ file }) => [file, readFileSync(new URL(`../../src/${file}`, import.meta.url), "utf8")]),
    )
    const lost = all.filter(({ file, source }) => files.get(file)?.split(source).length !== 2)
    assert.deepStrictEqual(
      lost.map(({ name, file }) => `${name}: ${file}`),
      [],
    )
  })
})
