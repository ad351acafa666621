import { spawnSync } from "node:child_process"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import type { LogEventName } from "../../../src/telemetry/logEvents.ts"
import { type Benchmark, figure } from "../Benchmark.ts"
import { procText, startProgram, withLaunchers } from "../programs.ts"

const rounds = 11
const millisPerTick = 10

interface Start {
  readonly listening: number
  readonly ready: number
  /** Processor time of all threads until then. */
  readonly cpu: number
}

const startDaemon = (launcher: string, dataDir: string) =>
  startProgram("sh", [launcher, "run", "--sandbox", "config/sandbox.yaml", "--data", dataDir])

/** Compiled code is kept by a process that ends by itself, as the one does that the image's build runs for this. */
const fillCaches = async (launcher: string, dataDir: string): Promise<void> => {
  const daemon = startDaemon(launcher, dataDir)
  await daemon.line((line) => line["msg"] === "daemon ready")
  await sleep(10_000)
  await daemon.stop("SIGTERM")
}

const startOnce = async (launcher: string, dataDir: string): Promise<Start> => {
  rmSync(dataDir, { recursive: true, force: true })
  const began = performance.now()
  const daemon = startDaemon(launcher, dataDir)
  const at = async (msg: LogEventName) => {
    await daemon.line((line) => line["msg"] === msg)
    return performance.now() - began
  }
  try {
    const [listening, ready] = await Promise.all([at("page listening"), at("daemon ready")])
    const [, user, system] = /^.*\) (?:\S+ ){11}(\d+) (\d+)/.exec(procText(daemon.pid, "stat")) ?? []
    return { listening, ready, cpu: (Number(user) + Number(system)) * millisPerTick }
  } finally {
    await daemon.stop()
  }
}

/** Node that runs an empty program. */
const bareMillis = (): number => {
  const began = performance.now()
  spawnSync(process.execPath, ["-e", "0"])
  return performance.now() - began
}

/** Starts with the embedded network, whose compiled code is kept. */
export const startup: Benchmark = {
  name: "startup",
  about: "from the start of the process, with the embedded network, to its page and to its first round",
  limits:
    "By a profile of the image: a quarter of the time evaluates modules, most of it effect's and our own schemas; " +
    "a seventh finds and reads what was compiled, and as much collects garbage; a twelfth is Node's own modules; " +
    "4 % signs and verifies once by each key. The rest decodes the treasury, opens the store and makes the first " +
    "round. A larger young or old generation saves the main thread nothing that can be measured. Sources have " +
    "1,200 modules to find and types to strip.",
  run: () =>
    withLaunchers(async ({ image, sources }, dir) => {
      const bundled: Array<Start> = []
      const plain: Array<Start> = []
      const bare: Array<number> = []
      const dataDir = join(dir, "data")
      for (const launcher of [image, sources]) await fillCaches(launcher, dataDir)
      for (let round = 0; round < rounds; round++) {
        bundled.push(await startOnce(image, dataDir))
        plain.push(await startOnce(sources, dataDir))
        bare.push(bareMillis())
      }
      const lower = { better: "lower" } as const
      const of = (starts: ReadonlyArray<Start>, key: keyof Start) => starts.map((start) => start[key])
      return [
        figure("startup to listening, image", of(bundled, "listening"), { unit: "ms", ...lower }),
        figure("startup to ready, image", of(bundled, "ready"), { unit: "ms", ...lower }),
        figure("startup processor time, image", of(bundled, "cpu"), { unit: "ms", ...lower }),
        figure("startup to listening, sources", of(plain, "listening"), { unit: "ms", ...lower }),
        figure("startup to ready, sources", of(plain, "ready"), { unit: "ms", ...lower }),
        figure("startup processor time, sources", of(plain, "cpu"), { unit: "ms", ...lower }),
        figure(
          "startup to ready, image, beside an empty program",
          bundled.map(({ ready }, round) => ready / bare[round]!),
          { unit: "times node alone", ...lower },
        ),
      ]
    }),
}
