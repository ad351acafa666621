import { assert, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import { GatewayReader } from "../../src/gateway/GatewayReader.ts"
import type { ChainHead } from "../../src/gateway/schema/ChainHead.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { heightNow } from "../../src/submitter/beginSend.ts"
import { ChainHeadCache } from "../../src/submitter/ChainHeadCache.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { flow, round } from "../support/Flow.ts"
import { type Front, honest } from "../support/Fronts.ts"
import { behind } from "../support/LoneLiar.ts"
import { chainId, powOf } from "../support/TestSandbox.ts"
import { turn } from "../support/until.ts"

const posts = ({ server }: Front) => server.arrived.filter(({ method }) => method === "POST").length
const pow = { hashFunction: "sha3_24_rounds", difficulty: 1, pastBlocks: 10, txPerBlock: 2, increasing: true }
const newest: ChainHead = { chainId, height: 7n, hash: "ab".repeat(32), pow }

it.effect("nothing is sent by a head from before the machine slept", () =>
  Effect.suspend(() => {
    let slept = 0
    return behind(
      {
        scenario: { pow: powOf(10) },
        clock: (network) => ({
          ...network,
          currentTimeMillisUnsafe: () => network.currentTimeMillisUnsafe() + slept,
          currentTimeMillis: Effect.map(network.currentTimeMillis, (now) => now + slept),
          currentTimeNanosUnsafe: () => network.currentTimeNanosUnsafe() + BigInt(slept) * 1_000_000n,
          currentTimeNanos: Effect.map(network.currentTimeNanos, (now) => now + BigInt(slept) * 1_000_000n),
        }),
      },
      function* (front, _, options, sandbox) {
        for (let i = 0; i < 2; i++) yield* round(options, sandbox, new Set(["submit"]))
        front.manner = async (request, ask) =>
          request.method === "POST" ? { status: 503, headers: {}, text: "" } : await ask()
        yield* submitOnce()
        assert.strictEqual(posts(front), 1)
        front.manner = honest
        yield* round(options, sandbox, new Set(["decide", "submit", "confirm"]))
        // Another loop has just read the newest block.
        yield* (yield* GatewayReader).head
        const before = (yield* (yield* GatewayReader).head).height
        slept = 600_000
        for (let i = 0; i < 600; i++) yield* sandbox.stepBlock
        yield* submitOnce()
        const posted = posts(front)
        yield* TestClock.adjust("1 second")
        const after = yield* Effect.result((yield* GatewayReader).head)
        assert.deepStrictEqual(
          { posted, after: Result.map(after, ({ height }) => height) },
          { posted: 1, after: Result.succeed(before + 600n) },
        )
      },
    )
  }),
)

it.effect.each([
  { millis: 250, height: 43n, clock: "" },
  { millis: 1_000, height: 16n, clock: "" },
  { millis: 1_000, height: 16n, clock: ", whose clock is set back meanwhile" },
  { millis: 10_000, height: 16n, clock: "" },
])(
  "the height of a send counts the time since its head was asked for, in blocks of $millis ms$clock",
  ({ millis, height: wanted, clock }) =>
    flow(function* () {
      const answer = Deferred.makeUnsafe<ChainHead>()
      const chain = Layer.mock(GatewayReader, { head: Deferred.await(answer) })
      const height = yield* Effect.gen(function* () {
        const { head } = yield* ChainHeadCache
        // Another loop asks; the node answers with the block of now, and its answer takes nine seconds.
        yield* Effect.forkChild(head, { startImmediately: true })
        yield* TestClock.adjust("9 seconds")
        if (clock !== "") yield* TestClock.setTime((yield* Clock.currentTimeMillis) - 60_000)
        const sending = yield* Effect.forkChild(heightNow(), { startImmediately: true })
        yield* turn
        yield* Deferred.succeed(answer, newest)
        return yield* Fiber.join(sending)
      }).pipe(
        Effect.provide(Layer.fresh(ChainHeadCache.layer).pipe(Layer.provide(chain))),
        Effect.updateService(Observations, (one) => ({ ...one, blockMillis: Effect.succeed(millis) })),
      )
      assert.strictEqual(height, wanted)
    }),
)

it.effect.each([
  { told: [40n, 39n], wanted: 45n, what: "goes on from the highest block where a node that is behind answers" },
  { told: [40n, 39n, 41n], wanted: 41n, what: "is the newest block's where that is the highest again" },
  { told: [40n, 7n], wanted: 7n, what: "is that of a chain that began again far below" },
])("the height of a send $what", ({ told, wanted }) =>
  flow(function* () {
    const heads = told.values()
    const chain = Layer.mock(GatewayReader, {
      head: Effect.sync(() => ({ ...newest, height: heads.next().value ?? assert.fail() })),
    })
    const height = yield* Effect.gen(function* () {
      const { head } = yield* ChainHeadCache
      yield* head
      for (let i = 0; i < told.length - 2; i++) {
        yield* TestClock.adjust("1 second")
        yield* head
      }
      yield* TestClock.adjust("5 seconds")
      return yield* heightNow()
    }).pipe(
      Effect.provide(Layer.fresh(ChainHeadCache.layer).pipe(Layer.provide(chain))),
      Effect.updateService(Observations, (one) => ({ ...one, blockMillis: Effect.succeed(1_000) })),
    )
    assert.strictEqual(height, wanted)
  }),
)
