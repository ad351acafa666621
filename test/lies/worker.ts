import { parentPort, workerData } from "node:worker_threads"
import { casesOf } from "./cases.ts"
import { makeLieBench } from "./LieBench.ts"
import { runCase } from "./runCase.ts"
import type { WorkerData } from "./tryAll.ts"

const port = parentPort
if (port === null) throw new Error("this runs in a thread of its own")
const { isAll, isTraced } = workerData as WorkerData
// Nobody reads the stacks of a case that is not traced, and each error and span would write one.
if (!isTraced) Error.stackTraceLimit = 0
const bench = await makeLieBench()
const cases = new Map(casesOf(isAll).map((one) => [one.number, one]))
port.on("message", (number: number | undefined) => {
  const one = number === undefined ? undefined : cases.get(number)
  if (one === undefined) {
    bench.close()
    port.close()
    return
  }
  port.postMessage(runCase(bench, one, isTraced ? (line) => console.log(line) : undefined))
})
