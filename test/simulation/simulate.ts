import { Worker } from "node:worker_threads"
import type { Edit } from "./planted.ts"
import type { Verdict } from "./runSeed.ts"
import type { Asked } from "./worker.ts"

export interface Simulation {
  readonly asked: ReadonlyArray<Asked>
  readonly workers: number
  /** Prints all that goes over the wire. */
  readonly trace?: boolean
  /** Mistakes that are planted into the product. */
  readonly edits?: ReadonlyArray<Edit>
  readonly onVerdict?: (verdict: Verdict, asked: Asked) => void
  /** Ends the simulation early. */
  readonly enough?: (verdict: Verdict) => boolean
}

/** So many seeds from the first on. */
export const seedsFrom = (first: number, count: number): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, n) => first + n)

/** Runs seeds on several threads. Verdicts come in the order of what was asked; after an early end some are missing. */
export const simulate = (options: Simulation): Promise<ReadonlyArray<Verdict>> =>
  new Promise((resolve, reject) => {
    const verdicts: Array<Verdict> = []
    const left = options.asked.entries()
    let stopped = false
    let open = options.workers
    const serve = () => {
      const worker = new Worker(new URL("./worker.ts", import.meta.url), {
        workerData: { trace: options.trace ?? false, edits: options.edits ?? [] },
        execArgv: ["--disable-warning=ExperimentalWarning", "--import", new URL("./plant.ts", import.meta.url).href],
      })
      let given: readonly [number, Asked] | undefined
      const give = () => {
        given = stopped ? undefined : left.next().value
        worker.postMessage(given?.[1])
      }
      worker.on("message", (verdict: Verdict) => {
        const [n, asked] = given!
        verdicts[n] = verdict
        options.onVerdict?.(verdict, asked)
        if (options.enough?.(verdict)) stopped = true
        give()
      })
      worker.on("error", (error) => {
        stopped = true
        reject(error)
      })
      worker.on("exit", () => {
        if (--open === 0) resolve(Object.values(verdicts))
      })
      give()
    }
    for (let n = 0; n < options.workers; n++) serve()
  })
