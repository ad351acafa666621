import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { CycleConfig } from "../../src/config/ConfigInForce.ts"
import type { Treasury } from "../../src/config/Treasury.ts"
import { notifyAssets } from "../../src/engine/notifyAssets.ts"
import { gatewayLayer } from "../../src/layers.ts"
import { pollAssets } from "../../src/poller/AssetPoller.ts"
import type { PinnedAsset } from "../../src/rules/Account.ts"
import type { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { Listings } from "../../src/store/network/Listings.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { alertRows } from "../support/alertRows.ts"
import { headOf, headPath } from "../support/HistoryServer.ts"
import { type Body, effectOf } from "../support/it.ts"
import { testStore } from "../support/TestStore.ts"
import { watchOnly } from "../support/treasury.ts"

interface Asset {
  /** Default: its symbol. */
  readonly name?: string
  readonly id: string
  readonly symbol: string
  readonly decimals: number
  readonly quantum: string
  readonly status: string
  readonly contract?: string
}

const usdt: Asset = { id: "a".repeat(64), symbol: "USDT", decimals: 6, quantum: "1", status: "STATUS_ENABLED" }
const vega: Asset = { id: "b".repeat(64), symbol: "VEGA", decimals: 18, quantum: "1", status: "STATUS_ENABLED" }
const pin: PinnedAsset = { symbol: "USDT", id: usdt.id, decimals: 6 }

/** A data node whose listing a test writes, in pages of two. */
class Node {
  assets: ReadonlyArray<Asset> = [usdt, vega]
  /** Block begun, Unix nanoseconds; undefined: no headers. */
  begun: bigint | undefined
  height = 7

  answer(url: URL): unknown {
    const from = Number(url.searchParams.get("pagination.after") ?? 0)
    const edges = this.assets.slice(from, from + 2).map(({ contract, ...asset }, i) => ({
      cursor: String(from + i + 1),
      node: {
        id: asset.id,
        status: asset.status,
        details: {
          name: asset.name ?? asset.symbol,
          symbol: asset.symbol,
          decimals: String(asset.decimals),
          quantum: asset.quantum,
          ...(contract === undefined
            ? { builtinAsset: { maxFaucetAmountMint: "5" } }
            : { erc20: { contractAddress: contract, lifetimeLimit: "1", withdrawThreshold: "1" } }),
        },
      },
    }))
    const endCursor = edges.at(-1)?.cursor ?? ""
    return { assets: { edges, pageInfo: { hasNextPage: from + 2 < this.assets.length, endCursor } } }
  }
}

const options = Layer.succeed(CycleConfig, {
  mode: "observe",
  treasury: {
    name: "watch",
    rules: [{ kind: "notify", name: "news", asset: "any", becomes: ["enabled"] }],
    policy: { maxFee: { numerator: 0n, denominator: 1n }, lines: [], digest: "", hash: "" },
    assets: new Map([[pin.symbol, pin]]),
    network: { maxAgeMillis: 30_000 },
  } as unknown as Treasury,
})

type Services = AlertQueue | Controls | Listings | Settings

/** Each step runs in a process of its own on one store: what it does not keep is lost. */
const withNode = (
  ...steps: ReadonlyArray<
    Body<
      [
        node: Node,
        look: Effect.Effect<ReadonlyArray<string>>,
        poll: (pins?: ReadonlyArray<PinnedAsset>) => Effect.Effect<void>,
      ],
      Services
    >
  >
) =>
  Effect.gen(function* () {
    const node = new Node()
    const server = createServer((request, response) => {
      if (node.begun !== undefined) {
        response.setHeader("X-Block-Height", String(node.height))
        response.setHeader("X-Block-Timestamp", String(node.begun))
      }
      const url = new URL(request.url ?? "/", "http://x")
      response.end(JSON.stringify(url.pathname === headPath ? headOf("c-1") : node.answer(url)))
    })
    yield* Effect.callback<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    })
    const gatewayUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const treasury = yield* watchOnly(gatewayUrl)
    const metrics = Metrics.layer({
      treasury: "watch",
      mode: "observe",
      gateways: ["node"],
      rules: [],
      payers: [],
      receivers: [],
      version: "",
      revision: "",
    })
    const store = testStore()
    const told = new Set<number>()
    /** One look at the listing; answers the alerts that are new. */
    const look = Effect.gen(function* () {
      yield* Effect.andThen(pollAssets([pin]), notifyAssets())
      const fresh = (yield* alertRows).filter(({ seq }) => !told.has(seq))
      for (const { seq } of fresh) told.add(seq)
      return fresh.map(({ severity, subject, detail }) => `${severity} ${subject} ${detail}`)
    })
    for (const step of steps) {
      const process = Effect.gen(function* () {
        const services = yield* Effect.context<Effect.Services<typeof look>>()
        const poll = (pins: ReadonlyArray<PinnedAsset> = [pin]) => provided(Effect.asVoid(pollAssets(pins)))
        const provided = <A, E>(effect: Effect.Effect<A, E, Effect.Services<typeof look>>) =>
          Effect.orDie(Effect.provideContext(effect, services))
        yield* effectOf(step(node, provided(look), poll))
      })
      yield* process.pipe(
        Effect.provide(
          Layer.mergeAll(store.layer(), options, gatewayLayer({ treasury, gatewayUrl }).pipe(Layer.provide(metrics))),
        ),
      )
    }
    yield* Effect.sync(() => [server.close(), server.closeAllConnections(), store.remove()])
  })

const scopes = Effect.flatMap(Controls, (controls) => Effect.map(controls.pauses, (list) => list.map((p) => p.scope)))

/** End of each ticket about a listing. */
const issuer = "; compare the listing with the asset's issuer"

describe("the asset listing", () => {
  it.live("tells of each step once, over restarts, and of those that no network takes", () =>
    withNode(
      function* (node, look, poll) {
        assert.deepStrictEqual(yield* look, [], "what was there before is no news")
        node.assets = [usdt, vega, { ...vega, id: "c".repeat(64), symbol: "NEW", status: "STATUS_PROPOSED" }]
        yield* poll()
      },
      function* (node, look) {
        assert.deepStrictEqual(yield* look, [], "proposed is expected, and no rule asked for it")
        node.assets = node.assets.map((a) => (a.symbol === "NEW" ? { ...a, status: "STATUS_ENABLED" } : a))
        assert.deepStrictEqual(yield* look, ["info NEW proposed -> enabled (18 decimals, quantum 1)"])
      },
      function* (node, look) {
        assert.deepStrictEqual(yield* look, [])
        node.assets = node.assets.map((a) => (a.symbol === "NEW" ? { ...a, status: "STATUS_FROZEN" } : a))
        assert.deepStrictEqual(yield* look, [
          `ticket NEW unexpected change of status: enabled -> unspecified (18 decimals, quantum 1)${issuer}`,
        ])
        assert.deepStrictEqual(yield* look, [])
      },
    ),
  )

  it.live("alerts once after two listings without an asset, and once when it returns", () =>
    withNode(
      function* (node, look) {
        yield* look
        node.assets = [usdt]
        assert.deepStrictEqual(yield* look, [], "one listing may be cut short")
        assert.deepStrictEqual((yield* (yield* Listings).assets).map((a) => a.symbol).toSorted(), ["USDT", "VEGA"])
      },
      function* (node, look) {
        assert.deepStrictEqual(yield* look, [`ticket VEGA is not listed any more${issuer}`])
        assert.deepStrictEqual(yield* look, [])
        assert.deepStrictEqual(
          (yield* (yield* Listings).assets).map((a) => a.symbol),
          ["USDT"],
        )
        node.assets = [usdt, { ...vega, status: "STATUS_REJECTED" }]
        assert.deepStrictEqual(yield* look, [
          "info VEGA is listed again (18 decimals, quantum 1)",
          `ticket VEGA unexpected change of status: enabled -> rejected (18 decimals, quantum 1)${issuer}`,
        ])
        node.assets = []
        assert.deepStrictEqual(yield* look, [])
        node.assets = [usdt]
        assert.deepStrictEqual(yield* look, [], "an empty listing counts for nothing")
      },
    ),
  )

  it.live("reports a changed value as a ticket, and limits and quanta as news", () =>
    withNode(function* (node, look) {
      yield* look
      node.assets = [usdt, { ...vega, quantum: "50" }]
      assert.deepStrictEqual(yield* look, ["info VEGA quantum 1 -> 50 (18 decimals, quantum 50)"])
      node.assets = [usdt, { ...vega, quantum: "50", contract: "0xabc" }]
      const [told = ""] = yield* look
      assert.match(told, /^ticket VEGA source builtin -> erc20, .*contractAddress none -> 0xabc/)
      assert.deepStrictEqual(yield* look, [])
      node.assets = [usdt, vega, { ...usdt, id: "d".repeat(64), status: "STATUS_PROPOSED" }]
      const news = yield* look
      assert.isTrue(news.some((text) => text.startsWith("ticket USDT another asset calls itself USDT: dddd")))
      assert.deepStrictEqual(yield* scopes, [], "a namesake stops nothing")
    }),
  )

  it.live("reports each newcomer that resembles a pinned asset by symbol or name", () =>
    withNode(function* (node, look) {
      yield* look
      const newcomer = (digit: string, symbol: string, name: string) => ({
        ...usdt,
        id: digit.repeat(64),
        symbol,
        name,
        status: "STATUS_PROPOSED",
      })
      const tickets = Effect.map(look, (told) => told.filter((text) => text.includes("another asset")))
      node.assets = [usdt, vega, newcomer("1", "USD\u0422", "Something")]
      const [cyrillic = "nothing"] = yield* tickets
      assert.match(
        cyrillic,
        /^ticket USD\u0422 another asset calls itself "USD\u0422", which looks like USDT: 1{64}; the pin/,
      )
      node.assets = [...node.assets, newcomer("2", "US\u200bDT", "Another")]
      const [unseen = "nothing"] = yield* tickets
      assert.match(
        unseen,
        /^ticket US\\u\{200b\}DT another asset calls itself "US\\u\{200b\}DT", which looks like USDT: 2{64}/,
      )
      node.assets = [...node.assets, newcomer("3", "TUSD", "\uff35SDT")]
      const [named = "nothing"] = yield* tickets
      assert.match(
        named,
        /^ticket TUSD another asset, TUSD, has the name "\uff35SDT", which looks like "USDT" of USDT: 3{64}/,
      )
      node.assets = [...node.assets, newcomer("4", "AAA", "Plain")]
      assert.deepStrictEqual(yield* tickets, [])
      node.assets = [...node.assets.slice(0, -1), newcomer("4", "AAA", "usdt")]
      const [renamed = "nothing"] = yield* tickets
      assert.match(renamed, /^ticket AAA another asset, AAA, has the name ".*", which looks like ".*" of USDT: 4{64}/)
      assert.deepStrictEqual(yield* scopes, [], "they stop nothing")
    }),
  )

  it.live("rejects listings that are older or name one asset in two ways", () =>
    withNode(function* (node, look) {
      const now = BigInt(Date.now()) * 1_000_000n
      node.begun = now
      yield* look
      node.assets = [usdt, { ...vega, status: "STATUS_PENDING_LISTING" }]
      node.begun = now - 1_000n
      assert.deepStrictEqual(yield* look, [], "from another node, that lags")
      node.begun = now + 3_600_000_000_000n
      assert.deepStrictEqual(yield* look, [], "from the future")
      const refused = Effect.flatMap(Settings, (settings) => settings.get("assetsRefused"))
      const first = yield* refused
      node.height++
      yield* look
      assert.strictEqual(yield* refused, first, "the same trouble with each block, written and logged once")
      node.begun = now + 1_000n
      node.assets = [usdt, vega, { ...vega, decimals: 3 }]
      assert.deepStrictEqual(yield* look, [])
      node.assets = [usdt, vega, vega]
      assert.deepStrictEqual(yield* look, [])
      assert.lengthOf(yield* (yield* Listings).assets, 2)
    }),
  )
})

describe("the time of the asset listing", () => {
  it.live("is noted with what it shows, and not at each poll that shows nothing new", () =>
    withNode(function* (node, look) {
      const noted = Effect.flatMap(Settings, (settings) => settings.get("assetsAsOf"))
      const now = BigInt(Date.now()) * 1_000_000n
      const lookAt = Effect.fnUntraced(function* (begun: bigint, assets = node.assets) {
        Object.assign(node, { begun, assets })
        yield* look
        return yield* noted
      })
      assert.strictEqual(yield* lookAt(now), String(now))
      assert.strictEqual(yield* lookAt(now + 1n), String(now))
      const pending = [usdt, { ...vega, status: "STATUS_PENDING_LISTING" }]
      assert.strictEqual(yield* lookAt(now + 2n, pending), String(now + 2n), "a change")
      assert.strictEqual(yield* lookAt(now + 1n, [usdt, vega]), String(now + 2n), "from before the change")
      assert.strictEqual(yield* lookAt(now + 3n, [usdt]), String(now + 3n), "one left out for the first time")
      yield* (yield* Settings).set("assetsReadAt", String(Date.now() - 30_000))
      assert.strictEqual(yield* lookAt(now + 4n), String(now + 4n), "half a minute ago")
    }),
  )
})

describe("a pinned asset", () => {
  it.live("stops as soon as its listing contradicts the pin, until they agree", () =>
    withNode(
      function* (node, look) {
        yield* look
        assert.deepStrictEqual(yield* scopes, [])
        node.assets = [{ ...usdt, decimals: 18 }, vega]
        const told = yield* look
        assert.include(
          told,
          'page USDT USDT is listed with 18 decimals, pinned with 6: no payment of USDT is signed or sent; if the listing is right, write "decimals: 18" for USDT in the treasury file, then "cofferer reload --allow-weaker --reason TEXT"; if not, the gateway is wrong: ask who runs it',
        )
        assert.deepStrictEqual(yield* scopes, ["pin:USDT"])
      },
      function* (node, look) {
        assert.deepStrictEqual(yield* look, [])
        assert.deepStrictEqual(yield* scopes, ["pin:USDT"])
        node.assets = [vega]
        yield* look
        assert.include(
          yield* look,
          `page USDT USDT (${usdt.id}) is not listed: no payment of USDT is signed or sent; if its id in the treasury file is wrong, correct it, then "cofferer reload --allow-weaker --reason TEXT"; if not, the gateway is wrong: ask who runs it`,
        )
        node.assets = [usdt, vega]
        yield* look
        assert.deepStrictEqual(yield* scopes, [])
      },
    ),
  )

  it.live("may be released by a person, until a different contradiction stops it", () =>
    withNode(function* (node, look) {
      node.assets = [{ ...usdt, status: "STATUS_PENDING_LISTING" }, vega]
      assert.include(
        yield* look,
        "page USDT USDT is pending listing: no payment of USDT is signed or sent; it goes on once the listing says enabled",
      )
      yield* (yield* Controls).resume({ scope: "pin:USDT", reason: "known", author: "ann" })
      yield* look
      assert.deepStrictEqual(yield* scopes, [])
      node.assets = [{ ...usdt, status: "STATUS_REJECTED" }, vega]
      yield* look
      assert.deepStrictEqual(yield* scopes, ["pin:USDT"])
    }),
  )

  it.live("is stopped by the contradiction that holds now, where one follows another", () =>
    withNode(function* (node, look) {
      const reasons = Effect.map(
        Effect.flatMap(Controls, (controls) => controls.pauses),
        (all) => all.map(({ reason }) => reason),
      )
      node.assets = [{ ...usdt, status: "STATUS_REJECTED" }, vega]
      yield* look
      assert.deepStrictEqual(yield* reasons, ["USDT is rejected"])
      node.assets = [{ ...usdt, decimals: 18 }, vega]
      assert.notInclude((yield* look).join("\n"), "signed again")
      assert.deepStrictEqual(yield* reasons, ["USDT is listed with 18 decimals, pinned with 6"])
    }),
  )

  it.live("stops again where it was pinned no more meanwhile, and its listing still contradicts the pin", () =>
    withNode(function* (node, look, poll) {
      const page = /^page USDT USDT is listed with 18 decimals/
      node.assets = [{ ...usdt, decimals: 18 }, vega]
      assert.match((yield* look).join("\n"), page)
      yield* poll([])
      assert.deepStrictEqual(yield* scopes, [])
      assert.match((yield* look).join("\n"), page)
      assert.deepStrictEqual(yield* scopes, ["pin:USDT"])
    }),
  )
})
