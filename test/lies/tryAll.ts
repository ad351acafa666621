import { Worker } from "node:worker_threads"
import type { LieVerdict } from "./runCase.ts"

export interface WorkerData {
  readonly isAll: boolean
  readonly isTraced: boolean
}

export interface TryOptions extends WorkerData {
  /** Of the cases to try. */
  readonly numbers: ReadonlyArray<number>
  readonly workers: number
  readonly onVerdict?: (verdict: LieVerdict) => void
}

/** Tries cases on several threads; the verdicts come in any order. */
export const tryAll = ({ numbers, workers, onVerdict, ...data }: TryOptions): Promise<ReadonlyArray<LieVerdict>> =>
  new Promise((resolve, reject) => {
    const verdicts: Array<LieVerdict> = []
    const waiting = [...numbers]
    let open = Math.min(workers, numbers.length)
    const serve = () => {
      const worker = new Worker(new URL("./worker.ts", import.meta.url), {
        workerData: data,
        execArgv: ["--disable-warning=ExperimentalWarning"],
      })
      const give = () => worker.postMessage(waiting.shift())
      worker.on("message", (verdict: LieVerdict) => {
        verdicts.push(verdict)
        onVerdict?.(verdict)
        give()
      })
      worker.on("error", reject)
      worker.on("exit", () => {
        if (--open === 0) resolve(verdicts.toSorted((a, b) => a.number - b.number))
      })
      give()
    }
    for (let n = 0; n < open; n++) serve()
  })
