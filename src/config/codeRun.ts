/** One process that runs a file of rules: how it is started, what it is asked, and when it is ended. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { lineCharsMax, type Numbered, type Reply, type Request } from "./codeWire.ts"

/** Processor time of one request, and the longest that anybody waits for it, milliseconds. */
const limits = { load: { cpu: 5_000, wall: 60_000 }, ask: { cpu: 1_500, wall: 60_000 } } as const
/** Resident memory, bytes: what is not on the heap counts as well. */
const memoryMax = 512_000_000
const heapMegabytes = 64
/** One whose heap is used so far is replaced before it is asked again: each run of its files leaves something. */
export const heapWorn = 28_000_000
/** Seconds of processor time after which the system ends one that nobody looks after any more. */
const orphanSeconds = 600
/** A reply that is nested deeper than any of ours is not handed on: the program's stack would not bear to read it. */
const levelsMax = 400
const lookMillis = 10
const ticksPerSecond = 100
const pageBytes = 4_096

export interface Running {
  readonly process: ChildProcess
  text: string
  /** Ends the wait for a line: with it, or with undefined once the process is gone. */
  heard: (line: string | undefined) => void
  why: string | undefined
  /** Replies that it gave. */
  replies: number
  /** Bytes of its heap in use, as it says. */
  heap: number
}

const here = dirname(fileURLToPath(import.meta.url))
/** Whether the kernel lets this process have a network of its own, with nothing in it. */
export const isIsolated = process.platform === "linux" && spawnSync("unshare", ["-rn", "true"]).status === 0

/** Ends a process with the thread that started it. Behind unshare, which would take it back. */
const dying = ["setpriv", "--pdeathsig", "KILL"]
const endsWithUs = process.platform === "linux" && spawnSync(dying[0]!, [...dying.slice(1), "true"]).status === 0

export const startRun = (): Running => {
  const node = [
    process.execPath,
    "--permission",
    `--allow-fs-read=${here}/`,
    `--max-old-space-size=${heapMegabytes}`,
    "--disallow-code-generation-from-strings",
    "--no-addons",
    "--disable-warning=ExperimentalWarning",
    `${here}/codeChild.ts`,
  ]
  const bounded = `ulimit -c 0; ulimit -t ${orphanSeconds}; exec "$@"`
  const apart = [...(isIsolated ? ["unshare", "-rn"] : []), ...(endsWithUs ? dying : [])]
  const command = ["-c", bounded, "sh", ...apart, ...node]
  const child = spawn("/bin/sh", command, { env: {}, cwd: "/", stdio: ["pipe", "pipe", "ignore"] })
  const running: Running = { process: child, text: "", heard: () => {}, why: undefined, replies: 0, heap: 0 }
  child.stdout.setEncoding("utf8")
  child.stdout.on("data", (text: string) => {
    running.text += text
    if (running.text.length > lineCharsMax + 1) return endRun(running, "it says too much")
    const at = running.text.indexOf("\n")
    if (at < 0) return
    const line = running.text.slice(0, at)
    running.text = running.text.slice(at + 1)
    running.heard(line)
  })
  // One that is gone says so by its end.
  child.stdin.on("error", () => {})
  child.on("error", () => running.heard(undefined))
  child.stdout.on("close", () => running.heard(undefined))
  // Its output may have ended before somebody waits for it.
  child.on("exit", () => running.heard(undefined))
  child.unref()
  return running
}

export const endRun = (running: Running, why: string): void => {
  running.why ??= why
  running.process.kill("SIGKILL")
}

/** Processor time of a process, milliseconds; undefined where the system does not say. */
export const usedBy = (pid: number | undefined): number | undefined => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "latin1")
      .replace(/^.*\) /s, "")
      .split(" ")
    return ((Number(fields[11]) + Number(fields[12])) * 1_000) / ticksPerSecond
  } catch {
    return undefined
  }
}

const memoryOf = (pid: number | undefined): number => {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, "latin1").split(" ")[1]) * pageBytes
  } catch {
    return 0
  }
}

export const hasEnded = ({ process: { exitCode, signalCode } }: Running): boolean =>
  exitCode !== null || signalCode !== null

const lineOf = (running: Running): Promise<string | undefined> =>
  new Promise((resolve) => {
    if (hasEnded(running)) return resolve(undefined)
    running.heard = (line) => {
      running.heard = () => {}
      resolve(line)
    }
  })

let requests = 0

/** Why a process is to be ended that has begun at a time with so much used; undefined while it may go on. */
const excess = (pid: number | undefined, { cpu, wall }: { cpu: number; wall: number }, used: number, begun: number) => {
  if ((usedBy(pid) ?? 0) - used > cpu) return "cpu"
  if (performance.now() - begun > wall) return "wall"
  return memoryOf(pid) > memoryMax ? "memory" : undefined
}

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1)))

/** What it is told of a file that it imports: `problem` where it cannot be read, nothing where there is none. */
export interface FileTold {
  readonly text?: string
  readonly problem?: string
}

/**
 * One request and its reply; undefined where the process ended instead, or was ended. `fileTold` answers what it asks
 * for meanwhile.
 */
export const exchange = async (
  running: Running,
  request: Request,
  fileTold: (file: unknown) => FileTold,
): Promise<Reply | undefined> => {
  const { process: child } = running
  const used = usedBy(child.pid) ?? 0
  const begun = performance.now()
  const watch = setInterval(() => {
    const why = excess(child.pid, limits[request.op], used, begun)
    if (why !== undefined) endRun(running, why)
  }, lookMillis)
  try {
    running.text = ""
    const n = ++requests
    child.stdin?.write(`${JSON.stringify({ ...request, n } satisfies Numbered)}\n`)
    for (;;) {
      const line = await lineOf(running)
      if (line === undefined) return undefined
      const reply = JSON.parse(line) as Reply & { readonly n?: unknown }
      if (isDeeper(reply, levelsMax)) throw new Error("too deep")
      if (request.op === "load" && "file" in reply) {
        child.stdin?.write(`${JSON.stringify(fileTold(reply.file))}\n`)
        continue
      }
      // What is no reply to this request would be followed by one that is taken for the next one's.
      if (reply.n !== n || (request.op === "ask" && !("told" in reply))) throw new Error("another reply")
      running.replies++
      if ("heap" in reply) running.heap = Number(reply.heap)
      const { n: _, ...plain } = reply
      return plain as Reply
    }
  } catch {
    endRun(running, "it says what nobody says")
    return undefined
  } finally {
    clearInterval(watch)
  }
}
