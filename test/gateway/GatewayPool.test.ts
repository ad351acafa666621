import { assert, describe } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Redacted, References } from "effect"
import { TestClock } from "effect/testing"
import { GatewayPool } from "../../src/gateway/GatewayPool.ts"
import { GatewayReader } from "../../src/gateway/GatewayReader.ts"
import { gatewayOptions } from "../../src/gateway/Transport.ts"
import { itWith } from "../support/it.ts"
import { ticking } from "../support/ticking.ts"
import { turn, waitUntil } from "../support/until.ts"
import { type Arrived, type GatewayServer, json, live, openTransport, startGateway } from "./GatewayServer.ts"

const it = itWith(() => Layer.provideMerge(GatewayPool.layer(1_000), live))

const nowhere = { name: "nowhere", url: "http://127.0.0.1:1" }
const keyOf = (n: number): string => `${n}`.repeat(64)
const from = 1795220344000000000n

const row = (party: string, timestamp = from) => ({
  cursor: "",
  node: { timestamp: String(timestamp), balance: "5", partyId: party, assetId: "a", accountType: 4 },
})
const pageOf = (rows: ReadonlyArray<unknown>, hasNextPage = false) => ({
  balances: { edges: rows, pageInfo: { startCursor: "", endCursor: "", hasNextPage, hasPreviousPage: false } },
})
const partiesOf = ({ url }: Arrived): ReadonlyArray<string> => url.searchParams.getAll("filter.partyIds")

/** A gateway that answers each with a row of each party that is asked for. */
const rowsForAll = (isWhole: (asked: number) => boolean = () => true) =>
  startGateway((response, arrived, socket) => {
    const parties = partiesOf(arrived)
    json(
      pageOf(
        parties.map((party) => row(party)),
        !isWhole(parties.length),
      ),
    )(response, arrived, socket)
  })

/** Time passes in which others may join. */
const passing = Effect.andThen(turn, TestClock.adjust("10 millis"))

/** Readers of several treasuries, which ask at the same time for what is new of their parties. */
const newest = (server: GatewayServer, parties: ReadonlyArray<ReadonlyArray<string>>, start = () => from) =>
  ticking(
    Effect.forEach(
      parties,
      (partyIds, n) =>
        Effect.gen(function* () {
          const reader = GatewayReader.make(yield* openTransport(server.url))
          const page = yield* reader.balanceChanges({
            partyIds,
            first: 10,
            newestFirst: false,
            startTimestamp: start(),
          })
          return { n, parties: page.rows.map(({ node }) => node.party) }
        }),
      { concurrency: "unbounded" },
    ),
  )

describe("a gateway that treasuries share", () => {
  it.effect("is asked once for what several want to know of their own parties", function* () {
    const server = yield* rowsForAll()
    const told = yield* newest(server, [[keyOf(1), keyOf(2)], [keyOf(3)], [keyOf(2), keyOf(4)]])
    assert.deepStrictEqual(
      told.map(({ parties }) => parties),
      [[keyOf(1), keyOf(2)], [keyOf(3)], [keyOf(2), keyOf(4)]],
    )
    assert.deepStrictEqual(server.arrived.map(partiesOf), [[keyOf(1), keyOf(2), keyOf(3), keyOf(4)]])
  })

  it.effect("answers one treasury while lookups of others get no answer", function* () {
    const server = yield* startGateway((...at) => {
      if (at[1].url.pathname === "/blockchain/height") json({ height: "120", hash: keyOf(0), chainId: "x" })(...at)
    })
    const [other, ...stuck] = yield* Effect.forEach([0, 1, 2], () =>
      Effect.map(openTransport(server.url), (transport) => GatewayReader.make(transport)),
    )
    for (const [n, one] of stuck.entries()) {
      for (const k of [1, 2, 3, 4]) yield* Effect.forkChild(one.transfer(keyOf(4 * n + k)))
    }
    yield* waitUntil("the first lookups", () => server.arrived.length >= 6)
    const head = yield* Effect.forkChild(other!.head)
    yield* waitUntil("the head", () => head.pollUnsafe() !== undefined)
    assert.isTrue(Exit.isSuccess(yield* Fiber.await(head)))
  })

  it.effect("is asked by each alone where the rows of all fill the page", function* () {
    const server = yield* rowsForAll((asked) => asked === 1)
    const told = yield* newest(server, [[keyOf(1)], [keyOf(2)]])
    assert.deepStrictEqual(
      told.map(({ parties }) => parties),
      [[keyOf(1)], [keyOf(2)]],
    )
    assert.lengthOf(server.arrived, 3)
  })

  it.effect("does not wait for a treasury that is far behind", function* () {
    const server = yield* rowsForAll()
    let n = 0n
    yield* newest(server, [[keyOf(1)], [keyOf(2)]], () => from - 61_000_000_000n * n++)
    assert.lengthOf(server.arrived, 2)
  })

  it.effect("keeps one limit, which is the process's own, whatever deadlines its treasuries have", function* () {
    const pool = yield* GatewayPool
    const [first, other] = yield* Effect.forEach([1_000, 2_000], (requestDeadlineMillis) =>
      pool.of(gatewayOptions({ ...nowhere, requestDeadlineMillis, requestsPerSecond: requestDeadlineMillis / 100 })),
    )
    assert.strictEqual(first?.limiter, other?.limiter)
    assert.include(yield* first!.limiter.pace, { perSecond: 1_000 })
    const guest = yield* pool.of(gatewayOptions({ ...nowhere, headers: { "x-token": Redacted.make("guest") } }))
    assert.notStrictEqual(guest.limiter, first?.limiter)
  })

  it.effect("answers whoever asks after one that was interrupted at any moment", function* () {
    const gateway = yield* (yield* GatewayPool).of(gatewayOptions(nowhere))
    const ask = (key: string) =>
      gateway.share(
        { read: key },
        { key, widen: () => key },
        () => {},
        (wide: string) => Effect.succeed(`of ${wide}`),
      )
    for (let moment = 0; moment < 100; moment++) {
      const key = `read ${moment}`
      // So many steps at a time, after each of which it may be interrupted.
      const steps = 2 + (moment % 10)
      const first = yield* Effect.forkChild(Effect.provideService(ask(key), References.MaxOpsBeforeYield, steps))
      for (let n = 0; n < moment / 10; n++) yield* Effect.yieldNow
      yield* Fiber.interrupt(first)
      const second = yield* Effect.forkChild(ask(key))
      for (let n = 0; n < 200 && second.pollUnsafe() === undefined; n++) {
        yield* Effect.andThen(Effect.yieldNow, TestClock.adjust("100 millis"))
      }
      const exit = second.pollUnsafe()
      assert.deepStrictEqual(exit && Exit.map(exit, ({ answer }) => answer), Exit.succeed(`of ${key}`), `${moment}`)
    }
  })

  it.effect("never answers with what was asked for before the question came", function* () {
    const waiting: Array<() => void> = []
    const server = yield* startGateway((...at) => void waiting.push(() => json({ assets: pageOf([]).balances })(...at)))
    const read = Effect.flatMap(openTransport(server.url), (one) => GatewayReader.make(one).assets({ first: 5 }))
    const first = yield* Effect.forkChild(read)
    yield* waitUntil("the first request", () => server.arrived.length === 1, passing)
    const later = yield* Effect.forkChild(Effect.all([read, read], { concurrency: 2 }))
    yield* waitUntil("its answer", () => waiting.length === 1)
    waiting[0]?.()
    yield* Fiber.join(first)
    yield* waitUntil("another request for those who came later", () => server.arrived.length === 2, passing)
    waiting[1]?.()
    yield* Fiber.join(later)
    assert.lengthOf(server.arrived, 2)
  })

  it.effect("answers the others when the first who asked ends", function* () {
    const waiting: Array<() => void> = []
    const server = yield* startGateway((...at) => void waiting.push(() => json({ assets: pageOf([]).balances })(...at)))
    const reader = GatewayReader.make(yield* openTransport(server.url))
    const [first, second] = [
      yield* Effect.forkChild(reader.assets({ first: 5 })),
      yield* Effect.forkChild(reader.assets({ first: 5 })),
    ]
    yield* waitUntil("the request", () => waiting.length === 1, passing)
    yield* Fiber.interrupt(first)
    waiting[0]?.()
    assert.isTrue(Exit.isSuccess(yield* Fiber.await(second)))
    assert.lengthOf(server.arrived, 1)
  })
})
