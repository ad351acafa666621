import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Queue } from "effect"
import { TestClock } from "effect/testing"
import type { Gateway } from "../../src/gateway/Gateways.ts"
import { Health } from "../../src/gateway/Health.ts"
import { onChain } from "../../src/gateway/onChain.ts"
import type { ChainHead } from "../../src/gateway/schema/ChainHead.ts"
import { OnSend } from "../../src/gateway/Transport.ts"
import { metricsLayer } from "../recordings/replay.ts"
import { effectOf, type Work } from "../support/it.ts"
import { soon } from "../support/until.ts"

const head = (chainId: string): ChainHead => ({
  chainId,
  height: 7n,
  hash: "ab".repeat(32),
  pow: { hashFunction: "sha3_24_rounds", difficulty: 1, pastBlocks: 5, txPerBlock: 1, increasing: false },
})

/** A head that somebody asked for: it leaves when the test lets it, and is answered when the test says what. */
interface Asked {
  readonly leave: Effect.Effect<unknown>
  readonly answer: (chainId: string) => Effect.Effect<unknown>
}

/** A gateway of which the test holds each head, and whose listing of assets is answered at once. */
const held = Effect.gen(function* () {
  const asked = yield* Queue.unbounded<Asked>()
  const one = Effect.gen(function* () {
    const onSend = yield* OnSend
    const left = yield* Deferred.make<void>()
    const answer = yield* Deferred.make<ChainHead>()
    yield* Queue.offer(asked, {
      leave: Effect.andThen(Deferred.succeed(left, undefined), Effect.yieldNow),
      answer: (chainId) => Deferred.succeed(answer, head(chainId)),
    })
    yield* Deferred.await(left)
    onSend()
    return yield* Deferred.await(answer)
  })
  const empty = { rows: [], next: undefined, mark: undefined }
  const bare = {
    name: "g",
    head: one,
    assets: () => Effect.succeed(empty),
  }
  const gateway = yield* onChain(bare as unknown as Gateway, "ours")
  const read = Effect.exit(gateway.assets({} as never))
  /** The next head that is asked for, on its way. */
  const take = soon("a request", Queue.take(asked))
  const next = Effect.tap(take, ({ leave }) => leave)
  /** One head is known, and is no longer the newest. */
  const known = Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(gateway.head)
    yield* (yield* next).answer("ours")
    yield* Fiber.join(fiber)
    yield* TestClock.adjust("301 millis")
  })
  return { gateway, read, known, next, asked: Queue.size(asked), take }
})

const provided = (test: Work<Health>) =>
  effectOf(test).pipe(Effect.provide(Layer.provide(Health.layer(["g"]), metricsLayer)))

const settle = Effect.forEach(Array.from({ length: 20 }), () => Effect.yieldNow)

describe("answers between two heads", () => {
  it.effect("need a head that was requested after them, even beside another", () =>
    provided(function* () {
      const { gateway, read, known, next, asked } = yield* held
      yield* known
      const other = yield* Effect.forkChild(gateway.head)
      const early = yield* next
      const answer = yield* Effect.forkChild(read)
      const own = yield* next
      yield* early.answer("ours")
      yield* Fiber.join(other)
      yield* settle
      assert.isUndefined(answer.pollUnsafe(), "the head that left before the answer came says nothing of it")
      yield* own.answer("theirs")
      assert.strictEqual((yield* Fiber.join(answer))._tag, "Failure")
      assert.strictEqual(yield* asked, 0)
    }),
  )

  it.effect("share one queued head, with two in flight at most", () =>
    provided(function* () {
      const { gateway, read, known, next, take, asked } = yield* held
      yield* known
      const waiting = yield* Effect.forkChild(gateway.head)
      const queued = yield* take
      const sharing = yield* Effect.forEach([1, 2, 3], () => Effect.forkChild(read))
      yield* settle
      assert.strictEqual(yield* asked, 0, "it has not left yet, so it tells of all of them")
      yield* queued.leave
      const late = yield* Effect.forEach([1, 2, 3], () => Effect.forkChild(read))
      const second = yield* next
      const last = yield* Effect.forEach([1, 2], () => Effect.forkChild(read))
      yield* settle
      assert.strictEqual(yield* asked, 0)
      yield* queued.answer("ours")
      yield* Fiber.join(waiting)
      for (const one of sharing) assert.strictEqual((yield* Fiber.join(one))._tag, "Success")
      const third = yield* next
      yield* second.answer("ours")
      for (const one of late) assert.strictEqual((yield* Fiber.join(one))._tag, "Success")
      yield* third.answer("ours")
      for (const one of last) assert.strictEqual((yield* Fiber.join(one))._tag, "Success")
      assert.strictEqual(yield* asked, 0)
    }),
  )

  it.effect("take one head that had to wait for its turn for both", () =>
    provided(function* () {
      const { read, known, take, asked } = yield* held
      yield* known
      yield* TestClock.adjust("5 seconds")
      const answer = yield* Effect.forkChild(read)
      const queued = yield* take
      yield* settle
      yield* queued.leave
      yield* queued.answer("ours")
      assert.strictEqual((yield* Fiber.join(answer))._tag, "Success")
      assert.strictEqual(yield* asked, 0)
    }),
  )

  it.effect("wait for nobody who was interrupted", () =>
    provided(function* () {
      const { gateway, read, known, next } = yield* held
      yield* known
      const first = yield* Effect.forkChild(read)
      yield* next
      const second = yield* Effect.forkChild(gateway.head)
      yield* next
      yield* Fiber.interrupt(first)
      const third = yield* Effect.forkChild(read)
      yield* (yield* next).answer("ours")
      assert.strictEqual((yield* Fiber.join(third))._tag, "Success")
      yield* Fiber.interrupt(second)
    }),
  )

  it.effect("bring the newest block to whoever needs it within the moment", () =>
    provided(function* () {
      const { gateway, read, known, next, asked } = yield* held
      yield* known
      const answer = yield* Effect.forkChild(read)
      yield* (yield* next).answer("ours")
      yield* Fiber.join(answer)
      yield* TestClock.adjust("299 millis")
      assert.strictEqual((yield* gateway.head).chainId, "ours")
      assert.strictEqual(yield* asked, 0)
      yield* TestClock.adjust("1 millis")
      const later = yield* Effect.forkChild(gateway.head)
      yield* (yield* next).answer("theirs")
      assert.strictEqual((yield* Fiber.join(later)).chainId, "theirs")
    }),
  )
})
