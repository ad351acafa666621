import { hash } from "node:crypto"
import { once } from "node:events"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { setTimeout as sleep } from "node:timers/promises"
import { Worker } from "node:worker_threads"
import { sha3_256 } from "@noble/hashes/sha3.js"
import { createSHA3 } from "hash-wasm"
import type { WorkerAnswer, WorkerJob } from "../../../src/pow/Pool.ts"
import { difficultyMax, makeSearch } from "../../../src/pow/search.ts"
import { powPreimage } from "../../../src/tx/ProofOfWork.ts"
import { type Benchmark, besidePeers, type Figure, figure, median, type Variant } from "../Benchmark.ts"
import { wallet } from "../peers.ts"

const [blockHash, tid] = ["ab".repeat(32), "cd".repeat(32)]
const preimage = powPreimage({ blockHash, tid }, 0n)
/** The message's first block: without the nonce, the same for all of them. */
const blockBytes = 136
const rounds = 15
/** As the threads of the pool. */
const sliceHashes = 4_096

/** One message after the other with its nonce in place. */
const eachMessage =
  (use: (message: Uint8Array) => unknown): Variant["work"] =>
  (from, count) => {
    const message = Buffer.from(preimage)
    for (let nonce = from; nonce < from + count; nonce++) {
      message.writeUInt32BE(nonce, message.length - 4)
      use(message)
    }
  }

const rates = async (): Promise<ReadonlyArray<Figure>> => {
  const wasm = await createSHA3(256)
  const midstate = wasm.init().update(preimage.subarray(0, blockBytes)).save()
  const begun = sha3_256.create().update(preimage.subarray(0, blockBytes))
  const rest = (message: Uint8Array) => message.subarray(blockBytes)
  const variants = [
    { name: "pow one thread", batch: sliceHashes, work: makeSearch(preimage, difficultyMax) },
    {
      name: "@vegaprotocol/crypto",
      batch: 4_096,
      work: (from: number, count: number) => wallet.solve(50, blockHash, tid, BigInt(from), BigInt(from + count)),
    },
    { name: "hash-wasm", batch: 4_096, work: eachMessage((m) => wasm.load(midstate).update(rest(m)).digest("binary")) },
    { name: "node:crypto", batch: 4_096, work: eachMessage((message) => hash("sha3-256", message, "buffer")) },
    {
      name: "@noble/hashes",
      batch: 1_024,
      work: eachMessage((message) => begun.clone().update(rest(message)).digest()),
    },
  ] as const
  return besidePeers(variants, { unit: "MH/s", per: 1e6 })
}

/** Hashes of a thread that searches for `millis`. */
const hashesOf = (worker: Worker, millis: number): Promise<number> =>
  new Promise((resolve) => {
    const began = performance.now()
    const ask = (from: number) => worker.postMessage({ preimage, difficulty: difficultyMax, from } satisfies WorkerJob)
    const take = ({ next }: WorkerAnswer) => {
      if (performance.now() - began < millis) return ask(next)
      worker.off("message", take)
      resolve(next)
    }
    worker.on("message", take)
    ask(0)
  })

interface Rates {
  /** Hashes a millisecond of all threads. */
  readonly clock: number
  /** As if each thread had a core to itself: the sum of hashes a millisecond of its processor time. */
  readonly processor: number
}

/** The rates of threads that all search for `millis`. */
const together = async (threads: ReadonlyArray<Worker>, millis: number): Promise<Rates> => {
  const rates = threads.map(async (worker) => {
    const [before, began] = [await worker.cpuUsage(), performance.now()]
    const hashes = await hashesOf(worker, millis)
    const [took, { user, system }] = [performance.now() - began, await worker.cpuUsage(before)]
    return { clock: hashes / took, processor: (hashes * 1_000) / (user + system) }
  })
  return (await Promise.all(rates)).reduce((a, b) => ({
    clock: a.clock + b.clock,
    processor: a.processor + b.processor,
  }))
}

const threads = async (say: (text: string) => void): Promise<ReadonlyArray<Figure>> => {
  const workers = [0, 1].map(
    () =>
      new Worker(new URL("../../../src/pow/worker.ts", import.meta.url), {
        workerData: new Int32Array(new SharedArrayBuffer(4)),
      }),
  )
  try {
    // The processor time of a thread can be asked for once it runs.
    await Promise.all(workers.map((worker) => once(worker, "online")))
    await together(workers, 500)
    const gains: Array<number> = []
    const clockGains: Array<number> = []
    const delays: Array<number> = []
    for (let round = 0; round < rounds; round++) {
      const one = await together(workers.slice(0, 1), 500)
      const delay = monitorEventLoopDelay({ resolution: 1 })
      delay.enable()
      const two = await together(workers, 500)
      delay.disable()
      delays.push(delay.percentile(99) / 1e6)
      gains.push(two.processor / one.processor)
      clockGains.push(two.clock / one.clock)
      await sleep(0)
    }
    // Told and not judged: it is what other programs leave of the machine.
    say(`two threads are ${median(clockGains).toFixed(2)} times one by the clock`)
    return [
      figure("pow two threads against one", gains, { unit: "times", better: "higher" }),
      figure("pow event loop delay p99", delays, { unit: "ms", better: "lower" }),
    ]
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()))
  }
}

/** The search for proofs of work beside other implementations, in slices by turns, by processor time. */
export const pow: Benchmark = {
  name: "pow",
  about: "hashes of the proof of work a second beside four peers, two threads beside one, and the event loop meanwhile",
  limits:
    "The instructions of SHA-3: 128-bit WebAssembly reaches 93 % of native code of the same width, and portable " +
    "WebAssembly has no wider registers and no rotation of vectors. Two threads share what two cores share.",
  run: async (say) => [...(await rates()), ...(await threads(say))],
}
