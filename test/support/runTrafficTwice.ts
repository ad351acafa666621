import assert from "node:assert/strict"
import { Worker } from "node:worker_threads"
import { actions } from "./TrafficActions.ts"
import type { TrafficOptions, TrafficOutcome } from "./TrafficRun.ts"

/** One run of traffic in a thread of its own. */
export const runTrafficThread = (options: TrafficOptions): Promise<TrafficOutcome> =>
  new Promise((resolve, reject) => {
    const thread = new Worker(new URL("./trafficThread.ts", import.meta.url), { workerData: options })
    thread.on("message", resolve)
    thread.on("exit", (code) => reject(new Error(`the thread ended with ${code}`)))
    thread.on("error", reject)
  })

/** Runs one seed twice at once, with its file and without. Fails where they differ or where too little happens. */
export const runTrafficTwice = async (blocks: number): Promise<TrafficOutcome> => {
  const options: TrafficOptions = { seed: "traffic-1", profile: "0.75", blocks, file: "memory" }
  const [first, again] = await Promise.all([options, { ...options, file: "none" } as const].map(runTrafficThread))
  assert(first !== undefined)
  assert(first.included >= (blocks * 100) / 3, `${first.included} transactions in ${blocks} blocks`)
  for (const { name } of actions) assert(first.tally.has(name), name)
  for (const what of ["known", "60", "70", "89"]) {
    const count = first.tally.get(`answered ${what}`) ?? 0
    assert(count >= (blocks * 5) / 6, `answered ${what}: ${count}`)
  }
  assert.deepStrictEqual(again, first)
  return first
}
