import { parentPort, workerData } from "node:worker_threads"
import { makeBench } from "./bench.ts"
import type { Failing } from "./CrashPoints.ts"
import type { Gateways } from "./Plan.ts"
import { runLying } from "./runLying.ts"
import { runPair, runPlan, runSeed } from "./runSeed.ts"
import { calmPlan } from "./statements.ts"

/** Seeds that a worker is asked for, one after the other; the answer to each is its verdict. */
export interface Asked {
  readonly seed: number
  readonly gateways: Gateways
  /** Whether the run is as it was before there was anything wild in it. Default: it is not. */
  readonly isTame?: boolean
  /** Whether there are two treasuries in the process. Default: one. */
  readonly isPair?: boolean
  /** Instead of the seed's plan: one payment on a calm day, and a disk that refuses these statements. */
  readonly failing?: Failing
}

const port = parentPort
if (port === null) throw new Error("this runs in a thread of its own")
const isTraced = (workerData as { readonly trace?: boolean }).trace === true
// Nobody reads the stacks of a run that is not traced, and each error and span would write one.
if (!isTraced) Error.stackTraceLimit = 0
const bench = await makeBench()
port.on("message", (asked: Asked | undefined) => {
  if (asked === undefined) {
    bench.close()
    port.close()
    return
  }
  const tell = isTraced ? (line: string) => console.log(line) : undefined
  const { seed, gateways, isTame = false, isPair = false, failing } = asked
  if (gateways === "lying") return port.postMessage(runLying(bench, seed, tell))
  if (isPair) return port.postMessage(runPair(bench, seed, gateways, tell))
  port.postMessage(
    failing === undefined
      ? runSeed(bench, seed, gateways, tell, isTame)
      : { ...runPlan(bench, calmPlan, { failing }), seed },
  )
})
