import { parentPort, workerData } from "node:worker_threads"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { runTraffic, type TrafficOptions } from "./TrafficRun.ts"

/** One run of traffic in a thread of its own: options in, outcome out. A failed audit ends it with its error. */
const options: TrafficOptions = workerData
parentPort?.postMessage(
  await Effect.runPromise(runTraffic(options).pipe(Effect.scoped, Effect.provide(TestClock.layer()))),
)
