import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { readFileSync, realpathSync } from "node:fs"
import type { Socket } from "node:net"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { Result } from "effect"
import { readUtf8 } from "../yaml/readBytes.ts"
import { type CodeRequest, lineCharsMax, type Numbered, type Reply, type WireSeen } from "./codeWire.ts"

/** The one process that runs rules files: its start, its calls, and its end. */

/** Processor time of one request, and the longest wait for it, milliseconds. */
const limits = { load: { cpu: 5_000, wall: 60_000 }, ask: { cpu: 500, wall: 10_000 } } as const
/** Resident memory, bytes: what is not on the heap counts as well. */
const memoryMax = 512_000_000
const heapMegabytes = 64
/** Seconds of processor time after which the system ends a process whose parent is gone. */
const orphanSeconds = 600
/** A reply nested deeper than this is dropped: reading it would overflow the stack. */
const levelsMax = 400
const bytesMax = 4_000_000
const filesMax = 100
const lookMillis = 10
const ticksPerSecond = 100
const pageBytes = 4_096

/** A rules file as it was read. Another process can call it after the one that read it ended. */
interface Reading {
  readonly file: string
  /** Source texts: read once, so that a file that changes meanwhile changes nothing. */
  readonly texts: Map<string, string>
  /** Its output when it was loaded: its functions are called by their positions in it. */
  said: string | undefined
}

interface Running {
  readonly process: ChildProcess
  /** Files that it has run, by their places. */
  readonly readings: Array<Reading>
  text: string
  /** Ends the wait for a line: with it, or with undefined once the process is gone. */
  heard: (line: string | undefined) => void
  why: string | undefined
  replies: number
}

/** Why there is no reply: cpu, wall, memory, exit, or words. */
interface Ended {
  readonly ended: string
}

const here = dirname(fileURLToPath(import.meta.url))
const works = (command: string, ...args: ReadonlyArray<string>): boolean =>
  process.platform === "linux" && spawnSync(command, [...args, "true"]).status === 0

/** Ends a process with the program that started it. Behind unshare, which would take it back. */
const dying = ["setpriv", "--pdeathsig", "KILL"] as const
let found: { readonly isIsolated: boolean; readonly endsWithUs: boolean } | undefined
const kernel = () => {
  found ??= { isIsolated: works("unshare", "-rn"), endsWithUs: works(...dying) }
  return found
}

/** True if the kernel lets the process have its own empty network. */
export const isCodeIsolated = (): boolean => kernel().isIsolated

const start = (): Running => {
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
  const { isIsolated, endsWithUs } = kernel()
  const apart = [...(isIsolated ? ["unshare", "-rn"] : []), ...(endsWithUs ? dying : [])]
  const command = ["-c", bounded, "sh", ...apart, ...node]
  const child = spawn("/bin/sh", command, { env: {}, cwd: "/", stdio: ["pipe", "pipe", "ignore"] })
  const running: Running = { process: child, readings: [], text: "", heard: () => {}, why: undefined, replies: 0 }
  child.stdout.setEncoding("utf8")
  child.stdout.on("data", (text: string) => {
    running.text += text
    if (running.text.length > lineCharsMax + 1) return end(running, "its answer is too long")
    const at = running.text.indexOf("\n")
    if (at < 0) return
    const line = running.text.slice(0, at)
    running.text = running.text.slice(at + 1)
    running.heard(line)
  })
  // One that is gone says so by its end.
  child.stdin.on("error", () => {})
  child.on("error", () => running.heard(undefined))
  // Its output ends earlier, while the signal that ended it is not known yet.
  child.on("exit", () => running.heard(undefined))
  // The program waits for a reply, and not for the process.
  child.unref()
  for (const pipe of [child.stdin, child.stdout]) (pipe as Socket).unref()
  return running
}

const end = (running: Running, why: string): void => {
  running.why ??= why
  running.process.kill("SIGKILL")
}

const hasEnded = ({ why, process: { exitCode, signalCode } }: Running): boolean =>
  why !== undefined || exitCode !== null || signalCode !== null

/** Numbers that the system reports of a process; none if it does not. */
const numbersIn = (pid: number | undefined, name: "stat" | "statm"): ReadonlyArray<number> => {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "latin1")
      .replace(/^.*\) /s, "")
      .split(" ")
      .map(Number)
  } catch {
    return []
  }
}

/** Processor time of a process, milliseconds; 0 if the system does not report it. */
const usedBy = (pid: number | undefined): number => {
  const { 11: user = 0, 12: system = 0 } = numbersIn(pid, "stat")
  return ((user + system) * 1_000) / ticksPerSecond
}

const memoryOf = (pid: number | undefined): number => (numbersIn(pid, "statm")[1] ?? 0) * pageBytes

const lineOf = (running: Running): Promise<string | undefined> =>
  new Promise((resolve) => {
    if (hasEnded(running)) return resolve(undefined)
    running.heard = (line) => {
      running.heard = () => {}
      resolve(line)
    }
  })

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1)))

let requests = 0

/** One request and its reply; undefined where the process ended instead, or was ended. */
const exchange = async (running: Running, request: CodeRequest, reading: Reading): Promise<Reply | undefined> => {
  const { process: child } = running
  const { cpu, wall } = limits[request.op]
  const used = usedBy(child.pid)
  const begun = performance.now()
  const watch = setInterval(() => {
    if (memoryOf(child.pid) > memoryMax) end(running, "memory")
    else if (usedBy(child.pid) - used > cpu) end(running, "cpu")
    else if (performance.now() - begun > wall) end(running, "wall")
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
        child.stdin?.write(`${JSON.stringify(textFor(reading, reply.file))}\n`)
        continue
      }
      // After a reply to another request, the next one would be taken for the answer to the next request.
      if (reply.n !== n || (request.op === "ask" && !("told" in reply))) throw new Error("another reply")
      running.replies++
      const { n: _, ...plain } = reply
      return plain as Reply
    }
  } catch {
    end(running, "its answer cannot be understood")
    return undefined
  } finally {
    clearInterval(watch)
  }
}

/**
 * The text of a file that is imported, of TypeScript alone, and once a reading is complete nothing else: `problem`
 * where it cannot be read, nothing where there is none.
 */
const textFor = ({ texts, said }: Reading, file: unknown): { readonly text?: string; readonly problem?: string } => {
  const named = String(file)
  const held = texts.get(named)
  if (held !== undefined) return { text: held }
  if (said !== undefined || !named.startsWith("/") || !named.endsWith(".ts") || texts.size >= filesMax) return {}
  // A link with such a name could lead to a key, and an error of the loader would show a part of it.
  if (!realName(named).endsWith(".ts")) return {}
  const read = readUtf8(named, bytesMax)
  if (typeof read !== "string") return read.code === "ENOENT" ? {} : { problem: read.problem }
  if (read.length > 1_000_000) return { problem: "has more than a million characters" }
  texts.set(named, read)
  return { text: read }
}

const realName = (path: string): string =>
  Result.getOrElse(
    Result.try(() => realpathSync(path)),
    () => path,
  )

const load = async (running: Running, reading: Reading): Promise<Reply | undefined> => {
  const id = running.readings.push(reading) - 1
  const reply = await exchange(running, { op: "load", id, file: reading.file }, reading)
  const said = JSON.stringify(reply)
  if (reply !== undefined && reading.said !== undefined && reading.said !== said) {
    end(running, "the same text gives other rules than before")
    return undefined
  }
  reading.said ??= said
  return reply
}

let last: Promise<unknown> = Promise.resolve()
let child: Running | undefined

/**
 * Gives the process one request at a time. If it ends meanwhile, the next request starts a new one. If a process that
 * has answered before is killed from outside or out of memory, a new one repeats the request once.
 */
const perform = (work: (running: Running) => Promise<Reply | undefined>): Promise<Reply | Ended> => {
  const attempt = async (): Promise<Reply | Ended> => {
    if (child === undefined || hasEnded(child)) child = start()
    const running = child
    const wasUsed = running.replies > 0
    const reply = await work(running)
    if (reply !== undefined) return reply
    const why = running.why ?? (running.process.signalCode === "SIGABRT" ? "memory" : "exit")
    end(running, why)
    return wasUsed && (why === "exit" || why === "memory") ? await attempt() : { ended: why }
  }
  const done = last.then(attempt)
  last = done.catch(() => undefined)
  return done
}

/** Runs a file of rules. */
export const loadCode = async (file: string): Promise<Ended | { readonly reading: Reading; readonly reply: Reply }> => {
  let reading: Reading
  const reply = await perform((running) => {
    reading = { file, texts: new Map(), said: undefined }
    return load(running, reading)
  })
  return "ended" in reply ? reply : { reading: reading!, reply }
}

/** Asks one function of a file that was read. */
export const askCode = (reading: Reading, f: number, seen: WireSeen): Promise<Reply | Ended> =>
  perform(async (running) => {
    if (!running.readings.includes(reading) && (await load(running, reading)) === undefined) return undefined
    return await exchange(running, { op: "ask", id: running.readings.indexOf(reading), f, seen }, reading)
  })
