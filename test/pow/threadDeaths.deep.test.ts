import { loadavg } from "node:os"
import { Worker } from "node:worker_threads"
import { assert, it } from "@effect/vitest"
import { type FoundNonce, makePool, PowError, type Spawn } from "../../src/pow/Pool.ts"
import { powPreimage } from "../../src/tx/ProofOfWork.ts"
import { makeDice } from "../support/Dice.ts"

const rounds = Number(process.env["COFFERER_TEST_ROUNDS"] ?? 100)
const seed = Number(process.env["COFFERER_TEST_SEED"] ?? 1)

const job = (difficulty: number) => ({
  preimage: powPreimage({ blockHash: "0".repeat(64), tid: "d".repeat(64) }, 0n),
  difficulty,
})

it(`loses no search when a thread dies at a random moment (${rounds} rounds, seed ${seed})`, async () => {
  const { below } = makeDice(`deaths ${seed}`)
  const threads: Array<Worker> = []
  const spawn: Spawn = (cancelled) => {
    const thread = new Worker(new URL("../../src/pow/worker.ts", import.meta.url), { workerData: cancelled })
    threads.push(thread)
    return thread
  }
  const pool = makePool({ size: 2, queueSizeMax: 64, silentMillisMax: 5_000, spawn })
  let solved = 0
  let died = 0
  const millis: Array<number> = []
  for (let round = 0; round < rounds; round++) {
    const ends: Array<Promise<FoundNonce | PowError>> = []
    const search = (difficulty: number) =>
      ends.push(new Promise((resolve) => void pool.run("", job(difficulty), resolve)))
    for (let i = 0; i < 4; i++) search(below(3) === 0 ? 12 : 8)
    // The death falls anywhere from the start of a thread to behind its last answer.
    for (let turns = below(400); turns > 0; turns--) await new Promise(setImmediate)
    const victim = threads[threads.length - 1 - below(Math.min(2, threads.length))]
    const diedAt = performance.now()
    void victim?.terminate()
    for (const outcome of await Promise.all(ends)) {
      if (!(outcome instanceof PowError)) solved++
      else if (outcome.reason._tag === "WorkerDied") died++
      else assert.fail(outcome.message)
    }
    millis.push(performance.now() - diedAt)
  }
  await pool.close()
  millis.sort((a, b) => a - b)
  const at = (part: number) => `${Math.round(millis[Math.ceil(part * rounds) - 1] ?? 0)} ms`
  console.log(
    `searches ${rounds * 4} solved ${solved} died ${died} lost 0; the last of a round ended ${at(0.5)} (p50), ${at(0.99)} (p99), ${at(1)} (max) after the death; load ${loadavg()[0]?.toFixed(1)}`,
  )
  assert.strictEqual(solved + died, rounds * 4)
  assert.isAbove(died, 0, "no death hit a search")
})
