import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Benchmark, figure } from "../Benchmark.ts"
import { treasuryText } from "./world.ts"

const root = fileURLToPath(new URL("../../../", import.meta.url))
const minutesDefault = 10

/** The launcher's own. */
const heapFlags = readFileSync(join(root, "src/cofferer.sh"), "utf8").match(/--max-[a-z-]+=[0-9]+/g) ?? []

const node = (script: string, ...args: ReadonlyArray<string>) =>
  spawn(
    process.execPath,
    [...heapFlags, "--disable-warning=ExperimentalWarning", `test/bench/soak/${script}`, ...args],
    {
      cwd: root,
      stdio: ["ignore", "pipe", "inherit"],
    },
  )

/** The last line that it prints before it ends, or the first where it goes on. */
const lineOf = (child: ReturnType<typeof node>, what: string, accept: (line: string) => boolean): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = ""
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString()
      const found = text.split("\n").slice(0, -1).find(accept)
      if (found !== undefined) resolve(found)
    })
    child.on("error", reject)
    child.on("exit", (code) => reject(new Error(`${what} ended with ${code}: ${text.slice(-2_000)}`)))
  })

interface Found {
  readonly blocks: number
  readonly waitP50: number
  readonly waitP99: number
  readonly waitMax: number
  readonly loopP99: number
  readonly residentFirst: number
  readonly residentMax: number
  readonly cpuShare: number
}

const run: Benchmark["run"] = async (say, { minutes = minutesDefault }) => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-soak-"))
  const file = join(dir, "soak.yaml")
  // The network has a past when the daemon comes.
  const start = String(Date.now() - 5_000)
  const server = node("rowServer.ts", start)
  let daemon: ReturnType<typeof node> | undefined
  try {
    const port = await lineOf(server, "the row server", () => true)
    writeFileSync(file, treasuryText(`http://127.0.0.1:${port}`))
    say(`10,000 rows a second for ${minutes} min, in blocks of 250 ms; the daemon and the network side by side`)
    daemon = node("daemon.ts", file, dir, start, String(minutes))
    const found = JSON.parse(await lineOf(daemon, "the daemon", (line) => line.startsWith('{"blocks"'))) as Found
    const { blocks, waitP50, waitMax, residentFirst, cpuShare } = found
    const expected = minutes * 240
    say(`${blocks} blocks of ${expected}; wait ${waitP50} ms at the median, ${waitMax} ms at most`)
    say(`${(cpuShare * 100).toFixed(0)} % of a core; ${residentFirst.toFixed(0)} MiB at the beginning`)
    const lower = { better: "lower" } as const
    return [
      figure("poller-soak row to decision p99", [found.waitP99], { unit: "ms", ...lower }),
      figure("poller-soak event loop delay p99", [found.loopP99], { unit: "ms", ...lower }),
      figure("poller-soak resident memory", [found.residentMax], { unit: "MiB", ...lower }),
      figure("poller-soak blocks decided on", [(blocks / expected) * 100], { unit: "%", better: "higher" }),
    ]
  } finally {
    daemon?.kill("SIGKILL")
    server.kill("SIGKILL")
    rmSync(dir, { recursive: true, force: true })
  }
}

/** The daemon at 10,000 rows a second: how long a row waits for a decision, and what that costs. */
export const pollerSoak: Benchmark = {
  name: "poller-soak",
  about: "how long a row waits for its decision at 10,000 rows a second (by name alone; --minutes, 10)",
  byNameAlone: true,
  run,
}
