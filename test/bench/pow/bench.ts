import { hash } from "node:crypto"
import { once } from "node:events"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { setTimeout as sleep } from "node:timers/promises"
import { Worker } from "node:worker_threads"
import { sha3_256 } from "@noble/hashes/sha3.js"
// @ts-expect-error: the package brings no types.
import * as wallet from "@vegaprotocol/crypto/pow.js"
import { createSHA3 } from "hash-wasm"
import type { WorkerAnswer, WorkerJob } from "../../../src/pow/Pool.ts"
import { difficultyMax } from "../../../src/pow/PowError.ts"
import { makeSearch } from "../../../src/pow/search.ts"
import { powPreimage } from "../../../src/tx/ProofOfWork.ts"
import { threadCpuMicros } from "../../support/threadCpu.ts"
import { type Benchmark, type Figure, figure, median } from "../Benchmark.ts"

const work = { blockHash: "ab".repeat(32), tid: "cd".repeat(32) }
const preimage = powPreimage(work, 0n)
/** The message's first block: without the nonce, the same for all of them. */
const blockBytes = 136
const rounds = 15
const sliceMicros = 200_000
/** As the threads of the pool. */
const sliceHashes = 4_096

/** Makes about so many hashes, from a nonce on. */
type Hashing = (from: number, count: number) => unknown

/** One message after the other with its nonce in place. */
const eachMessage =
  (use: (message: Uint8Array) => unknown): Hashing =>
  (from, count) => {
    const message = Buffer.from(preimage)
    for (let nonce = from; nonce < from + count; nonce++) {
      message.writeUInt32BE(nonce, message.length - 4)
      use(message)
    }
  }

const peers = async (): Promise<ReadonlyArray<readonly [name: string, batch: number, hashing: Hashing]>> => {
  const wasm = await createSHA3(256)
  const midstate = wasm.init().update(preimage.subarray(0, blockBytes)).save()
  const begun = sha3_256.create().update(preimage.subarray(0, blockBytes))
  return [
    [
      "@vegaprotocol/crypto",
      4_096,
      (from, count) => wallet.solve(50, work.blockHash, work.tid, BigInt(from), BigInt(from + count)),
    ],
    [
      "hash-wasm",
      4_096,
      eachMessage((message) => wasm.load(midstate).update(message.subarray(blockBytes)).digest("binary")),
    ],
    ["node:crypto", 4_096, eachMessage((message) => hash("sha3-256", message, "buffer"))],
    ["@noble/hashes", 1_024, eachMessage((message) => begun.clone().update(message.subarray(blockBytes)).digest())],
  ]
}

/** Hashes a microsecond of this thread's processor time. */
const rateOf = async (hashing: Hashing, batch: number): Promise<number> => {
  const began = threadCpuMicros()
  let hashes = 0
  let micros = 0
  for (; micros < sliceMicros; micros = threadCpuMicros() - began) {
    await hashing(hashes, batch)
    hashes += batch
  }
  return hashes / micros
}

const rates = async (say: (text: string) => void): Promise<ReadonlyArray<Figure>> => {
  const search = makeSearch(preimage, difficultyMax)
  const others = await peers()
  const own: Array<number> = []
  const ratios = others.map((): Array<number> => [])
  for (let round = -1; round < rounds; round++) {
    for (const [i, [, batch, hashing]] of others.entries()) {
      const rate = await rateOf(search, sliceHashes)
      const peer = await rateOf(hashing, batch)
      // The first round is for the compilers.
      if (round < 0) continue
      own.push(rate)
      ratios[i]?.push(rate / peer)
    }
    if (round % 5 === 4) say(`${round + 1} of ${rounds} rounds`)
  }
  return [
    figure("pow one thread", own, { unit: "MH/s of processor time", better: "higher" }),
    ...others.map(([name], i) => figure(`pow against ${name}`, ratios[i] ?? [], { unit: "times", better: "higher" })),
  ]
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
  run: async (say) => [...(await rates(say)), ...(await threads(say))],
}
