import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as sleep } from "node:timers/promises"
import { treasuryName } from "../../support/Treasuries.ts"
import { type Benchmark, type Figure, figure, percentile, rounded } from "../Benchmark.ts"
import { procText, startProgram, startScript } from "../programs.ts"

const sizes = [1, 10, 100, 300, 1_000]
/** Treasuries of a run that is not told how many. */
const usualMax = 100
const falls = 40
const requestsPerSecond = 100
const calmMillis = 20_000
const readyMillisMax = 300_000

const cpuMillis = (pid: number): number => {
  const [, user, system] = /^.*\) (?:\S+ ){11}(\d+) (\d+)/.exec(procText(pid, "stat")) ?? []
  return (Number(user) + Number(system)) * 10
}

const residentBytes = (pid: number): number => Number(/^VmRSS:\s+(\d+) kB/m.exec(procText(pid, "status"))?.[1]) * 1_024

/** When the first payment of a treasury was decided, in Unix milliseconds; undefined while none is. */
const decidedAt = (dir: string, treasury: number): number | undefined => {
  const db = new DatabaseSync(join(dir, ".data", treasuryName(treasury), "cofferer.db"))
  try {
    return db.prepare("SELECT min(created_at) AS at FROM intents").get()?.["at"] as number | undefined
  } finally {
    db.close()
  }
}

interface Scale {
  readonly startSeconds: number
  readonly cpuPerTreasury: number
  readonly resident: number
  readonly delays: ReadonlyArray<number>
  readonly lost: number
}

const measure = async (count: number, say: (text: string) => void): Promise<Scale> => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-scale-"))
  const files = join(dir, "files")
  const fallen = Math.min(falls, count)
  const firstBlock = 60 + Math.ceil(count * 0.3)
  const network = startScript(
    "scale/network.ts",
    files,
    `${count}`,
    `${fallen}`,
    `${firstBlock}`,
    `${requestsPerSecond}`,
  )
  try {
    await network.line((line) => "url" in line)
    const began = performance.now()
    const daemon = startProgram("sh", ["src/cofferer.sh", "run", files])
    try {
      const said = (msg: string) => daemon.lines.filter((line) => line["msg"] === msg).length
      const until = async (isSo: () => boolean) => {
        for (const end = Date.now() + readyMillisMax; !isSo() && Date.now() < end; ) await sleep(200)
      }
      await until(() => said("daemon ready") >= count)
      const startSeconds = (performance.now() - began) / 1_000
      await sleep(5_000)
      const before = cpuMillis(daemon.pid)
      await sleep(calmMillis)
      const cpuPerTreasury = (cpuMillis(daemon.pid) - before) / (calmMillis / 1_000) / count
      const resident = residentBytes(daemon.pid) / 1e6
      const fallLines = () => network.lines.filter((line) => "visible" in line)
      await until(() => fallLines().length >= fallen)
      const end = Date.now() + 60_000
      while (said("payment proposed") < fallen && Date.now() < end) await sleep(500)
      await daemon.stop()
      const delays = fallLines().map(({ visible, treasury }) => {
        const at = decidedAt(files, Number(treasury))
        return at === undefined || at === null ? undefined : at - Number(visible)
      })
      const known = delays.filter((delay) => delay !== undefined)
      say(
        `${count}: start ${startSeconds.toFixed(1)} s, ${resident.toFixed(0)} MB, ${cpuPerTreasury.toFixed(2)} ms/s each`,
      )
      return { startSeconds, cpuPerTreasury, resident, delays: known, lost: delays.length - known.length }
    } finally {
      await daemon.stop()
    }
  } finally {
    await network.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

const lower = (unit: string) => ({ unit, better: "lower" }) as const

export const scale: Benchmark = {
  name: "scale",
  about: "many treasuries in a process: 10 accounts and 5 rules each on one gateway, a block a second",
  limits:
    "One thread runs all loops of all treasuries. In calm each of them makes three or four transactions a second, 0.7 of " +
    "them durable: the time up to which balances are known, and the newest block that was accepted. By a profile of 30: " +
    "a quarter collects garbage, a fifth is SQLite's, the rest is spread over all loops. A young generation of 16 MB in " +
    "place of 4 saves a twelfth.",
  run: async (say, { count = usualMax }) => {
    const figures: Array<Figure> = []
    for (const size of sizes.filter((one) => one <= count)) {
      const { startSeconds, cpuPerTreasury, resident, delays, lost } = await measure(size, say)
      const of = `scale ${size.toLocaleString("en-US")}`
      figures.push(
        figure(`${of}: start`, [startSeconds], lower("s")),
        figure(`${of}: processor time of each`, [cpuPerTreasury], lower("ms a second")),
        figure(`${of}: resident memory`, [resident], lower("MB")),
      )
      if (lost > 0) throw new Error(`${lost} falls of ${size} treasuries were not decided within a minute`)
      figures.push({
        ...figure(`${of}: decision delay p99`, delays, lower("ms")),
        value: rounded(percentile(delays, 0.99)),
      })
    }
    return figures
  },
}
