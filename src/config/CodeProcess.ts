import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads"
import type { Reply, Request } from "./codeWire.ts"

/** What the thread is given to do, one at a time. */
export type Job =
  | { readonly do: "load"; readonly file: string }
  | { readonly do: "ask"; readonly handle: number; readonly request: Request }
  | { readonly do: "isolated" }

export type JobReply =
  | { readonly reply: Reply; readonly handle: number; readonly texts: ReadonlyArray<readonly [string, string]> }
  /** Why there is none: cpu, wall, memory, exit, or words. */
  | { readonly ended: string }
  | { readonly isolated: boolean }

export interface ThreadData {
  readonly port: MessagePort
  /** The first becomes 1 when the reply lies at the port; the second counts while the thread lives. */
  readonly signal: Int32Array
}

interface Thread {
  readonly port: MessagePort
  readonly signal: Int32Array
}

/** How long is waited before it is looked whether the thread lives, and after how many such times it does not. */
const sliceMillis = 1_000
const slicesMax = 15

let thread: Thread | undefined

const startThread = (): Thread => {
  const { port1, port2 } = new MessageChannel()
  const signal = new Int32Array(new SharedArrayBuffer(8))
  const data: ThreadData = { port: port2, signal }
  const worker = new Worker(new URL("./codeThread.ts", import.meta.url), {
    workerData: data,
    transferList: [port2],
    env: {},
    execArgv: ["--disable-warning=ExperimentalWarning"],
    name: "cofferer-code",
  })
  worker.unref()
  port1.unref()
  worker.on("error", () => {
    thread = undefined
  })
  return { port: port1, signal }
}

/** Waits for the thread, for as long as it lives: it bounds what it waits for itself. */
const isAnswered = (signal: Int32Array): boolean => {
  let beats = Atomics.load(signal, 1)
  for (let silent = 0; silent < slicesMax; silent++) {
    if (Atomics.wait(signal, 0, 0, sliceMillis) !== "timed-out") return true
    const now = Atomics.load(signal, 1)
    if (now !== beats) silent = 0
    beats = now
  }
  return false
}

/**
 * Has the thread do something and waits for it: rules are judged in one go, and what they ask of code is part of that.
 * The processes that run code are bounded in time; a thread that gives no answer at all is given up.
 */
const perform = (job: Job): JobReply => {
  thread ??= startThread()
  const { port, signal } = thread
  Atomics.store(signal, 0, 0)
  port.postMessage(job)
  if (isAnswered(signal)) {
    const received = receiveMessageOnPort(port) as { readonly message: JobReply } | undefined
    if (received !== undefined) return received.message
  }
  thread = undefined
  return { ended: "the thread that keeps its process gives no answer" }
}

/** A file of rules as it was read, in a process of its own. */
export interface Loaded {
  readonly handle: number
  readonly reply: Reply
  /** The file and all that it imports, by their paths. */
  readonly texts: ReadonlyMap<string, string>
}

/** Runs a file of rules in a new process. */
export const loadCode = (file: string): Loaded | { readonly ended: string } => {
  const done = perform({ do: "load", file })
  if ("reply" in done) return { handle: done.handle, reply: done.reply, texts: new Map(done.texts) }
  return { ended: "ended" in done ? done.ended : "" }
}

/** Asks one of its functions, twice. */
export const askLoaded = (handle: number, request: Request): Reply | { readonly ended: string } => {
  const done = perform({ do: "ask", handle, request })
  if ("reply" in done) return done.reply
  return { ended: "ended" in done ? done.ended : "" }
}

/** Whether the processes of code have a network of their own, with nothing in it. */
export const isCodeIsolated = (): boolean => {
  const done = perform({ do: "isolated" })
  return "isolated" in done && done.isolated
}
