import { parentPort, workerData } from "node:worker_threads"
import { makeBench } from "./bench.ts"
import type { Gateways } from "./Plan.ts"
import { runSeed } from "./runSeed.ts"

/** Seeds that a worker is asked for, one after the other; the answer to each is its verdict. */
export interface Asked {
  readonly seed: number
  readonly gateways: Gateways
}

const port = parentPort
if (port === null) throw new Error("this runs in a thread of its own")
const bench = await makeBench()
port.on("message", (asked: Asked | undefined) => {
  if (asked === undefined) {
    bench.close()
    port.close()
    return
  }
  const tell = (workerData as { readonly trace?: boolean }).trace ? (line: string) => console.log(line) : undefined
  port.postMessage(runSeed(bench, asked.seed, asked.gateways, tell))
})
