/** The thread that keeps the processes of rules in code, for a program that waits for them or goes on meanwhile. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { readFileSync, realpathSync } from "node:fs"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { type MessagePort, workerData } from "node:worker_threads"
import type { Job, JobMessage, JobReply, ReplyMessage, ThreadData } from "./CodeProcess.ts"
import { lineCharsMax, type Reply, type Request } from "./codeWire.ts"
import { readUtf8 } from "./readBytes.ts"

const { port, signal, first } = workerData as ThreadData

const bytesMax = 4_000_000
const filesMax = 100
/** Processor time of one request, and the longest that anybody waits for it, milliseconds. */
const limits = { load: { cpu: 5_000, wall: 60_000 }, ask: { cpu: 1_000, wall: 60_000 } } as const
/** Resident memory, bytes: what is not on the heap counts as well. */
const memoryMax = 512_000_000
const heapMegabytes = 64
/** Seconds of processor time after which the system ends one that nobody looks after any more. */
const orphanSeconds = 600
/** A process that has used so much of it, in milliseconds, is replaced before it is asked again. */
const wornMillis = 300_000
/** Processes that are kept; one that is needed again is started again, with the same texts. */
const keptMax = 4
/** Readings that are remembered: of a file that was reloaded so often nobody asks the oldest any more. */
const knownMax = 64
/** A reply that is nested deeper than any of ours is not handed on: the program's stack would not bear to read it. */
const levelsMax = 400
/** How often the thread shows that it lives. */
const beatMillis = 200
const lookMillis = 10
const ticksPerSecond = 100
const pageBytes = 4_096

interface Rules {
  readonly file: string
  /** What it is made of: read once, so that a file that changes meanwhile changes nothing. */
  readonly texts: Map<string, string>
  pinned: boolean
  /** What it gave when it was read: its functions are asked by their places in it. */
  said: string | undefined
  child: Running | undefined
}

interface Running {
  readonly process: ChildProcess
  text: string
  /** Ends the wait for a line: with it, or with undefined once the process is gone. */
  heard: (line: string | undefined) => void
  why: string | undefined
}

const known = new Map<number, Rules>()
let handles = first

const here = dirname(fileURLToPath(import.meta.url))
/** Whether the kernel lets this process have a network of its own, with nothing in it. */
const unshare = process.platform === "linux" && spawnSync("unshare", ["-rn", "true"]).status === 0

/** Ends a process with the thread that started it. Behind unshare, which would take it back. */
const dying = ["setpriv", "--pdeathsig", "KILL"]
const endsWithUs = process.platform === "linux" && spawnSync(dying[0]!, [...dying.slice(1), "true"]).status === 0

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
  const apart = [...(unshare ? ["unshare", "-rn"] : []), ...(endsWithUs ? dying : [])]
  const command = ["-c", bounded, "sh", ...apart, ...node]
  const child = spawn("/bin/sh", command, { env: {}, cwd: "/", stdio: ["pipe", "pipe", "ignore"] })
  const running: Running = { process: child, text: "", heard: () => {}, why: undefined }
  child.stdout.setEncoding("utf8")
  child.stdout.on("data", (text: string) => {
    running.text += text
    if (running.text.length > lineCharsMax + 1) return end(running, "it says too much")
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

const end = (running: Running, why: string): void => {
  running.why ??= why
  running.process.kill("SIGKILL")
}

/** Processor time of a process, milliseconds; undefined where the system does not say. */
const usedBy = (pid: number | undefined): number | undefined => {
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

const hasEnded = ({ process: { exitCode, signalCode } }: Running): boolean => exitCode !== null || signalCode !== null

const lineOf = (running: Running): Promise<string | undefined> =>
  new Promise((resolve) => {
    if (hasEnded(running)) return resolve(undefined)
    running.heard = (line) => {
      running.heard = () => {}
      resolve(line)
    }
  })

/** Why a process is to be ended that has begun at a time with so much used; undefined while it may go on. */
const excess = (pid: number | undefined, { cpu, wall }: { cpu: number; wall: number }, used: number, begun: number) => {
  if ((usedBy(pid) ?? 0) - used > cpu) return "cpu"
  if (Date.now() - begun > wall) return "wall"
  return memoryOf(pid) > memoryMax ? "memory" : undefined
}

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1)))

/** One request and its reply; undefined where the process ended instead, or was ended. */
const exchange = async (running: Running, rules: Rules, request: Request): Promise<Reply | undefined> => {
  const { process: child } = running
  const used = usedBy(child.pid) ?? 0
  const begun = Date.now()
  const watch = setInterval(() => {
    const why = excess(child.pid, limits[request.op], used, begun)
    if (why !== undefined) end(running, why)
  }, lookMillis)
  try {
    running.text = ""
    child.stdin?.write(`${JSON.stringify(request)}\n`)
    for (;;) {
      const line = await lineOf(running)
      if (line === undefined) return undefined
      const reply = JSON.parse(line) as Reply
      if (isDeeper(reply, levelsMax)) throw new Error("too deep")
      if (request.op === "ask" || !("file" in reply)) return reply
      child.stdin?.write(`${JSON.stringify(textFor(rules, reply.file))}\n`)
    }
  } catch {
    end(running, "it says what nobody says")
    return undefined
  } finally {
    clearInterval(watch)
  }
}

/** The text of a file that is imported: of TypeScript alone, and once it is pinned nothing else. */
const textFor = (rules: Rules, file: unknown): { readonly text?: string; readonly problem?: string } => {
  const named = String(file)
  const held = rules.texts.get(named)
  if (held !== undefined) return { text: held }
  if (rules.pinned || !named.startsWith("/") || !named.endsWith(".ts") || rules.texts.size >= filesMax) return {}
  // A link of a good name could lead to a key, of which an error of the loader would tell.
  if (!realName(named).endsWith(".ts")) return {}
  const read = readUtf8(named, bytesMax)
  if (typeof read !== "string") return read.code === "ENOENT" ? {} : { problem: read.problem }
  if (read.length > 1_000_000) return { problem: "has more than a million characters" }
  rules.texts.set(named, read)
  return { text: read }
}

const realName = (path: string): string => {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

const endedBy = (running: Running | undefined): string => running?.why ?? "exit"

const loaded = async (rules: Rules): Promise<Reply | undefined> => {
  rules.child = start()
  const reply = await exchange(rules.child, rules, { op: "load", file: rules.file })
  rules.pinned = true
  const said = JSON.stringify(reply)
  if (rules.said !== undefined && reply !== undefined && rules.said !== said) {
    end(rules.child, "the same text gives other rules than before")
    return undefined
  }
  rules.said ??= said
  return reply
}

const load = async (file: string): Promise<JobReply> => {
  const rules: Rules = { file, texts: new Map(), pinned: false, said: undefined, child: undefined }
  const reply = await loaded(rules)
  if (reply === undefined) return { ended: endedBy(rules.child) }
  const handle = ++handles
  known.set(handle, rules)
  return { reply, handle, texts: [...rules.texts] }
}

const ask = async (handle: number, request: Request): Promise<JobReply> => {
  const rules = known.get(handle)
  if (rules === undefined) return { ended: "exit" }
  // The one that was needed last stands at the end.
  known.delete(handle)
  known.set(handle, rules)
  const { child } = rules
  if (child !== undefined && (usedBy(child.process.pid) ?? 0) > wornMillis) end(child, "worn")
  const isGone = child === undefined || child.why !== undefined || hasEnded(child)
  if (isGone && (await loaded(rules)) === undefined) return { ended: endedBy(rules.child) }
  const running = rules.child!
  const reply = await exchange(running, rules, request)
  if (reply !== undefined) return { reply, handle, texts: [] }
  rules.child = undefined
  return { ended: endedBy(running) }
}

const endOldest = (): void => {
  for (const [handle, rules] of [...known].slice(0, Math.max(0, known.size - knownMax))) {
    if (rules.child !== undefined) end(rules.child, "idle")
    known.delete(handle)
  }
  const living = [...known.values()].filter(({ child }) => child !== undefined)
  for (const rules of living.slice(0, Math.max(0, living.length - keptMax))) {
    if (rules.child !== undefined) end(rules.child, "idle")
    rules.child = undefined
  }
}

const perform = async (job: Job): Promise<JobReply> => {
  if (job.do === "isolated") return { isolated: unshare }
  const done = job.do === "load" ? await load(job.file) : await ask(job.handle, job.request)
  endOldest()
  return done
}

setInterval(() => Atomics.add(signal, 1, 1), beatMillis)

/** One after the other: two requests at once would be mixed up by the process that they are for. */
let last: Promise<void> = Promise.resolve()
;(port as MessagePort).on("message", ({ id, job }: JobMessage) => {
  last = last
    .then(() => perform(job))
    .catch((error: unknown): JobReply => ({ ended: String(error) }))
    .then((reply) => {
      const message: ReplyMessage = { id, reply }
      port.postMessage(message)
      Atomics.add(signal, 0, 1)
      Atomics.notify(signal, 0)
    })
})
