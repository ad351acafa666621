/** The thread that keeps the processes of rules in code, for a program that waits for them or goes on meanwhile. */
import { realpathSync } from "node:fs"
import { type MessagePort, workerData } from "node:worker_threads"
import type { Job, JobMessage, JobReply, ReplyMessage, ThreadData } from "./CodeProcess.ts"
import {
  endRun,
  exchange,
  type FileTold,
  hasEnded,
  heapWorn,
  isIsolated,
  type Running,
  startRun,
  usedBy,
} from "./codeRun.ts"
import type { Reply, Request } from "./codeWire.ts"
import { readUtf8 } from "./readBytes.ts"

const { port, signal, first } = workerData as ThreadData

const bytesMax = 4_000_000
const filesMax = 100
/** A process that has used so many milliseconds of processor time is replaced before it is asked again. */
const wornMillis = 300_000
/** Processes that are kept; one that is needed again is started again, with the same texts. */
const keptMax = 4
/** Readings that are remembered here. One that is asked later is given anew. */
const knownMax = 64
/** How often the thread shows that it lives. */
const beatMillis = 200

interface Rules {
  readonly file: string
  /** What it is made of: read once, so that a file that changes meanwhile changes nothing. */
  readonly texts: Map<string, string>
  pinned: boolean
  /** What it gave when it was read: its functions are asked by their places in it. */
  said: string | undefined
  child: Running | undefined
  /** Ends once nothing is asked of it any more. Two requests at once would be mixed up by its process. */
  last: Promise<unknown>
  /** Requests that have not ended. */
  waiting: number
}

const known = new Map<number, Rules>()
let handles = first

/** The text of a file that is imported: of TypeScript alone, and once it is pinned nothing else. */
const textFor = (rules: Rules, file: unknown): FileTold => {
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

const endedBy = (running: Running | undefined): string =>
  running?.why ?? (running?.process.signalCode === "SIGABRT" ? "memory" : "exit")

/** What two runs of the same text say alike: all but how long it took. */
const saidOf = (reply: Reply | undefined): string =>
  JSON.stringify(reply !== undefined && "loaded" in reply ? { loaded: { ...reply.loaded, millis: 0 } } : reply)

const loaded = async (rules: Rules): Promise<Reply | undefined> => {
  rules.child = startRun()
  const reply = await exchange(rules.child, { op: "load", file: rules.file }, (named) => textFor(rules, named))
  rules.pinned = true
  const said = saidOf(reply)
  if (rules.said !== undefined && reply !== undefined && rules.said !== said) {
    endRun(rules.child, "the same text gives other rules than before")
    return undefined
  }
  rules.said ??= said
  return reply
}

/** One after the other, for each file; files do not wait for each other. */
const inTurn = async <A>(rules: Rules, work: () => Promise<A>): Promise<A> => {
  rules.waiting++
  const done = rules.last.then(work).finally(() => rules.waiting--)
  rules.last = done.catch(() => undefined)
  return await done
}

const unasked = { last: Promise.resolve(), waiting: 0, child: undefined }

const load = async (file: string): Promise<JobReply> => {
  const rules: Rules = { file, texts: new Map(), pinned: false, said: undefined, ...unasked }
  const reply = await inTurn(rules, () => loaded(rules))
  if (reply === undefined) return { ended: endedBy(rules.child) }
  const handle = ++handles
  if ("loaded" in reply) known.set(handle, rules)
  else if (rules.child !== undefined) endRun(rules.child, "idle")
  return { reply, handle, texts: [...rules.texts] }
}

/** Takes what was read before: by a thread that is gone, or so long ago that it was forgotten here. */
const adopt = ({ handle, file, texts, reply }: Extract<Job, { readonly do: "adopt" }>): JobReply => {
  known.set(handle, { file, texts: new Map(texts), pinned: true, said: saidOf(reply), ...unasked })
  return { adopted: handle }
}

const ask = async (handle: number, request: Request): Promise<JobReply> => {
  const rules = known.get(handle)
  if (rules === undefined) return { unknown: handle }
  // The one that was needed last stands at the end.
  known.delete(handle)
  known.set(handle, rules)
  return await inTurn(rules, () => askOf(rules, handle, request))
}

const isWorn = (running: Running): boolean => (usedBy(running.process.pid) ?? 0) > wornMillis || running.heap > heapWorn

const askOf = async (rules: Rules, handle: number, request: Request): Promise<JobReply> => {
  const { child } = rules
  if (child !== undefined && isWorn(child)) endRun(child, "worn")
  const isGone = child === undefined || child.why !== undefined || hasEnded(child)
  if (isGone && (await loaded(rules)) === undefined) return { ended: endedBy(rules.child) }
  const running = rules.child!
  const isUsed = running.replies > 1
  const reply = await exchange(running, request, (named) => textFor(rules, named))
  if (reply !== undefined) return { reply, handle, texts: [] }
  rules.child = undefined
  const why = endedBy(running)
  // Who was killed from outside, or has used its memory up, says nothing of the code: a new one is asked, once.
  if (isUsed && (why === "exit" || why === "memory")) return await askOf(rules, handle, request)
  return { ended: why }
}

const endOldest = (): void => {
  const idle = [...known].filter(([, { waiting }]) => waiting === 0)
  for (const [handle, rules] of idle.slice(0, Math.max(0, known.size - knownMax))) {
    if (rules.child !== undefined) endRun(rules.child, "idle")
    known.delete(handle)
  }
  const living = [...known.values()].filter(({ child }) => child !== undefined)
  const spare = living.filter(({ waiting }) => waiting === 0)
  for (const rules of spare.slice(0, Math.max(0, living.length - keptMax))) {
    if (rules.child !== undefined) endRun(rules.child, "idle")
    rules.child = undefined
  }
}

const perform = async (job: Job): Promise<JobReply> => {
  if (job.do === "isolated") return { isolated: isIsolated }
  if (job.do === "adopt") return adopt(job)
  const done = job.do === "load" ? await inTurn(loads, () => load(job.file)) : await ask(job.handle, job.request)
  endOldest()
  return done
}

/** Files are read one after the other: a folder full of them would need as many processes at once. */
const loads: Rules = { file: "", texts: new Map(), pinned: true, said: undefined, ...unasked }

setInterval(() => Atomics.add(signal, 1, 1), beatMillis)
;(port as MessagePort).on("message", ({ id, job }: JobMessage) => {
  void perform(job)
    .catch((error: unknown): JobReply => ({ ended: String(error) }))
    .then((reply) => {
      const message: ReplyMessage = { id, reply }
      port.postMessage(message)
      Atomics.add(signal, 0, 1)
      Atomics.notify(signal, 0)
    })
})
