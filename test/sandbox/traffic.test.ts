import { Worker } from "node:worker_threads"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { actions } from "../support/TrafficActions.ts"
import type { TrafficOptions, TrafficOutcome } from "../support/TrafficRun.ts"

const run = (options: TrafficOptions): Effect.Effect<TrafficOutcome> =>
  Effect.promise(
    () =>
      new Promise((resolve, reject) => {
        const thread = new Worker(new URL("../support/trafficThread.ts", import.meta.url), { workerData: options })
        thread.on("message", resolve)
        thread.on("error", reject)
      }),
  )

describe("seeded traffic of fifty parties", () => {
  it.effect(
    "for ten minutes keeps all money accounted for in every block, and ends the same each time",
    () =>
      Effect.gen(function* () {
        const options: TrafficOptions = { seed: "traffic-1", profile: "0.75", blocks: 600, file: "memory" }
        const runs = [options, { ...options, file: "none" }, { ...options, seed: "traffic-2", blocks: 30 }] as const
        const [first, again, other] = yield* Effect.all(runs.map(run), { concurrency: 2 })
        assert(first !== undefined)
        assert.isAtLeast(first.included, 20_000)
        for (const { name } of actions) assert.isTrue(first.tally.has(name), name)
        for (const what of ["known", "60", "70", "89"]) assert.isAtLeast(first.tally.get(`answered ${what}`) ?? 0, 500)
        assert.deepStrictEqual(again, first)
        assert.notStrictEqual(other?.early, first.early)
        const counts = [...first.tally].filter(([what]) => /^(answered|ended) /.test(what))
        console.log(`seed ${options.seed}: ${counts.map(([what, n]) => `${what}: ${n}`).join(", ")}`)
      }),
    120_000,
  )

  it.effect("for a minute keeps all money accounted for on a network of another version", () =>
    Effect.gen(function* () {
      const done = yield* run({ seed: "traffic-3", profile: "0.79", blocks: 65, file: "memory" })
      assert.isAtLeast(done.included, 2_000)
    }),
  )
})
