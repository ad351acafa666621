import { parentPort, workerData } from "node:worker_threads"
import type { WorkerAnswer, WorkerJob } from "./Pool.ts"
import { makeSearch } from "./search.ts"

/** Hashes between two looks at the cancel flag: about 5 ms, so a cancelled search ends at once for a person. */
const sliceHashes = 2_048

const search = ({ preimage, difficulty }: WorkerJob, cancelled: Int32Array): WorkerAnswer => {
  const began = performance.now()
  const next = makeSearch(preimage, difficulty)
  for (let from = 0; Atomics.load(cancelled, 0) === 0; from += sliceHashes) {
    const nonce = next(from, sliceHashes)
    if (nonce !== undefined) return { nonce, millis: performance.now() - began }
  }
  return undefined
}

// The answer to every message is one message: the pool counts a worker as busy until it arrives.
parentPort?.on("message", (job: WorkerJob) => parentPort?.postMessage(search(job, workerData)))
