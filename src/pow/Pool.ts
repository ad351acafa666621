import type { Worker } from "node:worker_threads"
import { Schema } from "effect"

const detail = Schema.String

/** Why no proof of work was found. */
const PowReason = Schema.TaggedUnion({
  /** The difficulty is not a whole number from 0 to the cap; it may not be finite. */
  // @effect-diagnostics-next-line schemaNumber:off
  DifficultyRefused: { difficulty: Schema.Number, difficultyMax: Schema.Int },
  /** The block hash or the tid does not have 64 characters: no nonce would pass. */
  WorkRefused: { detail },
  /**
   * At the measured rate the work would not be found in time, so no search was begun. `isQueued`: it would be in time
   * without the searches queued before it.
   */
  TooSlow: { detail, isQueued: Schema.Boolean },
  /** Nothing was found in time. */
  OutOfTime: { detail },
  /** All workers are busy and the queue is at its bound. */
  QueueFull: { queueSizeMax: Schema.Int },
  /** The thread ended in the middle of the search; the next search gets a new one. */
  WorkerDied: { detail },
  /** A worker's nonce did not pass the check of the calling thread. It was not returned. */
  WrongNonce: { nonce: Schema.BigInt },
  /** The pool was shut down before the search ended. */
  Stopped: {},
})

/** A proof of work was not found. */
export class PowError extends Schema.TaggedError<PowError>()("PowError", { reason: PowReason }) {
  override get message(): string {
    return `solve: ${this.reason._tag}: ${this.words}`
  }
  /** Why, for people. */
  get words(): string {
    const { reason } = this
    switch (reason._tag) {
      case "DifficultyRefused":
        return `difficulty ${reason.difficulty} is not one of 0 to ${reason.difficultyMax}, above which no machine finds work in time`
      case "QueueFull":
        return `${reason.queueSizeMax} searches wait already`
      case "WrongNonce":
        return `the thread's nonce ${reason.nonce} is not a solution`
      case "Stopped":
        return "the process ends"
      default:
        return reason.detail
    }
  }
}

export const powError = (reason: PowError["reason"]): PowError => new PowError({ reason })

/** Measured time (milliseconds) above which the older half loses its weight: a machine's speed changes. */
const memoryMillis = 5_000
/** Shortest measured time that counts (milliseconds): a new thread is slow, and clocks are coarse. */
const measuredMillis = 20

/** No work is refused by a measurement older than this: the machine may have been busy then. */
const oldMillis = 30_000

/**
 * Hashes that one thread of this process computes in a millisecond, measured on real searches. It is not stored: the
 * next process may run on another machine.
 */
const makeHashRate = () => {
  let hashes = 0
  let millis = 0
  let notedAt = 0
  return {
    note: (more: number, took: number): void => {
      if (!(more > 0 && took > 0)) return
      hashes += more
      millis += took
      notedAt = performance.now()
      if (millis <= memoryMillis) return
      hashes /= 2
      millis /= 2
    },
    /** Undefined until enough was measured. */
    perMilli: (): number | undefined => (millis < measuredMillis ? undefined : hashes / millis),
    /** True if nothing was measured for so long that the machine's speed may have changed. */
    isOld: (): boolean => performance.now() - notedAt > oldMillis,
    forget: (): void => {
      hashes = 0
      millis = 0
    },
  }
}

/**
 * Searches of one treasury that may wait for a worker. It has a handful of payments in flight; more waiting than this
 * means that the requested hashes cannot be computed before their blocks are too old.
 */
export const queueSizeMax = 64

/** A thread without an answer for this long hangs: once started it answers ten times a second. */
export const silentMillisMax = 5_000
/** Checks of a silent thread before it is ended: a process that was suspended makes only one of them on waking. */
const checksMax = 5
/** The same for a thread that has never answered (30 s by default): loading its code took a busy machine over 5 s. */
const startChecksMax = 30

/** Sent to a worker. The preimage ends in the 8 bytes of the nonce; difficulty is 0 to 32. */
export interface WorkerJob {
  readonly preimage: Uint8Array
  readonly difficulty: number
  /** The first nonce to try. */
  readonly from: number
}

/** Sent back after a part of the search: the nonce, if found, and where to go on. `millis` is the part's duration. */
export interface WorkerAnswer {
  readonly nonce: number | undefined
  readonly next: number
  readonly millis: number
}

/** `millis` is the duration of the search without the time in the queue. */
export interface FoundNonce {
  readonly nonce: number
  readonly millis: number
}

/** Starts a thread that answers each WorkerJob with one WorkerAnswer, at once when `cancelled[0]` is not 0. */
export type Spawn = (cancelled: Int32Array<SharedArrayBuffer>) => Worker

interface PoolOptions {
  /** Threads, at most; each is started when a search first needs it. */
  readonly size: number
  readonly queueSizeMax: number
  readonly silentMillisMax: number
  readonly spawn: Spawn
}

export type Job = Omit<WorkerJob, "from">
type Done = (outcome: FoundNonce | PowError) => void
interface Entry {
  readonly job: Job
  /** The lower one goes first. */
  readonly rank: number
  /** The treasury that asks. */
  readonly owner: string
  /** Among equal ranks the owners take turns, one search of each in a round. */
  readonly round: number
  /** True if it ends with its first part, whatever that found. */
  readonly once: boolean
  /** Undefined once the caller no longer waits. */
  done: Done | undefined
  from: number
  millis: number
}
interface Slot {
  readonly worker: Worker
  readonly cancelled: Int32Array
  entry: Entry | undefined
  silentChecks: number
  hasAnswered: boolean
}

export type Pool = ReturnType<typeof makePool>

/**
 * A fixed number of threads, each searching for one piece of work at a time, and a bounded queue before them. A search
 * for less work goes first, also before one that has begun, which later continues where it was.
 */
export const makePool = (options: PoolOptions) => {
  const slots = new Set<Slot>()
  const queue: Array<Entry> = []
  const rate = makeHashRate()
  let closed = false
  let watch: ReturnType<typeof setInterval> | undefined

  const isBehind = (other: Entry, { rank, round }: Pick<Entry, "rank" | "round">) =>
    other.rank > rank || (other.rank === rank && other.round > round)
  const enqueue = (entry: Entry) => {
    const before = queue.findIndex((other) => isBehind(other, entry))
    queue.splice(before < 0 ? queue.length : before, 0, entry)
  }
  const waitingOf = (owner: string) => queue.filter((entry) => entry.owner === owner)
  /** The highest round that was begun. A new search of an owner without others goes neither before it nor after all. */
  let served = 0
  const nextRound = (owner: string) => Math.max(served, ...waitingOf(owner).map(({ round }) => round + 1))

  const answered = (slot: Slot, { nonce, next, millis }: WorkerAnswer) => {
    const { entry } = slot
    slot.entry = undefined
    if (entry === undefined) return
    rate.note(next - entry.from, millis)
    entry.from = next
    entry.millis += millis
    if (nonce !== undefined) finish(entry, { nonce, millis: entry.millis })
    else if (entry.once) finish(entry, powError({ _tag: "OutOfTime", detail: "it was for the measurement alone" }))
    else if (entry.done !== undefined) enqueue(entry)
  }

  const assign = () => {
    if (closed) return
    while (queue.length > 0) {
      let slot = [...slots].find((slot) => slot.entry === undefined)
      if (slot === undefined && slots.size >= options.size) break
      const entry = queue.shift()!
      try {
        slot ??= start(options.spawn, { slots, answered, assign })
      } catch (error) {
        finish(entry, powError({ _tag: "WorkerDied", detail: `no thread could be started: ${describe(error)}` }))
        continue
      }
      served = Math.max(served, entry.round)
      slot.entry = entry
      slot.silentChecks = 0
      Atomics.store(slot.cancelled, 0, 0)
      slot.worker.postMessage({ ...entry.job, from: entry.from })
    }
    yieldToEasier(slots, queue[0])
    watchThreads()
  }

  const watchThreads = () => {
    const isBusy = [...slots].some(({ entry }) => entry !== undefined)
    if (isBusy === (watch !== undefined)) return
    if (isBusy) watch = setInterval(() => endSilent(slots), options.silentMillisMax / checksMax).unref()
    else {
      clearInterval(watch)
      watch = undefined
    }
  }

  const cancel = (entry: Entry) => {
    entry.done = undefined
    const at = queue.indexOf(entry)
    if (at >= 0) queue.splice(at, 1)
    for (const slot of slots) if (slot.entry === entry) Atomics.store(slot.cancelled, 0, 1)
  }

  const begin = (entry: Entry) => {
    enqueue(entry)
    assign()
    if (closed) for (const left of queue.splice(0)) finish(left, powError({ _tag: "Stopped" }))
    else {
      const own = waitingOf(entry.owner)
      if (own.length > options.queueSizeMax) {
        const last = own.at(-1)!
        queue.splice(queue.indexOf(last), 1)
        finish(last, powError({ _tag: "QueueFull", queueSizeMax: options.queueSizeMax }))
      }
    }
    return () => cancel(entry)
  }

  return {
    /** Begins or queues a search and returns its cancellation. `done` is called at most once, and not after that. */
    run: (owner: string, job: Job, done: Done) => {
      const round = nextRound(owner)
      return begin({ owner, round, job, done, rank: job.difficulty, once: false, from: 0, millis: 0 })
    },
    /** Measures the rate by a short search before all others; `done` as above. */
    measure: (job: Job, done: Done) => {
      rate.forget()
      return begin({ owner: "", round: 0, job, done, rank: -1, once: true, from: 0, millis: 0 })
    },
    rate: rate.perMilli,
    isOld: rate.isOld,
    /** Hashes that one thread is expected to make before it begins with the owner's work of this difficulty. */
    ahead: (owner: string, difficulty: number): number => {
      const begun = [...slots].flatMap(({ entry }) => (entry?.done === undefined ? [] : [entry]))
      const place = { rank: difficulty, round: nextRound(owner) }
      const before = [
        ...begun.filter(({ job }) => job.difficulty <= difficulty),
        ...queue.filter((entry) => !entry.once && !isBehind(entry, place)),
      ]
      if (before.length < options.size) return 0
      return before.reduce((sum, { job }) => sum + 2 ** job.difficulty, 0) / options.size
    },
    /** Ends all threads; waiting searches fail with `Stopped`. */
    close: async (): Promise<void> => {
      closed = true
      clearInterval(watch)
      for (const entry of queue.splice(0)) finish(entry, powError({ _tag: "Stopped" }))
      for (const slot of slots) finish(slot.entry, powError({ _tag: "Stopped" }))
      await Promise.all([...slots].map((slot) => slot.worker.terminate()))
    },
  }
}

/** If all threads do harder work than the first waiting search, the one with the hardest must answer now. */
const yieldToEasier = (slots: ReadonlySet<Slot>, first: Entry | undefined): void => {
  if (first === undefined) return
  const hardest = [...slots].reduce((a, b) => (rankOf(b) > rankOf(a) ? b : a))
  if (rankOf(hardest) > first.rank) Atomics.store(hardest.cancelled, 0, 1)
}

const rankOf = ({ entry }: Slot): number => entry?.rank ?? 0

/** Ends the threads that gave no answer for too many checks in a row. */
const endSilent = (slots: ReadonlySet<Slot>): void => {
  for (const slot of slots) {
    if (slot.entry === undefined) continue
    slot.silentChecks++
    if (slot.silentChecks === checksAllowed(slot)) void slot.worker.terminate()
  }
}

const checksAllowed = ({ hasAnswered }: Slot): number => (hasAnswered ? checksMax : startChecksMax)

interface SlotContext {
  readonly slots: Set<Slot>
  readonly answered: (slot: Slot, answer: WorkerAnswer) => void
  readonly assign: () => void
}

const start = (spawn: Spawn, { slots, answered, assign }: SlotContext): Slot => {
  const cancelled = new Int32Array(new SharedArrayBuffer(4))
  const slot: Slot = { worker: spawn(cancelled), cancelled, entry: undefined, silentChecks: 0, hasAnswered: false }
  let detail = "the thread ended"
  slot.worker.on("message", (answer: WorkerAnswer) => {
    slot.hasAnswered = true
    answered(slot, answer)
    assign()
  })
  slot.worker.on("error", (error) => {
    detail = describe(error)
  })
  // A dead thread is replaced by the next search, not here: one that cannot start must not be started for ever.
  slot.worker.on("exit", (code) => {
    slots.delete(slot)
    const why = slot.silentChecks >= checksAllowed(slot) ? "the thread gave no answer and was ended" : detail
    finish(slot.entry, powError({ _tag: "WorkerDied", detail: `${why} (exit ${code})` }))
    assign()
  })
  slots.add(slot)
  return slot
}

const finish = (entry: Entry | undefined, outcome: FoundNonce | PowError): void => {
  const done = entry?.done
  if (entry !== undefined) entry.done = undefined
  done?.(outcome)
}

const describe = (error: unknown): string => (error instanceof Error ? error.message : String(error))
