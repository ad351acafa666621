import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { gatewayLayer } from "../../src/layers.ts"
import { pollBalances } from "../../src/poller/BalancePoller.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { headOf, headPath } from "../support/HistoryServer.ts"
import { type Body, effectOf } from "../support/it.ts"
import { testStore } from "../support/TestStore.ts"
import { aliceKey, assetId, bobKey, watchOnly } from "../support/treasury.ts"
import { waitUntil } from "../support/until.ts"

interface Row {
  readonly at: bigint
  readonly party: string
  readonly balance: bigint
}

/** A data node whose history a test writes: it answers windows without cursors, at most 1,000 rows, as real ones do. */
class Node {
  rows: Array<Row> = []
  /** Block begun; undefined: no headers. */
  begun: bigint | undefined = 1_000_000n
  accounts: Array<Row> | undefined = []
  asked = 0
  /** Whether the pages of accounts name each other for ever. */
  circle = false
  pages = 0

  answer(url: URL): { readonly status: number; readonly body: unknown } {
    const edges = (list: ReadonlyArray<unknown>) => list.map((node) => ({ cursor: "x", node }))
    const info = (next: boolean) => ({ hasNextPage: next, hasPreviousPage: false, startCursor: "x", endCursor: "x" })
    const mine = (row: Row) => url.searchParams.getAll("filter.partyIds").includes(row.party)
    if (url.pathname.endsWith("/accounts")) {
      if (this.accounts === undefined) return { status: 501, body: { code: 12, message: "no", details: [] } }
      this.pages++
      if (this.circle) {
        const endCursor = this.pages % 2 === 0 ? "even" : "odd"
        return { status: 200, body: { accounts: { edges: [], pageInfo: { ...info(true), endCursor } } } }
      }
      const list = this.accounts.map((r) => ({
        owner: r.party,
        balance: String(r.balance),
        asset: assetId,
        marketId: "",
        type: "ACCOUNT_TYPE_GENERAL",
      }))
      return { status: 200, body: { accounts: { edges: edges(list), pageInfo: info(false) } } }
    }
    this.asked++
    const from = BigInt(url.searchParams.get("dateRange.startTimestamp") ?? "0")
    const to = BigInt(url.searchParams.get("dateRange.endTimestamp") ?? String(2n ** 62n))
    const found = this.rows.filter((r) => mine(r) && r.at >= from && r.at < to).sort((a, b) => (a.at < b.at ? -1 : 1))
    const first = Number(url.searchParams.get("pagination.first"))
    const page = found.slice(0, first).map((r) => ({
      timestamp: String(r.at),
      balance: String(r.balance),
      partyId: r.party,
      assetId,
      marketId: "",
      accountType: "ACCOUNT_TYPE_GENERAL",
    }))
    return { status: 200, body: { balances: { edges: edges(page), pageInfo: info(found.length > first) } } }
  }
}

const withNode = Effect.fnUntraced(function* (
  use: Body<
    [
      node: Node,
      poll: Effect.Effect<boolean, unknown>,
      seen: Effect.Effect<ReadonlyArray<string>, unknown>,
      store: Observations["Service"],
    ],
    never
  >,
) {
  const node = new Node()
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://x")
    const { status, body } = url.pathname === headPath ? { status: 200, body: headOf("c-1") } : node.answer(url)
    if (node.begun !== undefined) {
      response.setHeader("X-Block-Height", "7")
      response.setHeader("X-Block-Timestamp", String(node.begun))
    }
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
  })
  yield* Effect.callback<void>((resume) => {
    server.listen(0, "127.0.0.1", () => resume(Effect.void))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const treasury = yield* watchOnly(url)
  const store = testStore()
  const names = { gateways: ["node"], rules: [], receivers: [], version: "", revision: "" }
  const layer = gatewayLayer({ treasury, gatewayUrl: url }).pipe(
    Layer.provideMerge(Metrics.layer({ treasury: "watch", mode: "observe", ...names })),
    Layer.provideMerge(store.layer()),
    Layer.provideMerge(Logger.layer([])),
  )
  yield* Effect.gen(function* () {
    const context = yield* Effect.context<Layer.Success<typeof layer>>()
    const observations = yield* Observations
    const poll = pollBalances(treasury).pipe(Effect.provideContext(context))
    const seen = Effect.map(
      Effect.all([observations.history(aliceKey, assetId, 0n), observations.history(bobKey, assetId, 0n)]),
      (both) => both.flat().map((r) => `${r.party[0]}${r.timestamp}=${r.balance}`),
    )
    yield* effectOf(use(node, poll, seen, observations))
  }).pipe(
    Effect.provide(layer),
    Effect.ensuring(Effect.sync(() => [server.close(), server.closeAllConnections(), store.remove()])),
  )
})

const row = (at: bigint, balance: bigint, party = aliceKey): Row => ({ at, party, balance })

describe("reading balance changes", () => {
  it.live("begins with current balances, and takes rows of final blocks only", () =>
    withNode(function* (node, poll, seen, store) {
      node.accounts = [row(0n, 5n), row(0n, 9n, bobKey), row(0n, 1n, "e".repeat(64))]
      yield* poll
      assert.deepStrictEqual(
        (yield* store.accounts).map((a) => a.balance),
        [5n, 9n],
        "watched parties alone",
      )
      assert.deepInclude(yield* store.watermark, { timestamp: 1_000_000n, height: 6n })
      node.begun = 2_000_000n
      node.rows = [row(1_000_000n, 6n), row(1_999_000n, 7n), row(2_000_000n, 8n)]
      yield* poll
      assert.deepStrictEqual(yield* seen, ["a999000=5", "a1000000=6", "a1999000=7", "b999000=9"])
      node.begun = 3_000_000n
      yield* poll
      assert.include(yield* seen, "a2000000=8")
    }),
  )

  it.live("halves a window that overflows a page, and misses and repeats nothing", () =>
    withNode(function* (node, poll, seen) {
      yield* poll
      for (let i = 0n; i < 2_600n; i++) node.rows.push(row(1_000_000n + i * 1_000n, i))
      node.begun = 1_000_000n + 2_600n * 1_000n
      for (let more = true, rounds = 0; more; rounds++) {
        more = yield* poll
        assert.isBelow(rounds, 20)
      }
      assert.strictEqual((yield* seen).length, 2_600)
      assert.strictEqual(new Set(yield* seen).size, 2_600)
    }),
  )

  it.live("ignores a gateway that goes backwards, and asks again from where it was", () =>
    withNode(function* (node, poll, seen, store) {
      yield* poll
      node.begun = 500_000n
      node.rows = [row(400_000n, 3n)]
      yield* poll
      assert.deepStrictEqual(yield* seen, [])
      assert.strictEqual((yield* store.watermark)?.timestamp, 1_000_000n)
    }),
  )

  it.live("reads a year of history without balances, and overlaps windows without headers", () =>
    withNode(function* (node, poll, seen) {
      node.accounts = undefined
      node.begun = undefined
      const now = BigInt(Date.now()) * 1_000_000n
      node.rows = [row(now - 300n * 86_400_000_000_000n, 1n), row(now - 60_000_000_000n, 2n), row(now, 3n)]
      yield* waitUntil(
        "all to be read",
        Effect.map(poll, (hasMore) => !hasMore),
        Effect.yieldNow,
      )
      assert.deepStrictEqual(
        (yield* seen).map((s) => s.split("=")[1]),
        ["1", "2"],
        "what may still change waits",
      )
    }),
  )

  it.live("takes no balances from pages that run in a circle, and asks again later", () =>
    withNode(function* (node, poll, seen, store) {
      node.circle = true
      yield* poll
      assert.isBelow(node.pages, 10)
      assert.isUndefined(yield* store.watermark)
      node.circle = false
      node.accounts = [row(0n, 5n)]
      yield* poll
      assert.deepStrictEqual(yield* seen, ["a999000=5"])
    }),
  )

  it.live("rejects a block from the future, which would hide later ones", () =>
    withNode(function* (node, poll, seen, store) {
      const real = BigInt(Date.now() - 1_000) * 1_000_000n
      const lied = real + 3_600_000_000_000n
      node.begun = lied
      yield* poll
      assert.isUndefined(yield* store.watermark, "not at the first reading")
      node.begun = real
      yield* poll
      node.begun = lied
      node.rows = [row(real, 6n), row(real + 1_000n, 7n)]
      yield* poll
      assert.strictEqual((yield* store.watermark)?.timestamp, real, "nor later")
      node.begun = real + 1_000_000n
      yield* poll
      assert.deepStrictEqual((yield* seen).slice(-2), [`a${real}=6`, `a${real + 1_000n}=7`])
    }),
  )

  it.live("gets past an overlap that holds more rows than a page, without block headers", () =>
    withNode(function* (node, poll, seen) {
      node.begun = undefined
      yield* poll
      const now = BigInt(Date.now()) * 1_000_000n
      for (let i = 0n; i < 3_000n; i++) node.rows.push(row(now - 9_900_000_000n + i * 1_000n, i))
      node.rows.push(row(now - 5_000_500_000n, 9n), row(now - 5_000_400_000n, 10n))
      for (let more = true, rounds = 0; more; rounds++) {
        more = yield* poll
        assert.isBelow(rounds, 20, "each round gets further")
      }
      assert.strictEqual((yield* seen).length, 3_002)
      assert.isBelow(node.asked, 60)
    }),
  )
})
