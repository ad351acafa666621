import type { Worker } from "node:worker_threads"
import { PowError, QueueFull, Stopped, WorkerDied } from "./PowError.ts"

/**
 * Searches that may wait for a worker. A treasury has a handful of payments in flight; more waiting than this means
 * that the hashes asked for cannot be delivered before the blocks they belong to are too old.
 */
export const queueSizeMax = 64

/** Sent to a worker. The preimage ends in the 8 bytes of the nonce; difficulty is 0 to 32. */
export interface WorkerJob {
  readonly preimage: Uint8Array
  readonly difficulty: number
}

/** Sent back; undefined when the search was cancelled. `millis` is the time of the search alone. */
export type WorkerAnswer = { readonly nonce: number; readonly millis: number } | undefined
export type Found = NonNullable<WorkerAnswer>

/** Starts a thread that answers each WorkerJob with one WorkerAnswer and stops when `cancelled[0]` is not 0. */
export type Spawn = (cancelled: Int32Array<SharedArrayBuffer>) => Worker

export interface PoolOptions {
  /** Threads, at most; each is started when a search first needs it. */
  readonly size: number
  readonly queueSizeMax: number
  readonly spawn: Spawn
}

type Done = (outcome: Found | PowError) => void
interface Entry {
  readonly job: WorkerJob
  /** Undefined once the caller no longer waits. */
  done: Done | undefined
}
interface Slot {
  readonly worker: Worker
  readonly cancelled: Int32Array
  entry: Entry | undefined
}

export interface Pool {
  /** Begins or queues a search and returns its cancellation. `done` is called at most once, and not after that. */
  readonly run: (job: WorkerJob, done: Done) => () => void
  /** Ends all threads; what still waits is told `Stopped`. */
  readonly close: () => Promise<void>
}

/** A fixed number of threads, each searching for one piece of work at a time, and a bounded queue before them. */
export const makePool = (options: PoolOptions): Pool => {
  const slots = new Set<Slot>()
  const queue: Array<Entry> = []
  let closed = false

  const assign = () => {
    while (!closed && queue.length > 0) {
      let slot = [...slots].find((slot) => slot.entry === undefined)
      if (slot === undefined && slots.size >= options.size) return
      const entry = queue.shift()!
      try {
        slot ??= start(options.spawn, slots, assign)
      } catch (error) {
        finish(entry, failure(new WorkerDied({ detail: `no thread could be started: ${describe(error)}` })))
        continue
      }
      slot.entry = entry
      Atomics.store(slot.cancelled, 0, 0)
      slot.worker.postMessage(entry.job)
    }
  }

  const cancel = (entry: Entry) => {
    entry.done = undefined
    const at = queue.indexOf(entry)
    if (at >= 0) queue.splice(at, 1)
    for (const slot of slots) if (slot.entry === entry) Atomics.store(slot.cancelled, 0, 1)
  }

  return {
    run: (job, done) => {
      const entry: Entry = { job, done }
      queue.push(entry)
      assign()
      if (closed) finish(queue.pop(), failure(new Stopped()))
      else if (queue.length > options.queueSizeMax) {
        finish(queue.pop(), failure(new QueueFull({ queueSizeMax: options.queueSizeMax })))
      }
      return () => cancel(entry)
    },
    close: async () => {
      closed = true
      for (const entry of queue.splice(0)) finish(entry, failure(new Stopped()))
      for (const slot of slots) finish(slot.entry, failure(new Stopped()))
      await Promise.all([...slots].map((slot) => slot.worker.terminate()))
    },
  }
}

const start = (spawn: Spawn, slots: Set<Slot>, onIdle: () => void): Slot => {
  const cancelled = new Int32Array(new SharedArrayBuffer(4))
  const slot: Slot = { worker: spawn(cancelled), cancelled, entry: undefined }
  let detail = "the thread ended"
  slot.worker.on("message", (answer: WorkerAnswer) => {
    const { entry } = slot
    slot.entry = undefined
    if (answer !== undefined) finish(entry, answer)
    onIdle()
  })
  slot.worker.on("error", (error) => {
    detail = describe(error)
  })
  // A dead thread is replaced by the next search, not here: one that cannot start must not be started for ever.
  slot.worker.on("exit", (code) => {
    slots.delete(slot)
    finish(slot.entry, failure(new WorkerDied({ detail: `${detail} (exit ${code})` })))
    onIdle()
  })
  slots.add(slot)
  return slot
}

const finish = (entry: Entry | undefined, outcome: Found | PowError): void => {
  const done = entry?.done
  if (entry !== undefined) entry.done = undefined
  done?.(outcome)
}

const describe = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const failure = (reason: PowError["reason"]) => new PowError({ operation: "solve", reason })
