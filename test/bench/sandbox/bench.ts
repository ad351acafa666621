import { spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { cpus, tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Benchmark, figure } from "../Benchmark.ts"
import { partiesCount, treasuryText } from "./scenario.ts"

const root = fileURLToPath(new URL("../../../", import.meta.url))
const rounds = 7
const millis = 3_000
/** No slice may hang the run. */
const patienceMillis = 300_000

/** A process on one core; where the machine cannot bind it, on any. */
const spawnOn = (core: number, args: ReadonlyArray<string>) => {
  const bound = process.platform === "linux" && cpus().length > 1
  const [command = "", ...rest] = bound ? ["taskset", "-c", String(core), ...args] : args
  return spawn(command, rest, { cwd: root, stdio: ["ignore", "pipe", "inherit"] })
}

const firstLine = (child: ReturnType<typeof spawnOn>, what: string): Promise<unknown> =>
  new Promise((resolve, reject) => {
    let text = ""
    const late = setTimeout(() => reject(new Error(`${what}: no answer within ${patienceMillis} ms`)), patienceMillis)
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString()
      const end = text.indexOf("\n")
      if (end < 0) return
      clearTimeout(late)
      resolve(JSON.parse(text.slice(0, end)))
    })
    child.on("error", reject)
    child.on("exit", (code) => reject(new Error(`${what} ended with ${code} before it said anything`)))
  })

interface Found {
  readonly writes: ReadonlyArray<number>
  readonly reads: ReadonlyArray<number>
  readonly refused: number
  readonly example: string
}

const run: Benchmark["run"] = async (say) => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-bench-"))
  const file = join(dir, "bench.yaml")
  writeFileSync(file, treasuryText)
  const network = spawnOn(0, ["sh", "src/cofferer.sh", "sandbox", file, "--data", dir, "--output", "json"])
  try {
    const { urls } = (await firstLine(network, "the sandbox")) as { urls: readonly [string] }
    const [url] = urls
    say(`${partiesCount} parties, ${rounds} rounds of ${millis / 1000} s writes and ${millis / 1000} s reads`)
    const load = spawnOn(1, [
      process.execPath,
      "--disable-warning=ExperimentalWarning",
      "test/bench/sandbox/load.ts",
      new URL(url).port,
      String(rounds),
      String(millis),
    ])
    const found = (await firstLine(load, "the generator")) as Found
    if (found.refused > 0) say(`${found.refused} answers were no good, such as: ${found.example}`)
    return [
      figure("sandbox accepted transactions", found.writes, { unit: "per second", better: "higher" }),
      figure("sandbox reads", found.reads, { unit: "per second", better: "higher" }),
    ]
  } finally {
    network.kill("SIGKILL")
    rmSync(dir, { recursive: true, force: true })
  }
}

/** The play-money network as operators run it: one process on one core, its ledger on disk, a block each second. */
export const sandbox: Benchmark = {
  name: "sandbox",
  about: "accepted transactions and reads of the play-money network, on one core, the generator beside it",
  limits:
    "One core: each transaction is decoded, its signature and work verified, and on disk before its answer; requests of " +
    "one turn of the event loop share a commit. A read writes JSON.",
  run,
}
