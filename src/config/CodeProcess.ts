import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads"
import type { Reply, Request } from "./codeWire.ts"

type Texts = ReadonlyArray<readonly [path: string, text: string]>

/** What the thread is given to do. What is about one file is done in its order. */
export type Job =
  | { readonly do: "load"; readonly file: string }
  /** Takes what was read before: `reply` is what it gave. */
  | {
      readonly do: "adopt"
      readonly handle: number
      readonly file: string
      readonly texts: Texts
      readonly reply: Reply
    }
  | { readonly do: "ask"; readonly handle: number; readonly request: Request }
  | { readonly do: "isolated" }

export type JobReply =
  | { readonly reply: Reply; readonly handle: number; readonly texts: Texts }
  | { readonly adopted: number }
  /** It was read by another thread, or is forgotten. */
  | { readonly unknown: number }
  /** Why there is none: cpu, wall, memory, exit, or words. */
  | { readonly ended: string }
  | { readonly isolated: boolean }

export interface ThreadData {
  readonly port: MessagePort
  /** The first counts replies, the second beats while the thread lives. */
  readonly signal: Int32Array
  /** What it reads is numbered from here: no number of a thread before it is one of its own. */
  readonly first: number
}

/** What is said to the thread, and what it says, by number. */
export interface JobMessage {
  readonly id: number
  readonly job: Job
}
export interface ReplyMessage {
  readonly id: number
  readonly reply: JobReply
}

interface Thread extends ThreadData {
  readonly worker: Worker
  /** Who waits for a reply, by its number. */
  readonly waiting: Map<number, (reply: JobReply) => void>
}

/** How long is waited before it is looked whether the thread lives, and after how many such times it does not. */
const sliceMillis = 1_000
const slicesMax = 15
/** So long nobody waits for a reply that does not keep the program: what the thread does is bounded far below. */
const laterMillisMax = 300_000
const silent: JobReply = { ended: "the thread that keeps its process gives no answer" }

let thread: Thread | undefined
let ids = 0
let threads = 0
/** More than one thread reads. */
const perThread = 2 ** 32

const startThread = (): Thread => {
  const { port1, port2 } = new MessageChannel()
  const signal = new Int32Array(new SharedArrayBuffer(8))
  const first = ++threads * perThread
  const data: ThreadData = { port: port2, signal, first }
  const worker = new Worker(new URL("./codeThread.ts", import.meta.url), {
    workerData: data,
    transferList: [port2],
    env: {},
    execArgv: ["--disable-warning=ExperimentalWarning"],
    name: "cofferer-code",
  })
  const started: Thread = { port: port1, signal, first, worker, waiting: new Map() }
  worker.on("error", () => giveUp(started))
  worker.on("exit", () => giveUp(started))
  port1.on("message", (message: ReplyMessage) => settle(started, message))
  worker.unref()
  port1.unref()
  return started
}

const settle = ({ port, waiting }: Thread, { id, reply }: ReplyMessage): void => {
  waiting.get(id)?.(reply)
  waiting.delete(id)
  if (waiting.size === 0) port.unref()
}

const giveUp = (given: Thread): void => {
  if (thread === given) thread = undefined
  // Its processes end with it. One that stalled would keep them for ever.
  void given.worker.terminate()
  for (const id of [...given.waiting.keys()]) settle(given, { id, reply: silent })
}

/** Ends the thread and its processes. What they read is asked of the next one, which starts when it is needed. */
export const endThread = (): void => {
  if (thread !== undefined) giveUp(thread)
}

/** Waits until there are more replies than there were, for as long as the thread lives: it bounds its own waits. */
const hasMore = (signal: Int32Array, replies: number): boolean => {
  let beats = Atomics.load(signal, 1)
  for (let quiet = 0; quiet < slicesMax; quiet++) {
    if (Atomics.wait(signal, 0, replies, sliceMillis) !== "timed-out") return true
    const now = Atomics.load(signal, 1)
    if (now !== beats) quiet = 0
    beats = now
  }
  return false
}

const say = (job: Job): { readonly to: Thread; readonly id: number } => {
  thread ??= startThread()
  const message: JobMessage = { id: ++ids, job }
  thread.port.postMessage(message)
  return { to: thread, id: message.id }
}

/**
 * Has the thread do something and waits for it. The processes that run code are bounded in time; a thread that gives no
 * answer at all is given up.
 */
const perform = (job: Job): JobReply => {
  const { to, id } = say(job)
  for (;;) {
    const replies = Atomics.load(to.signal, 0)
    for (;;) {
      const received = receiveMessageOnPort(to.port) as { readonly message: ReplyMessage } | undefined
      if (received === undefined) break
      if (received.message.id === id) return received.message.reply
      settle(to, received.message)
    }
    if (hasMore(to.signal, replies)) continue
    giveUp(to)
    return silent
  }
}

/** The same without keeping the program, which stays alive for the reply. */
const performLater = (job: Job): Promise<JobReply> =>
  new Promise((resolve) => {
    const { to, id } = say(job)
    const late = setTimeout(() => giveUp(to), laterMillisMax)
    late.unref()
    to.waiting.set(id, (reply) => {
      clearTimeout(late)
      resolve(reply)
    })
    to.port.ref()
  })

/** A file of rules as it was read: whoever has it can ask it, whatever became of the process that read it. */
export interface Reading {
  readonly handle: number
  readonly file: string
  readonly texts: Texts
  readonly reply: Reply
}

type Loaded = Reading | { readonly ended: string }

const loadedIn = (file: string, done: JobReply): Loaded => {
  if (!("reply" in done)) return { ended: "ended" in done ? done.ended : "" }
  const { handle, reply, texts } = done
  return { handle, file, texts, reply }
}

/** Runs a file of rules in a new process. */
export const loadCode = (file: string): Loaded => loadedIn(file, perform({ do: "load", file }))

/** The same without keeping the program. */
export const loadCodeLater = async (file: string): Promise<Loaded> =>
  loadedIn(file, await performLater({ do: "load", file }))

type Asked = Reply | { readonly ended: string }

const askedIn = (done: JobReply): Asked => {
  if ("reply" in done) return done.reply
  return { ended: "ended" in done ? done.ended : "" }
}

const adopting = (reading: Reading): Job => ({ do: "adopt", ...reading })

/** Asks one of its functions. */
export const askLoaded = (reading: Reading, request: Request): Asked => {
  const { handle } = reading
  const done = perform({ do: "ask", handle, request })
  if (!("unknown" in done)) return askedIn(done)
  perform(adopting(reading))
  return askedIn(perform({ do: "ask", handle, request }))
}

/** The same without keeping the program. */
export const askLoadedLater = async (reading: Reading, request: Request): Promise<Asked> => {
  const { handle } = reading
  const done = await performLater({ do: "ask", handle, request })
  if (!("unknown" in done)) return askedIn(done)
  await performLater(adopting(reading))
  return askedIn(await performLater({ do: "ask", handle, request }))
}

/** Whether the processes of code have a network of their own, with nothing in it. */
export const isCodeIsolated = (): boolean => {
  const done = perform({ do: "isolated" })
  return "isolated" in done && done.isolated
}
