import { Worker } from "node:worker_threads"
import { assert, describe } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Schema, Scope } from "effect"
import { TestClock } from "effect/testing"
import type { Spawn, WorkerAnswer } from "../../src/pow/Pool.ts"
import { judgeWork, ProofOfWork, type WorkRequest } from "../../src/pow/ProofOfWork.ts"
import { difficultyMax } from "../../src/pow/search.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { isSolved, powPreimage } from "../../src/tx/ProofOfWork.ts"
import { it, layer } from "../support/it.ts"
import { threadCpuMicros } from "../support/threadCpu.ts"

/**
 * The network's own test cases (libs/crypto/proof_of_work_test.go, core/pow/engine_test.go, version 0.74) whose nonce
 * is the first that solves: [difficulty, nonce, block hash, tid]. The last proves that letters are hashed as they are,
 * not as the bytes they spell.
 */
const vectors = [
  [
    4,
    0n,
    "792ca202b84226c739f9923046a0f4e7b5ff9e6f1b5636d8e26a8e2c5dec70ac",
    "3b8399cdffee2686d75d1a96d22cd49cd11f62c93da20e72239895bfdaf4b772",
  ],
  [
    8,
    402n,
    "ffb67ea4111d466d363a5c8f355bf81e2e3504563af273f5de81a005a6247e14",
    "c40de04280ce8c40ee41b5005c23a1358b4fbf31f6dcb675e8246b174458274e",
  ],
  [
    12,
    2560n,
    "d9ae00ce4c4fc96d8e72bb18f6990b833cc7724ad70322604c572f6e194d777f",
    "fcbbb4cc8dcd402a07af050bb809a04bd82f9c95b6e5a56768d3724a4abb09f0",
  ],
  [
    16,
    23845n,
    "dc4b61de2138856406acdabcc502be708bff7c945857ea032011a8b4b0cf54f4",
    "3954a15b2e1ec457ae100c56e2aa43786b4612644926403d59fd8cdcb29d825f",
  ],
  [
    20,
    85863n,
    "8890702af457ddcda01fba579a126adcecae954781500acb546fef9c8087a239",
    "74030ee7dc931be9d9cc5f2c9d44ac174b4144b377ef07a7bb1781856921dd43",
  ],
  [
    2,
    4n,
    "2FB2146FC01F21D358323174BAA230E7DE61C0F150B7FBC415C896B0C23E50FF",
    "2E7A16D9EF690F0D2BEED115FBA13BA2AAA16C8F971910AD88C72B9DB010C7D4",
  ],
] as const

const request = ([difficulty, , blockHash, tid]: (typeof vectors)[number]) => ({ difficulty, blockHash, tid })
const easy = request(vectors[1])
const easyNonce = vectors[1][1]
/** No nonce below 2^32 is known to solve it: it runs until it is stopped. */
const endless = { ...easy, difficulty: difficultyMax }

const metrics = Metrics.layer({
  treasury: "t",
  mode: "observe",
  gateways: [],
  rules: [],
  receivers: [],
  version: "0",
  revision: "0",
})

/** The pool with threads that the test can count and end. */
const watched = (size: number, queueSizeMax?: number) => {
  const workers: Array<Worker> = []
  const spawn: Spawn = (cancelled) => {
    const worker = new Worker(new URL("../../src/pow/worker.ts", import.meta.url), { workerData: cancelled })
    workers.push(worker)
    return worker
  }
  const settings = queueSizeMax === undefined ? { size, spawn } : { size, spawn, queueSizeMax }
  return { workers, layer: ProofOfWork.layerWith(settings).pipe(Layer.provide(metrics)) }
}

const turn = Effect.callback<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

/** One of five tries takes less than 10 ms of processor time. */
const quickly = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const millis: Array<number> = []
    let last: A
    do {
      const began = threadCpuMicros()
      last = yield* effect
      millis.push((threadCpuMicros() - began) / 1_000)
    } while (millis.length < 5)
    assert.isBelow(Math.min(...millis), 10)
    return last
  })

/** Until the thread has computed for 20 ms: it is in the middle of a search. Fails if it has ended, or after 30 s. */
const busy = Effect.fnUntraced(function* (worker: Worker | undefined) {
  assert.isDefined(worker)
  let exitCode: number | undefined
  worker.once("exit", (code) => {
    exitCode = code
  })
  const before = worker.performance.eventLoopUtilization()
  const began = performance.now()
  while (worker.performance.eventLoopUtilization(before).active < 20) {
    yield* turn
    assert.isUndefined(exitCode, "the thread ended")
    assert.notStrictEqual(worker.threadId, -1, "the thread ended before it was looked at")
    assert.isBelow(performance.now() - began, 30_000, "the thread does nothing")
  }
})

/** Until the thread runs, long before its first answer. */
const online = (worker: Worker | undefined) =>
  Effect.callback<void>((resume) => {
    worker?.once("online", () => resume(Effect.void))
    worker?.once("exit", (code) => resume(Effect.die(new Error(`the thread ended with ${code}`))))
  })

const layers = [
  ["in a thread", ProofOfWork.layer.pipe(Layer.provideMerge(metrics))],
  ["on the calling thread", ProofOfWork.layerInline.pipe(Layer.provideMerge(metrics))],
] as const

for (const [where, fresh] of layers) {
  layer(fresh)(`proof of work ${where}`, (it) => {
    it.effect.each(vectors)("finds the recorded first nonce of difficulty %s: %s", function* (vector) {
      const { nonce, hashes, millis } = yield* (yield* ProofOfWork).solve(request(vector))
      assert.strictEqual(nonce, vector[1])
      assert.strictEqual(hashes, vector[1] + 1n)
      assert.isAtLeast(millis, 0)
    })

    it.effect.prop(
      "returns a nonce that solves the work, and no smaller one does",
      {
        blockHash: Schema.String.check(Schema.isPattern(/^[0-9a-fA-F]{64}$/)),
        tid: Schema.String.check(Schema.isPattern(/^[0-9A-F]{64}$/)),
        difficulty: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 8 })),
      },
      (work) =>
        Effect.gen(function* () {
          const { nonce } = yield* (yield* ProofOfWork).solve(work)
          assert.isTrue(isSolved(work, nonce, work.difficulty))
          for (let n = 0n; n < nonce; n++) assert.isFalse(isSolved(work, n, work.difficulty))
        }),
      { arbitrary: { runs: 25, seed: 20261121 } },
    )

    it.effect("leaves the event loop its turns during a search", function* () {
      const search = yield* Effect.forkChild((yield* ProofOfWork).solve(endless), { startImmediately: true })
      for (let turn = 0; turn < 3; turn++) yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      assert.isUndefined(search.pollUnsafe())
      yield* Fiber.interrupt(search)
    })

    it.effect("measures each search that ended well", function* () {
      const { workSolve, workHashesPerSecond } = yield* Metrics
      workSolve.reset()
      workHashesPerSecond.reset()
      yield* (yield* ProofOfWork).solve(easy)
      yield* Effect.flip((yield* ProofOfWork).solve({ ...easy, tid: "" }))
      const { values } = yield* Effect.promise(() => workSolve.get())
      assert.strictEqual(values.find(({ metricName }) => metricName?.endsWith("_count"))?.value, 1)
      const [rate] = (yield* Effect.promise(() => workHashesPerSecond.get())).values
      assert.isAbove(rate?.value ?? 0, 0)
    })

    it.effect("takes what was begun before, and searches again for what was forgotten", function* () {
      const { workSolve } = yield* Metrics
      workSolve.reset()
      const searches = Effect.map(
        Effect.promise(() => workSolve.get()),
        ({ values }) => values.find(({ metricName }) => metricName?.endsWith("_count"))?.value ?? 0,
      )
      const { begin, forget, solve } = yield* ProofOfWork
      yield* begin(easy)
      yield* begin(easy)
      assert.strictEqual((yield* solve(easy)).nonce, easyNonce)
      assert.strictEqual(yield* searches, 1)
      yield* begin(easy)
      yield* forget
      assert.strictEqual((yield* solve(easy)).nonce, easyNonce)
      assert.isAbove(yield* searches, 1)
    })

    it.effect.each([-1, 1.5, Number.NaN, difficultyMax + 1, 255])(
      "refuses the difficulty %s at once",
      function* (difficulty) {
        const error = yield* Effect.flip((yield* ProofOfWork).solve({ ...easy, difficulty }))
        assert.strictEqual(error.reason._tag, "DifficultyRefused")
      },
    )

    it.effect.each([
      { ...easy, blockHash: easy.blockHash.slice(1) },
      { ...easy, tid: "" },
      { ...easy, tid: easy.tid.slice(1) },
      { ...easy, tid: `${easy.tid.slice(1)}\u00e9` },
    ])("refuses work of another form: %o", function* (work) {
      const error = yield* Effect.flip((yield* ProofOfWork).solve(work))
      assert.strictEqual(error.reason._tag, "WorkRefused")
    })
  })
}

describe("the pool of threads", () => {
  it.effect("stops a search that is interrupted, and searches on with the same thread", () => {
    const { workers, layer } = watched(1)
    return Effect.gen(function* () {
      const pow = yield* ProofOfWork
      const fiber = yield* Effect.forkChild(pow.solve(endless))
      yield* turn
      yield* busy(workers[0])
      yield* Fiber.interrupt(fiber)
      assert.strictEqual((yield* pow.solve(easy)).nonce, easyNonce)
      assert.lengthOf(workers, 1)
    }).pipe(Effect.provide(layer))
  })

  it.effect(
    "looks after so few hashes whether it is cancelled that a thousand a millisecond are enough for 5 ms",
    function* () {
      const cancelled = new Int32Array(new SharedArrayBuffer(4)).fill(1)
      const worker = new Worker(new URL("../../src/pow/worker.ts", import.meta.url), { workerData: cancelled })
      const answer = Effect.callback<WorkerAnswer>((resume) => {
        worker.once("message", (answer: WorkerAnswer) => resume(Effect.succeed(answer)))
        worker.postMessage({ preimage: powPreimage(easy, 0n), difficulty: difficultyMax, from: 1_000 })
      })
      const { nonce, next } = yield* Effect.ensuring(
        answer,
        Effect.promise(() => worker.terminate()),
      )
      assert.isUndefined(nonce)
      assert.isAbove(next, 1_000)
      assert.isAtMost(next, 6_000)
    },
  )

  it.effect("begins nothing ahead that takes long", () => {
    const { workers, layer } = watched(1)
    return Effect.gen(function* () {
      yield* (yield* ProofOfWork).begin(endless)
      assert.lengthOf(workers, 0)
      yield* (yield* ProofOfWork).begin(easy)
      assert.lengthOf(workers, 1)
    }).pipe(Effect.provide(layer))
  })

  it.effect("finds the work of several payments at once, before anything was measured", () => {
    const { layer } = watched(1)
    return Effect.gen(function* () {
      const { begin, solve } = yield* ProofOfWork
      const works = [..."0123"].map((digit) => ({ ...request(vectors[3]), tid: digit.repeat(64) }))
      for (const work of works) yield* begin(work)
      const found = yield* Effect.forEach(works, (work) => Effect.exit(solve({ ...work, millisMax: 90_000 })), {
        concurrency: 4,
      })
      assert.deepStrictEqual(found.filter(Exit.isFailure), [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("does not touch other searches when one is interrupted", () => {
    const { workers, layer } = watched(2)
    return Effect.gen(function* () {
      const pow = yield* ProofOfWork
      const other = yield* Effect.forkChild(pow.solve(request(vectors[4])))
      const interrupted = yield* Effect.forkChild(pow.solve(endless))
      yield* turn
      yield* busy(workers[1])
      yield* Fiber.interrupt(interrupted)
      assert.strictEqual((yield* Fiber.join(other)).nonce, vectors[4][1])
    }).pipe(Effect.provide(layer))
  })

  it.effect("forgets a search that is interrupted while it waits", () => {
    const { workers, layer } = watched(1, 1)
    return Effect.gen(function* () {
      const pow = yield* ProofOfWork
      const first = yield* Effect.forkChild(pow.solve(endless))
      const waiting = yield* Effect.forkChild(pow.solve(endless))
      yield* turn
      yield* Fiber.interrupt(waiting)
      const next = yield* Effect.forkChild(pow.solve(easy))
      yield* turn
      yield* Fiber.interrupt(first)
      assert.strictEqual((yield* Fiber.join(next)).nonce, easyNonce)
      assert.lengthOf(workers, 1)
    }).pipe(Effect.provide(layer))
  })

  it.effect("fails the search of a thread that dies, keeps the others and replaces the thread", () => {
    const { workers, layer } = watched(1)
    return Effect.gen(function* () {
      const pow = yield* ProofOfWork
      const hit = yield* Effect.forkChild(Effect.flip(pow.solve(easy)))
      // As hard as the first: it does not go before it.
      const waiting = yield* Effect.forkChild(pow.solve(easy))
      yield* turn
      yield* online(workers[0])
      yield* Effect.promise(() => workers[0]!.terminate())
      const error = yield* Fiber.join(hit)
      assert.strictEqual(error.reason._tag, "WorkerDied")
      assert.strictEqual((yield* Fiber.join(waiting)).nonce, easyNonce)
      assert.lengthOf(workers, 2)
    }).pipe(Effect.provide(layer))
  })

  it.effect("refuses a search above the bound of the queue, and only that one", () => {
    const { layer } = watched(1, 2)
    return Effect.gen(function* () {
      const pow = yield* ProofOfWork
      const first = yield* Effect.forkChild(pow.solve(endless))
      const waiting = yield* Effect.forkChild(Effect.all([pow.solve(easy), pow.solve(easy)], { concurrency: 2 }))
      yield* turn
      const error = yield* Effect.flip(pow.solve(easy))
      assert.strictEqual(error.reason._tag, "QueueFull")
      assert.propertyVal(error.reason, "queueSizeMax", 2)
      yield* Fiber.interrupt(first)
      const solved = yield* Fiber.join(waiting)
      assert.deepStrictEqual(
        solved.map(({ nonce }) => nonce),
        [easyNonce, easyNonce],
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("lets easier work go before a search that has begun, which then goes on to the same nonce", () => {
    const { workers, layer } = watched(1)
    return Effect.gen(function* () {
      const pow = yield* ProofOfWork
      const ended: Array<string> = []
      const named = (name: string, work: WorkRequest) =>
        Effect.tap(pow.solve(work), () => Effect.sync(() => ended.push(name)))
      const hard = yield* Effect.forkChild(named("hard", request(vectors[4])))
      yield* turn
      yield* busy(workers[0])
      yield* Effect.forkChild(named("endless", endless))
      yield* named("easy", easy)
      assert.strictEqual((yield* Fiber.join(hard)).nonce, vectors[4][1])
      assert.deepStrictEqual(ended, ["easy", "hard"])
      assert.lengthOf(workers, 1)
    }).pipe(Effect.provide(layer))
  })

  it.effect("refuses within 10 ms what the measured rate cannot find in time, and measures before it refuses", () => {
    const { workers, layer } = watched(1)
    return Effect.gen(function* () {
      const pow = yield* ProofOfWork
      assert.isUndefined(yield* pow.judge({ difficulty: 15, millisMax: 90_000 }), "every machine finds it")
      assert.lengthOf(workers, 0)
      const window = { difficulty: 30, millisMax: 90_000 }
      const judged = yield* pow.judge(window)
      assert.strictEqual(judged?.reason._tag, "TooSlow")
      assert.match(
        judged?.words ?? "",
        /^difficulty 30 takes about \d+ (min|h) at \d+(\.\d+)? million hashes a second$/,
      )
      assert.lengthOf(workers, 1, "it was measured")
      const error = yield* quickly(Effect.flip(pow.solve({ ...easy, ...window })))
      assert.strictEqual(error.reason._tag, "TooSlow")
      assert.strictEqual((yield* pow.solve({ ...easy, millisMax: 90_000 })).nonce, easyNonce)
    }).pipe(Effect.provide(layer))
  })

  it.effect.each([40, 32])("refuses difficulty %s at once, before anything was measured", (difficulty) => {
    const { workers, layer } = watched(1)
    return Effect.gen(function* () {
      const pow = yield* ProofOfWork
      const error = yield* quickly(Effect.flip(pow.solve({ ...easy, difficulty, millisMax: 90_000 })))
      assert.include(["TooSlow", "DifficultyRefused"], error.reason._tag)
      assert.lengthOf(workers, 0)
    }).pipe(Effect.provide(layer))
  })

  it.effect("measures anew before it refuses by an old measurement", function* () {
    let measured = 0
    let perMilli = 1
    const pace = {
      rate: () => perMilli,
      isOld: () => measured === 0,
      ahead: () => 0,
      measure: Effect.sync(() => {
        measured++
        perMilli = 700
      }),
    }

    assert.isUndefined(yield* judgeWork({ difficulty: 22, millisMax: 90_000 }, pace), "it was busy, and is not now")
    assert.strictEqual((yield* judgeWork({ difficulty: 28, millisMax: 90_000 }, pace))?.reason._tag, "TooSlow")
    assert.strictEqual(measured, 1)
  })

  it.effect("counts the searches that come first", () => {
    const { layer } = watched(1)
    return Effect.gen(function* () {
      const pow = yield* ProofOfWork
      let millisMax = 1_000_000
      const judge = Effect.suspend(() => pow.judge({ difficulty: 32, millisMax }))
      while ((yield* judge) !== undefined) millisMax *= 2
      const before = yield* Effect.forkChild(Effect.forEach([endless, endless, endless], pow.solve, { concurrency: 3 }))
      yield* turn
      assert.match((yield* judge)?.words ?? "", /^the work of other payments comes first/)
      assert.isUndefined(yield* pow.judge({ difficulty: 15, millisMax: 90_000 }), "easier work goes before them")
      yield* Fiber.interrupt(before)
    }).pipe(Effect.provide(layer))
  })

  it.effect("gives up when the time of the work is over", () => {
    const { workers, layer } = watched(1)
    return Effect.gen(function* () {
      const pow = yield* ProofOfWork
      // Any machine has made some hashes by then, and none has made so many.
      const search = yield* Effect.forkChild(Effect.flip(pow.solve({ ...endless, millisMax: 2 ** 32 })))
      yield* turn
      yield* busy(workers[0])
      yield* TestClock.adjust(2 ** 32)
      assert.strictEqual((yield* Fiber.join(search)).reason._tag, "OutOfTime")
      assert.strictEqual((yield* pow.solve(easy)).nonce, easyNonce)
    }).pipe(Effect.provide(layer))
  })

  const port = 'const { parentPort: port } = require("node:worker_threads");'
  const answers = (answer: object) => `${port} port.on("message", () => port.postMessage(${JSON.stringify(answer)}))`
  it.effect.each([
    {
      fault: "stops to answer",
      silentMillisMax: 1_000,
      source: `${port}
        port.once("message", () => {
          port.postMessage({ next: 1, millis: 1 })
          port.once("message", () => { for (;;) {} })
        })`,
    },
    { fault: "never answers", silentMillisMax: 200, source: `${port} port.on("message", () => { for (;;) {} })` },
  ])("ends a thread that $fault, and replaces it for the next search", ({ source, silentMillisMax }) => {
    let started = 0
    const spawn: Spawn = () =>
      new Worker(started++ === 0 ? source : answers({ nonce: Number(easyNonce), next: 403, millis: 1 }), { eval: true })
    return Effect.gen(function* () {
      const pow = yield* ProofOfWork
      const error = yield* Effect.flip(pow.solve(easy))
      assert.strictEqual(error.reason._tag, "WorkerDied")
      assert.match(error.words, /gave no answer/)
      assert.strictEqual((yield* pow.solve(easy)).nonce, easyNonce)
      assert.strictEqual(started, 2)
    }).pipe(Effect.provide(ProofOfWork.layerWith({ size: 1, spawn, silentMillisMax }).pipe(Layer.provide(metrics))))
  })

  it.effect("waits longer for the first answer of a thread: its start is slow on a busy machine", () => {
    const searcher = new URL("../../src/pow/worker.ts", import.meta.url)
    const late = `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500); import("${searcher}")`
    const spawn: Spawn = (cancelled) => new Worker(late, { eval: true, workerData: cancelled })
    return Effect.gen(function* () {
      assert.strictEqual((yield* (yield* ProofOfWork).solve(easy)).nonce, easyNonce)
    }).pipe(
      Effect.provide(ProofOfWork.layerWith({ size: 1, spawn, silentMillisMax: 1_000 }).pipe(Layer.provide(metrics))),
    )
  })

  it.effect("starts no more threads than its size, and none before the first search", () => {
    const { workers, layer } = watched(2)
    return Effect.gen(function* () {
      const pow = yield* ProofOfWork
      assert.lengthOf(workers, 0)
      yield* Effect.forEach(vectors, (vector) => pow.solve(request(vector)), { concurrency: "unbounded" })
      assert.lengthOf(workers, 2)
    }).pipe(Effect.provide(layer))
  })

  it.effect.each([
    { fault: "throws while it starts", source: 'throw new Error("cannot start")', reason: "WorkerDied" },
    { fault: "exits when asked", source: `${port} port.on("message", () => process.exit(3))`, reason: "WorkerDied" },
    {
      fault: "answers with a wrong nonce",
      source: answers({ nonce: 1, next: 2, millis: 1 }),
      reason: "WrongNonce",
    },
  ])("fails with a typed error when a thread $fault", ({ source, reason }) => {
    const spawn: Spawn = () => new Worker(source, { eval: true })
    return Effect.gen(function* () {
      const error = yield* Effect.flip((yield* ProofOfWork).solve(easy))
      assert.strictEqual(error.reason._tag, reason)
    }).pipe(Effect.provide(ProofOfWork.layerWith({ size: 1, spawn }).pipe(Layer.provide(metrics))))
  })

  it.effect("fails with a typed error when no thread can be started", () => {
    const spawn: Spawn = () => {
      throw new Error("out of threads")
    }
    return Effect.gen(function* () {
      const error = yield* Effect.flip((yield* ProofOfWork).solve(easy))
      assert.strictEqual(error.reason._tag, "WorkerDied")
    }).pipe(Effect.provide(ProofOfWork.layerWith({ size: 1, spawn }).pipe(Layer.provide(metrics))))
  })

  it.effect("ends its threads with its scope and tells who still waits", function* () {
    const { workers, layer } = watched(1)

    const scope = yield* Scope.make()
    const pow = Context.get(yield* Layer.buildWithScope(layer, scope), ProofOfWork)
    const waiting = yield* Effect.forkChild(Effect.flip(Effect.all([pow.solve(endless)])))
    yield* turn
    yield* Scope.close(scope, Exit.void)
    assert.strictEqual((yield* Fiber.join(waiting)).reason._tag, "Stopped")
    assert.strictEqual((yield* Effect.flip(pow.solve(easy))).reason._tag, "Stopped")
    assert.deepStrictEqual(
      workers.map(({ threadId }) => threadId),
      [-1],
    )
  })
})
