import { availableParallelism } from "node:os"
import { Worker } from "node:worker_threads"
import { Clock, Context, Effect, Layer } from "effect"
import { Metrics } from "../telemetry/Metrics.ts"
import { isSolved, powPreimage, type Work } from "../tx/ProofOfWork.ts"
import { type Found, makePool, queueSizeMax, type Spawn, type WorkerJob } from "./Pool.ts"
import { DifficultyRefused, difficultyMax, PowError, WorkRefused, WrongNonce } from "./PowError.ts"
import { makeSearch } from "./search.ts"

/** What is asked for: a nonce whose hash has at least `difficulty` leading zero bits, 0 to `difficultyMax`. */
export interface WorkRequest extends Work {
  readonly difficulty: number
}

export interface Solution {
  /** The lowest nonce that solves the work. It passed `isSolved` on the calling thread. */
  readonly nonce: bigint
  /** Hashes computed for it. */
  readonly hashes: bigint
  /** Duration of the search, without the time in the queue. */
  readonly millis: number
}

export interface PoolSettings {
  /** Worker threads at most. Default: one less than the cores, at least one. */
  readonly size?: number
  /** Solves that may wait for a worker. Default: `queueSizeMax`. */
  readonly queueSizeMax?: number
  readonly spawn?: Spawn
}

type Solver = (job: WorkerJob) => Effect.Effect<Found, PowError>

const failure = (reason: PowError["reason"]) => new PowError({ operation: "solve", reason })

/** Hashes of one slice on the calling thread: about 3 ms, after which other fibers and the network have their turn. */
const inlineSliceHashes = 1_024

const spawnWorker: Spawn = (cancelled) =>
  new Worker(new URL("./worker.ts", import.meta.url), {
    workerData: cancelled,
    // The thread needs no secret that the environment might hold, and no memory to speak of.
    env: {},
    // Of its own, since a flag of the process (an inspector, a script given as text) may not fit a thread.
    execArgv: ["--disable-warning=ExperimentalWarning"],
    resourceLimits: { maxOldGenerationSizeMb: 32 },
    name: "cofferer-pow",
  })

/**
 * Finds proofs of work off the event loop. The same work gives the same nonce each time, so asking again after a crash
 * is harmless; work that is no longer wanted ends within milliseconds when the fiber is interrupted, and no other
 * solve is touched by that.
 */
export class ProofOfWork extends Context.Service<
  ProofOfWork,
  { readonly solve: (request: WorkRequest) => Effect.Effect<Solution, PowError> }
>()("cofferer/pow/ProofOfWork") {
  /** A pool of worker threads, ended with the layer's scope. */
  static readonly layerWith = (settings: PoolSettings): Layer.Layer<ProofOfWork, never, Metrics> =>
    Layer.effect(
      ProofOfWork,
      Effect.gen(function* () {
        const options = {
          size: settings.size ?? Math.max(1, availableParallelism() - 1),
          queueSizeMax: settings.queueSizeMax ?? queueSizeMax,
          spawn: settings.spawn ?? spawnWorker,
        }
        const pool = yield* Effect.acquireRelease(
          Effect.sync(() => makePool(options)),
          (pool) => Effect.promise(pool.close),
        )
        return yield* make((job) =>
          Effect.callback<Found, PowError>((resume) => {
            const cancel = pool.run(job, (outcome) =>
              resume(outcome instanceof PowError ? Effect.fail(outcome) : Effect.succeed(outcome)),
            )
            return Effect.sync(cancel)
          }),
        )
      }),
    )

  static readonly layer = this.layerWith({})

  /** On the calling thread, in slices that let others run: for simulations, where a thread would break the order. */
  static readonly layerInline = Layer.effect(
    ProofOfWork,
    Effect.suspend(() => make(solveInline)),
  )
}

const make = Effect.fnUntraced(function* (solver: Solver) {
  const metrics = yield* Metrics
  const solve = Effect.fn("ProofOfWork.solve")(function* (request: WorkRequest) {
    const { difficulty } = request
    if (!Number.isInteger(difficulty) || difficulty < 0 || difficulty > difficultyMax) {
      return yield* failure(new DifficultyRefused({ difficulty, difficultyMax }))
    }
    if (request.blockHash.length !== 64 || request.tid.length === 0) {
      return yield* failure(new WorkRefused({ detail: "a block hash has 64 characters and a tid at least one" }))
    }
    const found = yield* solver({ preimage: powPreimage(request, 0n), difficulty })
    const nonce = BigInt(found.nonce)
    // Checked by other code than found it: a wrong nonce would cost the payment its block window.
    if (!isSolved(request, nonce, difficulty)) return yield* failure(new WrongNonce({ nonce }))
    metrics.workSolve.observe(found.millis / 1_000)
    return { nonce, hashes: nonce + 1n, millis: found.millis }
  })
  return ProofOfWork.of({ solve })
})

const solveInline: Solver = Effect.fnUntraced(function* ({ preimage, difficulty }: WorkerJob) {
  const began = yield* Clock.currentTimeNanos
  const search = makeSearch(preimage, difficulty)
  for (let from = 0; ; from += inlineSliceHashes) {
    const nonce = search(from, inlineSliceHashes)
    if (nonce !== undefined) return { nonce, millis: Number((yield* Clock.currentTimeNanos) - began) / 1e6 }
    yield* Effect.yieldNow
  }
})
