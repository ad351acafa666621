import { hash } from "node:crypto"
import { availableParallelism } from "node:os"
import { Worker } from "node:worker_threads"
import { Clock, Context, Effect, Exit, Fiber, Layer } from "effect"
import { Metrics } from "../telemetry/Metrics.ts"
import { leadingZeroBits, powPreimage, type Work } from "../tx/ProofOfWork.ts"
import {
  type FoundNonce,
  type Job,
  makePool,
  type Pool,
  PowError,
  powError,
  queueSizeMax,
  type Spawn,
  silentMillisMax,
} from "./Pool.ts"
import { difficultyMax, makeSearch, preimageBytes } from "./search.ts"

/** Hashes a millisecond that no thread, and that every thread, can compute. Between them the rate is measured. */
const perMilliMax = 20_000
const perMilliMin = 20

/** Speed of the solver. */
interface Pace {
  /** Hashes a millisecond of one search; undefined before it was measured. */
  readonly rate: () => number | undefined
  /** True if the measurement is too old to refuse anything by it. */
  readonly isOld: () => boolean
  /** Hashes to be made before a search of this difficulty begins. */
  readonly ahead: (difficulty: number) => number
  /** Searches for a moment, so that there is a rate. */
  readonly measure: Effect.Effect<void>
}

/** Work, and the milliseconds in which it is of use. */
interface Wanted {
  readonly difficulty: number
  readonly millisMax: number
}

/**
 * Reason why the work will probably not be found in time, by the average number of hashes that it takes; undefined if
 * it will. Measures first, if the rate is unknown or old and decides the answer.
 */
export const judgeWork = Effect.fnUntraced(function* ({ difficulty, millisMax }: Wanted, pace: Pace) {
  if (!Number.isInteger(difficulty) || difficulty < 0 || difficulty > difficultyMax) {
    return powError({ _tag: "DifficultyRefused", difficulty, difficultyMax })
  }
  const hashes = 2 ** difficulty
  const isLate = (perMilli: number) => pace.ahead(difficulty) + hashes > millisMax * perMilli
  const known = pace.rate()
  const isDoubtful = known === undefined ? isLate(perMilliMin) : isLate(known) && pace.isOld()
  if (isDoubtful && !isLate(perMilliMax)) yield* pace.measure
  const perMilli = pace.rate()
  if (!isLate(perMilli ?? perMilliMax)) return undefined
  const millis = hashes / (perMilli ?? perMilliMax)
  const isQueued = millis <= millisMax
  const detail = isQueued
    ? `the work of other payments comes first, and difficulty ${difficulty} takes about ${timeText(millis)}`
    : `difficulty ${difficulty} takes about ${timeText(millis)} at ${rateText(perMilli)}`
  return powError({ _tag: "TooSlow", detail, isQueued })
})

const rateText = (perMilli: number | undefined): string =>
  perMilli === undefined
    ? `the ${perMilliMax / 1_000} million hashes a second that no machine exceeds`
    : `${Number((perMilli / 1_000).toPrecision(1))} million hashes a second`

const units = [
  ["days", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const

/** One digit, so that equal work gives equal text. */
const timeText = (millis: number): string => {
  const [unit, size] = units.find(([, size]) => millis >= 1.5 * size) ?? ["ms", 1]
  return `${Number((millis / size).toPrecision(1))} ${unit}`
}

/** Work to solve: a nonce whose hash has at least `difficulty` leading zero bits, 0 to `difficultyMax`. */
export interface WorkRequest extends Work {
  readonly difficulty: number
  /** Milliseconds after which the solution is of no use. Absent: it always is. */
  readonly millisMax?: number
}

interface Solution {
  /** The lowest nonce that solves the work, checked on the calling thread. */
  readonly nonce: bigint
  /** Hashes computed for it. */
  readonly hashes: bigint
  /** Duration of the search, without the time in the queue. */
  readonly millis: number
}

interface PoolSettings {
  /** Worker threads at most. Default: one less than the cores, at least one. */
  readonly size?: number
  /** Solves that may wait for a worker. Default: `queueSizeMax`. */
  readonly queueSizeMax?: number
  /** Default: `silentMillisMax`. */
  readonly silentMillisMax?: number
  readonly spawn?: Spawn
}

/** Longest search begun ahead of its request (milliseconds), and largest number of them. */
const begunMillisMax = 200
const begunMax = 64
/** Hashes a millisecond that are expected of a search ahead before any was measured. */
const unmeasuredPerMilli = 500

/** The searcher: threads, or this one. */
interface Machine extends Pace {
  readonly search: (job: Job, millisMax: number) => Effect.Effect<FoundNonce, PowError>
}

/** Hashes of one slice on the calling thread, under a millisecond: then other fibers have their turn. */
const inlineSliceHashes = 1_024
/** Assumed hashes a millisecond of the calling thread: in virtual time a search takes no time. */
const inlinePerMilli = 50

/** Work that takes long; its first part measures the rate. */
const measured: Job = { preimage: powPreimage({ blockHash: "0".repeat(64), tid: "0".repeat(64) }, 0n), difficulty: 32 }

const spawnWorker: Spawn = (cancelled) =>
  new Worker(new URL("./worker.ts", import.meta.url), {
    workerData: cancelled,
    // The environment may hold secrets, which the thread does not need.
    env: {},
    // Flags of the process (an inspector, a script given as text) may not suit a thread.
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
  {
    /** With `millisMax`: fails at once if the work will probably take longer, and at that time if nothing was found. */
    readonly solve: (request: WorkRequest) => Effect.Effect<Solution, PowError>
    /**
     * Begins a search for a later `solve` of the same work, which takes its result. Only for work that is expected
     * within 0.2 s, after which the search ends.
     */
    readonly begin: (request: Omit<WorkRequest, "millisMax">) => Effect.Effect<void>
    /** Drops results of `begin` that no `solve` has taken. */
    readonly forget: Effect.Effect<void>
    /** Reason why such work will probably not be found in time; undefined if it will. */
    readonly judge: (wanted: Wanted) => Effect.Effect<PowError | undefined>
  }
>()("cofferer/pow/ProofOfWork") {
  /** A pool of worker threads of its own, ended with the layer's scope. */
  static readonly layerWith = (settings: PoolSettings): Layer.Layer<ProofOfWork, never, Metrics> =>
    Layer.effect(
      ProofOfWork,
      Effect.suspend(() => Effect.flatMap(workPool(settings), (pool) => make(machineOn(pool, "")))),
    )

  /** On a pool that several treasuries share: they take turns with searches of equal difficulty. */
  static readonly layerShared = (pool: Pool, treasury: string): Layer.Layer<ProofOfWork, never, Metrics> =>
    Layer.effect(
      ProofOfWork,
      Effect.suspend(() => make(machineOn(pool, treasury))),
    )

  static readonly layer = this.layerWith({})

  /** On the calling thread, in slices that let others run: for simulations, where a thread would break the order. */
  static readonly layerInline = Layer.effect(
    ProofOfWork,
    Effect.suspend(() =>
      make({
        search: searchInline,
        rate: () => inlinePerMilli,
        isOld: () => false,
        ahead: () => 0,
        measure: Effect.void,
      }),
    ),
  )
}

/** A pool of worker threads, ended with the scope. */
export const workPool = (settings: PoolSettings = {}) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      makePool({
        size: settings.size ?? Math.max(1, availableParallelism() - 1),
        queueSizeMax: settings.queueSizeMax ?? queueSizeMax,
        silentMillisMax: settings.silentMillisMax ?? silentMillisMax,
        spawn: settings.spawn ?? spawnWorker,
      }),
    ),
    (pool) => Effect.promise(pool.close),
  )

const machineOn = (pool: Pool, owner: string): Machine => {
  const asked = (begin: (job: Job, done: Parameters<Pool["run"]>[2]) => () => void) => (job: Job) =>
    Effect.callback<FoundNonce, PowError>((resume) => {
      const cancel = begin(job, (outcome) =>
        resume(outcome instanceof PowError ? Effect.fail(outcome) : Effect.succeed(outcome)),
      )
      return Effect.sync(cancel)
    })
  return {
    search: asked((job, done) => pool.run(owner, job, done)),
    rate: pool.rate,
    isOld: pool.isOld,
    ahead: (difficulty) => pool.ahead(owner, difficulty),
    // If the measurement fails, nothing is refused for being slow, and the search itself reports the failure.
    measure: Effect.ignore(asked(pool.measure)(measured)),
  }
}

const make = Effect.fnUntraced(function* ({ search, ...pace }: Machine) {
  const metrics = yield* Metrics
  const tellRate = Effect.sync(() => metrics.workHashesPerSecond.set((pace.rate() ?? 0) * 1_000))
  const judge = (wanted: Wanted) => Effect.tap(judgeWork(wanted, pace), tellRate)
  const scope = yield* Effect.scope
  const begun = new Map<string, Fiber.Fiber<Solution, PowError>>()
  const nameOf = ({ blockHash, tid, difficulty }: WorkRequest) => `${blockHash}/${tid}/${difficulty}`
  const solve = Effect.fn("ProofOfWork.solve")(function* (request: WorkRequest) {
    const name = nameOf(request)
    const early = begun.get(name)
    begun.delete(name)
    const found = early === undefined ? undefined : yield* Fiber.await(early)
    if (found !== undefined && Exit.isSuccess(found)) return found.value
    const { difficulty, millisMax = Number.POSITIVE_INFINITY } = request
    const refused = yield* judge({ difficulty, millisMax })
    return yield* refused ?? searchFor(request, millisMax)
  })
  const searchFor = Effect.fnUntraced(function* (request: WorkRequest, millisMax: number) {
    const { difficulty } = request
    const preimage = powPreimage(request, 0n)
    if (request.blockHash.length !== 64 || preimage.length !== preimageBytes) {
      return yield* powError({ _tag: "WorkRefused", detail: "a block hash has 64 characters, and so has a tid" })
    }
    const found = yield* inTime(search({ preimage, difficulty }, millisMax), millisMax)
    const nonce = BigInt(found.nonce)
    // Checked by OpenSSL, independently of the search: a wrong nonce would cost the payment its window.
    const digest = hash("sha3-256", powPreimage(request, nonce), "buffer")
    if (leadingZeroBits(digest) < difficulty) return yield* powError({ _tag: "WrongNonce", nonce })
    metrics.workSolve.observe(found.millis / 1_000)
    yield* tellRate
    return { nonce, hashes: nonce + 1n, millis: found.millis }
  })
  const begin = Effect.fnUntraced(function* (request: WorkRequest) {
    const name = nameOf(request)
    const hashesMax = begunMillisMax * (pace.rate() ?? unmeasuredPerMilli)
    if (begun.has(name) || pace.ahead(request.difficulty) + 2 ** request.difficulty > hashesMax) return
    if (begun.size >= begunMax) begun.clear()
    const search = searchFor(request, begunMillisMax)
    begun.set(name, yield* Effect.forkIn(search, scope, { startImmediately: true }))
  })
  return ProofOfWork.of({ solve, judge, begin, forget: Effect.sync(() => begun.clear()) })
})

const outOfTime = (millisMax: number) =>
  powError({
    _tag: "OutOfTime",
    detail: `nothing was found within the ${Math.round(millisMax / 1_000)} s that there were`,
  })

const inTime = (search: Effect.Effect<FoundNonce, PowError>, millisMax: number) =>
  millisMax === Number.POSITIVE_INFINITY
    ? search
    : Effect.timeoutOrElse(search, { duration: Math.ceil(millisMax), orElse: () => outOfTime(millisMax) })

/** Counts its time in hashes: a test clock stands still meanwhile. */
const searchInline: Machine["search"] = Effect.fnUntraced(function* ({ preimage, difficulty }, millisMax) {
  const began = yield* Clock.currentTimeNanos
  const search = makeSearch(preimage, difficulty)
  for (let from = 0; from < millisMax * inlinePerMilli; from += inlineSliceHashes) {
    const nonce = search(from, inlineSliceHashes)
    if (nonce !== undefined) return { nonce, millis: Number((yield* Clock.currentTimeNanos) - began) / 1e6 }
    yield* Effect.yieldNow
  }
  return yield* outOfTime(millisMax)
})
