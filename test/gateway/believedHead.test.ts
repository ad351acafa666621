import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Result, Schedule } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { ChainContext } from "../../src/gateway/ChainContext.ts"
import { gatewayOptions } from "../../src/gateway/GatewayOptions.ts"
import { GatewayReader } from "../../src/gateway/GatewayReader.ts"
import { Health } from "../../src/gateway/Health.ts"
import { layerGateways } from "../../src/gateway/layerGateways.ts"
import { TrustedHead } from "../../src/store/TrustedHead.ts"
import { metricsLayer } from "../recordings/replay.ts"
import { type TestStore, testStore } from "../support/TestStore.ts"

const wild = 8_000_000_000_000_000_000n

/** What a gateway tells now: its newest block, the block of its row headers; undefined: it does not answer. */
interface Shown {
  head: bigint | undefined
  rows: bigint | undefined
  chainId?: string
  refuses?: boolean
  /** Cursor of the pages that it gives. */
  cursor?: string
}

const answerOf = ({ head, rows, chainId = "test", cursor = "" }: Shown, path: string): Response => {
  if (path.endsWith("/blockchain/height")) {
    const body = {
      height: String(head),
      hash: `${head}`.padStart(64, "0"),
      spamPowHashFunction: "sha3_24_rounds",
      spamPowDifficulty: 1,
      spamPowNumberOfPastBlocks: 100,
      spamPowNumberOfTxPerBlock: 2,
      spamPowIncreasingDifficulty: false,
      chainId,
    }
    return new Response(JSON.stringify(body), { headers: { "content-type": "application/json" } })
  }
  const page = {
    edges: [],
    pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: "", endCursor: cursor },
  }
  const headers = { "content-type": "application/json", "x-block-height": String(rows), "x-block-timestamp": "1000" }
  return new Response(JSON.stringify({ assets: page }), { headers: rows === undefined ? {} : headers })
}

/** Gateways by name that show what the test says, above a real store. */
const network = (shown: Readonly<Record<string, Shown>>, quorum: number, store: TestStore) => {
  const client = HttpClient.make((request) => {
    const url = new URL(request.url)
    const one = shown[url.hostname]
    if (one === undefined || one.head === undefined) return Effect.never
    if (one.refuses === true)
      return Effect.succeed(HttpClientResponse.fromWeb(request, new Response("", { status: 502 })))
    return Effect.succeed(HttpClientResponse.fromWeb(request, answerOf(one, url.pathname)))
  })
  const gateways = Object.keys(shown).map((name) => gatewayOptions({ name, url: `http://${name}` }))
  return layerGateways({ chainId: "test", gateways, quorum }).pipe(
    Layer.provide([Layer.succeed(HttpClient.HttpClient, client), metricsLayer]),
    Layer.provideMerge(store.layer()),
  )
}

const withStore = <A, E>(use: (store: TestStore) => Effect.Effect<A, E>) =>
  Effect.suspend(() => {
    const store = testStore()
    return Effect.ensuring(use(store), Effect.sync(store.remove))
  })

const head = Effect.gen(function* () {
  const asked = yield* Effect.result((yield* ChainContext).head)
  return Result.isSuccess(asked) ? asked.success.height : asked.failure.reason._tag
})
const readRows = Effect.flatMap(GatewayReader, ({ assets }) => Effect.result(assets({ first: 1 })))
const states = Effect.map(
  Effect.flatMap(Health, ({ all }) => all),
  (all) => all.map(({ name, state }) => `${name} ${state}`),
)

const second = Effect.fnUntraced(function* (shown: Readonly<Record<string, Shown>>, by = 1n) {
  for (const one of Object.values(shown)) {
    if (one.head !== undefined) one.head += by
    if (one.rows !== undefined) one.rows += by
  }
  yield* TestClock.adjust("1 second")
  return yield* head
})

/** So many seconds, in which each gateway begins a block a second; what was told, without repetitions. */
const seconds = Effect.fnUntraced(function* (count: number, shown: Readonly<Record<string, Shown>>) {
  const told: Array<bigint | string> = []
  for (let i = 0; i < count; i++) told.push(yield* second(shown))
  return told
})

describe("the newest block of one gateway", () => {
  it.effect("is doubted where it is wild, and believed again at once after it", () =>
    withStore((store) => {
      const shown = { a: { head: 1_000n, rows: undefined } as Shown }
      return Effect.gen(function* () {
        assert.strictEqual(yield* head, 1_000n)
        shown.a.head = wild
        assert.deepStrictEqual(yield* seconds(4, shown), ["Doubted", "Doubted", "Doubted", "Doubted"])
        assert.isTrue(yield* Effect.flatMap(TrustedHead, ({ isDoubted }) => isDoubted))
        shown.a.head = 1_005n
        assert.strictEqual(yield* second(shown), 1_006n)
        assert.isFalse(yield* Effect.flatMap(TrustedHead, ({ isDoubted }) => isDoubted))
      }).pipe(Effect.provide(network(shown, 1, store)))
    }),
  )

  it.effect("is never believed where its own row headers contradict it", () =>
    withStore((store) => {
      const shown = { a: { head: 1_000n, rows: 1_000n } as Shown }
      return Effect.gen(function* () {
        yield* head
        shown.a.head = wild
        for (let i = 0; i < 120; i++) {
          yield* readRows
          assert.strictEqual(yield* second(shown), "Doubted")
        }
      }).pipe(Effect.provide(network(shown, 1, store)))
    }),
  )

  it.effect("is believed where it persists, by this process and those after it", () =>
    withStore((store) => {
      const shown = { a: { head: 1_000n, rows: undefined } as Shown }
      const run = <A, E>(use: Effect.Effect<A, E, ChainContext | TrustedHead>) =>
        Effect.provide(use, network(shown, 1, store), { local: true })
      return Effect.gen(function* () {
        assert.strictEqual(yield* run(head), 1_000n)
        shown.a.head = 10n
        const before = yield* run(seconds(15, shown))
        assert.deepStrictEqual([...new Set(before)], ["Doubted"])
        const after = yield* run(seconds(16, shown))
        assert.deepStrictEqual(after.slice(-2), ["Doubted", 41n])
        assert.strictEqual(yield* run(second(shown)), 42n)
        const { trusted } = yield* run(Effect.flatMap(TrustedHead, ({ of }) => of("test")))
        assert.deepStrictEqual([trusted?.epoch, trusted?.height], [1, 41n], "as stored, which is little less")
      })
    }),
  )

  it.effect("does not go back within its epoch if nodes differ by little", () =>
    withStore((store) => {
      const shown = { a: { head: 1_000n, rows: undefined } as Shown }
      return Effect.gen(function* () {
        yield* head
        shown.a.head = 992n
        assert.strictEqual(yield* head, 1_000n)
        shown.a.head = 1_001n
        assert.strictEqual(yield* head, 1_001n)
      }).pipe(Effect.provide(network(shown, 1, store)))
    }),
  )

  it.effect.each<[string, number, bigint]>([
    ["an outage of a week", 604_800, 604_800n],
    ["a laptop that slept for a night", 28_800, 28_800n],
    ["a clock that went 25 h forward", 90_000, 1n],
    ["a clock that went back", -90_000, 900n],
  ])("is believed at once after %s", ([, elapsed, blocks]) =>
    withStore((store) => {
      const shown = { a: { head: 1_000_000n, rows: undefined } as Shown }
      return Effect.gen(function* () {
        yield* TestClock.setTime(1_700_000_000_000)
        yield* head
        shown.a.head = 1_000_000n + blocks
        yield* TestClock.setTime(1_700_000_000_000 + elapsed * 1_000)
        assert.strictEqual(yield* head, 1_000_000n + blocks)
      }).pipe(Effect.provide(network(shown, 1, store)))
    }),
  )

  it.effect("bounds what its row headers may say", () =>
    withStore((store) => {
      const shown = { a: { head: 1_000n, rows: wild } as Shown }
      return Effect.gen(function* () {
        yield* head
        const read = yield* readRows
        assert.isTrue(Result.isFailure(read))
        if (Result.isFailure(read))
          assert.match(read.failure.message, /Unreadable: its headers name block 8000000000000000000/)
        shown.a.rows = 1_000n
        assert.isTrue(Result.isSuccess(yield* readRows))
      }).pipe(Effect.provide(network(shown, 1, store)))
    }),
  )

  it.effect("bounds them by what was known before this process, from the first answer on", () =>
    withStore((store) => {
      const shown = { a: { head: 1_000n, rows: 1_000n } as Shown }
      const before = head.pipe(Effect.provide(network(shown, 1, store)))
      const after = Effect.gen(function* () {
        shown.a.rows = wild
        assert.isTrue(Result.isFailure(yield* readRows))
      }).pipe(Effect.provide(network(shown, 1, store)))
      return Effect.andThen(before, after)
    }),
  )

  it.effect("is asked again where a false first one is contradicted by rows", () =>
    withStore((store) => {
      const shown = { a: { head: wild, rows: 1_000n } as Shown }
      return Effect.gen(function* () {
        assert.strictEqual(yield* head, wild)
        yield* readRows
        assert.strictEqual(yield* head, "Doubted")
        shown.a.head = 1_001n
        assert.strictEqual(yield* head, 1_001n)
      }).pipe(Effect.provide(network(shown, 1, store)))
    }),
  )
})

describe("the newest block of three gateways, of which two must agree", () => {
  const three = () => ({
    a: { head: 61n, rows: 61n } as Shown,
    b: { head: 61n, rows: 61n } as Shown,
    c: { head: 61n, rows: 61n } as Shown,
  })

  it.effect("leaves out the one that tells a wild one", () =>
    withStore((store) => {
      const shown = three()
      return Effect.gen(function* () {
        assert.strictEqual(yield* head, 61n)
        shown.b.head = wild
        assert.deepStrictEqual(yield* seconds(3, shown), [62n, 63n, 64n])
        assert.deepStrictEqual(yield* states, ["a up", "b quarantined", "c up"])
      }).pipe(Effect.provide(network(shown, 2, store)))
    }),
  )

  it.effect.each<[string, (head: bigint) => bigint]>([
    ["a wild one", () => wild],
    ["one 900 ahead", (head) => head + 900n],
  ])("is believed again at once after %s, where two are alive, and the one that told it comes back", ([, lie]) =>
    withStore((store) => {
      const shown = three()
      return Effect.gen(function* () {
        yield* readRows
        assert.strictEqual(yield* head, 61n)
        shown.c.refuses = true
        const honest = shown.b.head ?? 0n
        for (let i = 0; i < 4; i++) {
          shown.b.head = lie(honest + BigInt(i))
          yield* second({ a: shown.a, b: { ...shown.b } })
        }
        shown.b.head = shown.a.head
        yield* seconds(2, shown)
        assert.include(yield* states, "b quarantined")
        const told = yield* seconds(26, shown)
        assert.deepStrictEqual(new Set(told.map((one) => typeof one)), new Set(["bigint"]))
        assert.include(yield* states, "b quarantined", "half a minute of agreement is not over")
        yield* seconds(6, shown)
        assert.include(yield* states, "b up")
      }).pipe(Effect.provide(network(shown, 2, store)))
    }),
  )

  it.effect("leaves out for ten minutes one that went back, where it is not needed", () =>
    withStore((store) => {
      const shown = three()
      return Effect.gen(function* () {
        yield* head
        shown.b.head = 961n
        yield* second(shown)
        shown.b.head = shown.a.head
        yield* seconds(90, shown)
        assert.include(yield* states, "b quarantined")
      }).pipe(Effect.provide(network(shown, 2, store)))
    }),
  )

  it.effect("does not count one left out, nor one on another chain", () =>
    withStore((store) => {
      const shown = three()
      return Effect.gen(function* () {
        yield* head
        shown.c.refuses = true
        yield* (yield* Health).quarantine("b", "its balances are not those of a and c")
        assert.strictEqual(yield* second(shown), "Ambiguous")
        yield* (yield* Health).readmit("b")
        assert.strictEqual(yield* second(shown), 63n)
        shown.b.head = 20n
        yield* seconds(2, shown)
        shown.b.head = (shown.a.head ?? 0n) + 11n
        assert.strictEqual(yield* second(shown), "Doubted", "eleven blocks apart")
        shown.b.head = (shown.a.head ?? 0n) + 10n
        assert.strictEqual(yield* second(shown), shown.a.head, "the lower of both")
      }).pipe(Effect.provide(network(shown, 2, store)))
    }),
  )

  it.effect("may be accepted by people if the latest answers agree", () =>
    withStore((store) => {
      const shown = three()
      const trustable = Effect.map(
        Effect.flatMap(TrustedHead, ({ of }) => of("test")),
        ({ doubt }) => [doubt !== undefined, doubt?.trustable],
      )
      return Effect.gen(function* () {
        yield* readRows
        yield* head
        shown.c.refuses = true
        shown.b.head = wild
        yield* seconds(3, shown)
        assert.deepStrictEqual(yield* trustable, [true, undefined], "the gateways contradict each other")
        for (const one of [shown.a, shown.b]) one.head = one.rows = 5_000n
        yield* seconds(3, shown)
        assert.deepStrictEqual(yield* trustable, [true, undefined], "row headers contradict both")
        for (const one of [shown.a, shown.b]) one.head = one.rows = 40n
        yield* readRows
        yield* seconds(3, shown)
        assert.deepStrictEqual(yield* trustable, [true, 43n])
      }).pipe(Effect.provide(network(shown, 2, store)))
    }),
  )

  it.effect("does not fall to what one lags behind at, where another hangs", () =>
    withStore((store) => {
      const shown = three()
      return Effect.gen(function* () {
        assert.strictEqual(yield* head, 61n)
        shown.a.head = undefined
        shown.c.head = 11n
        shown.c.rows = 11n
        const asking = yield* Effect.forkChild(head, { startImmediately: true })
        yield* TestClock.adjust("11 seconds")
        const told = yield* Fiber.join(asking)
        assert.strictEqual(told, "Doubted")
        shown.c.head = 60n
        const again = yield* Effect.forkChild(
          Effect.repeat(head, Schedule.spaced("1 second").pipe(Schedule.upTo({ times: 40 }))),
          { startImmediately: true },
        )
        yield* TestClock.adjust("10 minutes")
        yield* Fiber.join(again)
        const last = yield* Effect.forkChild(head, { startImmediately: true })
        yield* TestClock.adjust("11 seconds")
        assert.strictEqual(yield* Fiber.join(last), 61n)
      }).pipe(Effect.provide(network(shown, 2, store)))
    }),
  )

  it.effect("follows them all where their chain began anew", () =>
    withStore((store) => {
      const shown = three()
      return Effect.gen(function* () {
        for (const one of Object.values(shown)) {
          one.head = 100_000n
          one.rows = 100_000n
        }
        assert.strictEqual(yield* head, 100_000n)
        yield* readRows
        for (const one of Object.values(shown)) {
          one.head = 5n
          one.rows = undefined
        }
        const told = yield* seconds(40, shown)
        assert.include([...new Set(told)].slice(0, 1), "Doubted")
        assert.strictEqual(told.at(-1), 45n)
        assert.deepStrictEqual(yield* states, ["a up", "b up", "c up"])
      }).pipe(Effect.provide(network(shown, 2, store)))
    }),
  )
})

describe("a walk over pages of several gateways", () => {
  it.effect("stays with the one that gave the cursor", () =>
    withStore((store) => {
      const one = (cursor: string): Shown => ({ head: 1_000n, rows: 1_000n, cursor })
      const shown = { a: one("of a"), b: one("of b") }
      const page = (after?: string) =>
        Effect.map(
          Effect.flatMap(GatewayReader, ({ assets }) =>
            assets({ first: 1, ...(after === undefined ? {} : { after }) }),
          ),
          ({ pageInfo }) => pageInfo.endCursor,
        )
      return Effect.gen(function* () {
        yield* head
        shown.a.refuses = true
        const cursor = yield* page()
        assert.strictEqual(cursor, "of b")
        shown.a.refuses = false
        assert.strictEqual(yield* page(), "of a", "a new walk begins with the first")
        assert.strictEqual(yield* page(cursor), "of b")
      }).pipe(Effect.provide(network(shown, 1, store)))
    }),
  )
})
