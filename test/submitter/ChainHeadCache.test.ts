import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import { GatewayError } from "../../src/gateway/GatewayError.ts"
import { GatewayReader } from "../../src/gateway/GatewayReader.ts"
import type { ChainHead } from "../../src/gateway/schema/ChainHead.ts"
import { ChainHeadCache } from "../../src/submitter/ChainHeadCache.ts"
import { json, live, openTransport, startGateway } from "../gateway/GatewayServer.ts"
import { type Body, effectOf } from "../support/it.ts"
import { testStore } from "../support/TestStore.ts"

const pow = { hashFunction: "sha3_24_rounds", difficulty: 1, pastBlocks: 10, txPerBlock: 2, increasing: true }
const headAt = (height: bigint): ChainHead => ({ chainId: "c", height, hash: "ab".repeat(32), pow })
const silent = new GatewayError({ gateway: "g", operation: "height", reason: { _tag: "Ambiguous", detail: "503" } })

/** A node that answers when the test says so. */
const withTip = (
  use: Body<
    [node: { readonly asked: () => number; readonly answer: Deferred.Deferred<ChainHead, GatewayError> }],
    ChainHeadCache
  >,
) =>
  Effect.suspend(() => {
    const store = testStore()
    let asked = 0
    const answer = Deferred.makeUnsafe<ChainHead, GatewayError>()
    const chain = Layer.mock(GatewayReader, {
      head: Effect.suspend(() => {
        asked++
        return Deferred.await(answer)
      }),
    })
    return effectOf(use({ asked: () => asked, answer })).pipe(
      Effect.provide(ChainHeadCache.layer.pipe(Layer.provide([chain, store.layer()]))),
      Effect.ensuring(Effect.sync(store.remove)),
    )
  })

const ask = Effect.forkChild(Effect.result(Effect.flatMap(ChainHeadCache, ({ head }) => head)), {
  startImmediately: true,
})

describe("the newest block", () => {
  it.effect("is asked for once by all that wait for it", () =>
    withTip(function* ({ asked, answer }) {
      const all = [yield* ask, yield* ask, yield* ask]
      yield* TestClock.adjust("1 second")
      yield* Deferred.succeed(answer, headAt(7n))
      const heads = yield* Effect.forEach(all, Fiber.join)
      assert.deepStrictEqual(heads.map(Result.getOrUndefined), [headAt(7n), headAt(7n), headAt(7n)])
      assert.strictEqual(asked(), 1)
      yield* TestClock.adjust("1 second")
      yield* Effect.flatMap(ChainHeadCache, ({ head }) => head)
      assert.strictEqual(asked(), 2)
    }),
  )

  it.effect("is not asked for again by those who waited for a look-up that failed", () =>
    withTip(function* ({ asked, answer }) {
      const all = [yield* ask, yield* ask]
      yield* Deferred.fail(answer, silent)
      const heads = yield* Effect.forEach(all, Fiber.join)
      assert.deepStrictEqual(heads.map(Result.isFailure), [true, true])
      assert.strictEqual(asked(), 1)
    }),
  )

  it.effect("is asked for by the next one where who asked is interrupted", () =>
    withTip(function* ({ asked, answer }) {
      const first = yield* ask
      const second = yield* ask
      yield* Fiber.interrupt(first)
      yield* Deferred.succeed(answer, headAt(7n))
      assert.deepStrictEqual(Result.getOrUndefined(yield* Fiber.join(second)), headAt(7n))
      assert.strictEqual(asked(), 2)
    }),
  )
})

describe("a gateway that takes few requests", () => {
  it.effect("is asked how often a payment executed before it is polled", () =>
    Effect.gen(function* () {
      const pageInfo = { hasNextPage: false, hasPreviousPage: false, startCursor: "", endCursor: "" }
      const server = yield* startGateway(
        json({ ledgerEntries: { edges: [], pageInfo }, assets: { edges: [], pageInfo } }),
      )
      const transport = yield* openTransport(server.url, { requestsPerSecond: 0.2 })
      const poll = GatewayReader.make(transport).assets({ first: 10, newestFirst: false })
      yield* poll
      const polling = yield* Effect.forkChild(Effect.exit(poll), { startImmediately: true })
      const counting = yield* Effect.forkChild(GatewayReader.make(transport).sends("ab", 0n, 1n), {
        startImmediately: true,
      })
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(counting)
      yield* Fiber.interrupt(polling)
      assert.deepStrictEqual(
        server.arrived.map(({ url }) => url.pathname),
        ["/api/v2/assets", "/api/v2/ledgerentry/history"],
      )
    }).pipe(Effect.provide(live)),
  )
})
