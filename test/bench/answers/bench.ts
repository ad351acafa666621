import { type ChildProcess, spawn } from "node:child_process"
import { cpus } from "node:os"
import { fileURLToPath } from "node:url"
import { type Benchmark, figure } from "../Benchmark.ts"

const root = fileURLToPath(new URL("../../../", import.meta.url))
const rounds = 3
/** No round may hang the run. */
const patienceMillis = 600_000

interface Found {
  readonly count: number
  readonly problems: ReadonlyArray<string>
  readonly grown: ReadonlyArray<number>
  readonly slowest: ReadonlyArray<{ readonly name: string; readonly millis: number }>
}

/** A process on one core; where the machine cannot bind it, on any. */
const spawnOn = (core: number, file: string, args: ReadonlyArray<string>): ChildProcess => {
  const node = [process.execPath, "--disable-warning=ExperimentalWarning", "--expose-gc", file, ...args]
  const bound = process.platform === "linux" && cpus().length > 1
  const [command = "", ...rest] = bound ? ["taskset", "-c", String(core), ...node] : node
  return spawn(command, rest, { cwd: root, stdio: ["ignore", "pipe", "inherit"] })
}

const firstLine = (child: ChildProcess): Promise<unknown> =>
  new Promise((resolve, reject) => {
    let text = ""
    const late = setTimeout(() => reject(new Error(`no line within ${patienceMillis} ms`)), patienceMillis)
    child.stdout?.on("data", (chunk: Buffer) => {
      text += chunk.toString()
      const end = text.indexOf("\n")
      if (end < 0) return
      clearTimeout(late)
      resolve(JSON.parse(text.slice(0, end)))
    })
    child.on("error", reject)
    child.on("exit", (code) => reject(new Error(`ended with ${code} before it said anything`)))
  })

const run: Benchmark["run"] = async (say) => {
  const server = spawnOn(0, "test/bench/answers/server.ts", [])
  try {
    const { url } = (await firstLine(server)) as { url: string }
    const client = spawnOn(1, "test/bench/answers/client.ts", [url, String(rounds)])
    const { count, problems, grown, slowest } = (await firstLine(client)) as Found
    say(`${count} bad answers, ${rounds} rounds after a first; the slowest:`)
    for (const { name, millis } of slowest.slice(0, 5)) say(`${millis.toFixed(1)} ms  ${name}`)
    for (const problem of problems.slice(0, 5)) say(`wrong: ${problem}`)
    return [
      figure(
        "answers longest turn",
        slowest.slice(0, 1).map(({ millis }) => millis),
        { unit: "ms", better: "lower" },
      ),
      figure("answers memory growth", grown, { unit: "MiB", better: "lower" }),
    ]
  } finally {
    server.kill("SIGKILL")
  }
}

/** Every bad answer of the corpus over real HTTP: the longest turn of the event loop by CPU time, and what stays. */
export const answers: Benchmark = {
  name: "answers",
  about: "how long the worst of all bad answers holds the event loop, and the memory that they leave behind",
  run,
}
