import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import type { LogEventName } from "../../../src/telemetry/logEvents.ts"
import { get } from "../../support/Cofferer.ts"
import { type Benchmark, figure } from "../Benchmark.ts"
import { procText, startProgram, startScript, withLaunchers } from "../programs.ts"

/** Times the speed of real traffic: blocks, polls and rows come this often. */
const speed = 10
const hourMillis = 3_600_000 / speed
const samples = 30

interface Memory {
  readonly resident: number
  /** Pages of files: Node itself and its libraries, which processes share. */
  readonly files: number
  readonly heapUsed: number
  readonly heapFree: number
  readonly rest: number
}

const megabytes = 1_000_000

const memoryOf = async (pid: number, url: string): Promise<Memory> => {
  const status = procText(pid, "status")
  const kilobytes = (key: string) =>
    (Number(new RegExp(`^${key}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) * 1_024) / megabytes
  const { body } = await get(`${url}/metrics`)
  const metric = (name: string) => Number(new RegExp(`^${name} (\\S+)`, "m").exec(body)?.[1]) / megabytes
  const [heapUsed, heapTotal] = [metric("nodejs_heap_size_used_bytes"), metric("nodejs_heap_size_total_bytes")]
  const [resident, files] = [kilobytes("VmRSS"), kilobytes("RssFile")]
  return { resident, files, heapUsed, heapFree: heapTotal - heapUsed, rest: resident - files - heapTotal }
}

/** Memory of a daemon without an embedded network, idle for the requests of an hour. */
const idleHour = async (launcher: string, dir: string): Promise<ReadonlyArray<Memory>> => {
  mkdirSync(dir)
  const network = startScript("latency/network.ts", dir, "0", "0", `${speed}`)
  await network.line((line) => "url" in line)
  const daemon = startProgram("sh", [launcher, "run", join(dir, "treasury.yaml"), "--data", join(dir, "data")])
  try {
    const { urls } = await daemon.line((line) => line["msg"] === ("page listening" satisfies LogEventName))
    await sleep(hourMillis)
    const found: Array<Memory> = []
    for (let sample = 0; sample < samples; sample++) {
      found.push(await memoryOf(daemon.pid, String(urls)))
      await sleep(1_000)
    }
    return found
  } finally {
    await daemon.stop()
    await network.stop()
  }
}

export const memory: Benchmark = {
  name: "memory",
  about: "resident memory of a daemon without the embedded network, idle for the requests of an hour",
  limits:
    "Files of Node are its own code, which processes share. The heap in use is 15 MB compiled functions, 9 MB " +
    "objects and closures, 8 MB source texts of modules (functions are compiled when they are called), 4 MB " +
    "shapes of objects, 2 MB other strings. Outside the heap are compilers, SQLite and Node. Halving " +
    "--max-semi-space-size once more, or --optimize-for-size, would take 5 and 10 MB and cost a busy poller a " +
    "fifth and a third of its rows a second. From the first payment on a search thread takes 25 MB more.",
  run: (say) =>
    withLaunchers(async ({ image, sources }, dir) => {
      say(`${Math.round(hourMillis / 60_000)} minutes of ${speed} times the requests`)
      const [bundled, plain] = await Promise.all([
        idleHour(image, join(dir, "bundled")),
        idleHour(sources, join(dir, "plain")),
      ])
      const how = { unit: "MB", better: "lower" } as const
      const of = (found: ReadonlyArray<Memory>, key: keyof Memory) => found.map((one) => one[key])
      return [
        figure("memory resident, image", of(bundled, "resident"), how),
        figure("memory resident, sources", of(plain, "resident"), how),
        figure("memory of the image: files of Node", of(bundled, "files"), how),
        figure("memory of the image: heap in use", of(bundled, "heapUsed"), how),
        figure("memory of the image: heap kept free", of(bundled, "heapFree"), how),
        figure("memory of the image: outside of the heap", of(bundled, "rest"), how),
      ]
    }),
}
