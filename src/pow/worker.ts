import { parentPort, workerData } from "node:worker_threads"
import type { WorkerAnswer, WorkerJob } from "./Pool.ts"
// Nothing here imports Effect: a thread that starts would load all of it, for a third of a second.
import { difficultyMax, makeSearch, preimageBytes } from "./search.ts"

/** Hashes between two looks at the cancel flag: under 1 ms, and within 5 ms where a machine is five times slower. */
const sliceHashes = 4_096
/** Duration of a part of a search (milliseconds); between parts the pool may give the thread to easier work. */
const partMillis = 100

const search = ({ preimage, difficulty, from }: WorkerJob, cancelled: Int32Array): WorkerAnswer => {
  const began = performance.now()
  const next = makeSearch(preimage, difficulty)
  for (let at = from; ; at += sliceHashes) {
    const millis = performance.now() - began
    if (at > from && (Atomics.load(cancelled, 0) !== 0 || millis >= partMillis)) {
      return { nonce: undefined, next: at, millis }
    }
    const nonce = next(at, sliceHashes)
    if (nonce !== undefined) return { nonce, next: nonce + 1, millis: performance.now() - began }
  }
}

// A thread's first hashes are slow until its code is optimized between two calls. No measurement includes them.
const warmUp = makeSearch(new Uint8Array(preimageBytes), difficultyMax)
for (let call = 0; call < 4; call++) warmUp(0, sliceHashes)

// The answer to every message is one message: the pool counts a worker as busy until it arrives.
parentPort?.on("message", (job: WorkerJob) => parentPort?.postMessage(search(job, workerData)))
