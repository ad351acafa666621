import { Worker } from "node:worker_threads"
import type { Failing } from "./CrashPoints.ts"
import type { Gateways } from "./Plan.ts"
import type { Edit } from "./planted.ts"
import type { Verdict } from "./runSeed.ts"
import type { Asked } from "./worker.ts"

export interface Simulation {
  readonly seeds: ReadonlyArray<number>
  readonly gateways: (seed: number) => Gateways
  /** Whether runs are as they were before there was anything wild in them. Default: they are not. */
  readonly isTame?: boolean
  /** Whether there are two treasuries in the process. Default: one. */
  readonly isPair?: boolean
  /** What the disk refuses in each, where they are runs of the calm day. */
  readonly failing?: (seed: number) => Failing
  readonly workers: number
  /** Prints all that goes over the wire. */
  readonly trace?: boolean
  /** Mistakes that are planted into the product. */
  readonly edits?: ReadonlyArray<Edit>
  readonly onVerdict?: (verdict: Verdict) => void
  /** Ends the simulation early. */
  readonly enough?: (verdict: Verdict) => boolean
}

const askedOf = ({ gateways, failing, isTame, isPair }: Simulation, seed: number): Asked => ({
  seed,
  gateways: gateways(seed),
  isTame: isTame === true,
  isPair: isPair === true,
  ...(failing === undefined ? {} : { failing: failing(seed) }),
})

/** So many seeds from the first on. */
export const seedsFrom = (first: number, count: number): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, n) => first + n)

/** Runs seeds on several threads; the verdicts come in any order, each the same on every machine. */
export const simulate = (options: Simulation): Promise<ReadonlyArray<Verdict>> =>
  new Promise((resolve, reject) => {
    const verdicts: Array<Verdict> = []
    const left = options.seeds.values()
    let stopped = false
    let open = options.workers
    const serve = () => {
      const worker = new Worker(new URL("./worker.ts", import.meta.url), {
        workerData: { trace: options.trace ?? false, edits: options.edits ?? [] },
        execArgv: ["--disable-warning=ExperimentalWarning", "--import", new URL("./plant.ts", import.meta.url).href],
      })
      const give = () => {
        const next = left.next()
        worker.postMessage(stopped || next.done ? undefined : askedOf(options, next.value))
      }
      worker.on("message", (verdict: Verdict) => {
        verdicts.push(verdict)
        options.onVerdict?.(verdict)
        if (options.enough?.(verdict)) stopped = true
        give()
      })
      worker.on("error", (error) => {
        stopped = true
        reject(error)
      })
      worker.on("exit", () => {
        if (--open === 0) resolve(verdicts.toSorted((a, b) => a.seed - b.seed))
      })
      give()
    }
    for (let n = 0; n < options.workers; n++) serve()
  })
