import { readFileSync } from "node:fs"
import { assert, beforeAll, describe, it } from "vitest"
import { keptMutants } from "../mutants/kept.ts"
import { catchOne } from "./catchPlanted.ts"
import { planted } from "./planted.ts"
import type { Verdict } from "./runSeed.ts"
import { seedsFrom, simulate } from "./simulate.ts"
import { failEachStatement } from "./statements.ts"
import type { Asked } from "./worker.ts"

/** What is looked at in more than a verdict; .ci/run plays a hundred seeds of each kind of gateway. */
const worlds = {
  // Two that die often, and two with rules in code in which a restored store once paid twice.
  honest: [15, 44, 88, 187],
  hostile: [2, 3],
  pairs: seedsFrom(1, 4),
  "replays came late": [7_000_170, 7_000_331, 7_001_532, 7_001_748, 7_002_863, 8_000_114, 8_002_272, 8_002_939],
  "a restored store once paid twice": [7_000_015],
} as const

type World = keyof typeof worlds

const honest = (seed: number): Asked => ({ seed, gateways: "honest" })

const askedOf = (world: World, seed: number): Asked => {
  if (world === "hostile") return { seed, gateways: "hostile" }
  if (world === "pairs") return { ...honest(seed), isPair: true }
  return { ...honest(seed), isTame: world !== "honest" }
}

describe("the simulation of the whole daemon", () => {
  const verdicts = new Map<World, ReadonlyArray<Verdict>>()
  const of = (world: World) => verdicts.get(world) ?? []

  // In one run: each thread loads the whole daemon, and is slow until its code is compiled.
  beforeAll(async () => {
    const names = Object.keys(worlds) as ReadonlyArray<World>
    const asked = names.flatMap((world) => worlds[world].map((seed) => askedOf(world, seed)))
    const all = await simulate({ asked, workers: 2 })
    const left = all.values()
    for (const world of names) verdicts.set(world, left.take(worlds[world].length).toArray())
  }, 600_000)

  it.each(Object.keys(worlds) as ReadonlyArray<World>)("finds nothing wrong: %s", (world) => {
    assert.deepStrictEqual(
      of(world).map(({ seed, violations }) => [seed, violations]),
      worlds[world].map((seed) => [seed, []]),
    )
  })

  it("has payments, deaths and rules in code, and the same run each time", async () => {
    const sumOf = (world: World, what: "executed" | "deaths" | "byCode" | "intents") =>
      of(world).reduce((sum, verdict) => sum + verdict[what], 0)
    assert.isAtLeast(sumOf("honest", "executed"), 10)
    assert.isAtLeast(sumOf("honest", "deaths"), 10)
    assert.isAtLeast(sumOf("honest", "byCode"), 3)
    assert.isAtLeast(sumOf("hostile", "intents"), 5)
    const again = await simulate({ asked: [15, 44].map(honest), workers: 1 })
    assert.deepStrictEqual(again, of("honest").slice(0, 2))
  })

  it("holds payments of one treasury against the store of the other", () => {
    assert.isAtLeast(
      of("pairs").reduce((sum, { events }) => sum + (events["payment of another treasury"] ?? 0), 0),
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
    const caught = await catchOne(one, 20, () => "honest")
    assert.match(caught?.violations[0] ?? "", /^disk: bytes leave (before their send is|that are not) on disk/)
  })

  it("refuses to plant what it does not find", async () => {
    const edits = [{ file: "payments/planSend.ts", source: "no such source", instead: "" }]
    const run = simulate({ asked: [honest(1)], workers: 1, edits })
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
