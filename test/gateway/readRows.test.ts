import { assert } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { specifiedAccountTypes } from "../../src/domain/Balance.ts"
import { GatewayReader } from "../../src/gateway/GatewayReader.ts"
import { layer } from "../support/it.ts"
import { threadCpuMicros } from "../support/threadCpu.ts"
import { withoutDate } from "../support/withoutDate.ts"
import { json, live, mark, openTransport, startGateway } from "./GatewayServer.ts"

const party = "b5fd9d3c4ad553cb3196303b6e6df7f484cf7f5331a572a45031239fd71ad8a0"
const market = "ab".repeat(32)
const usdt = "bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba"
const pageInfo = { hasNextPage: false, hasPreviousPage: false, startCursor: "", endCursor: "" }
const noBalances = { balances: { edges: [], pageInfo } }
const noAssets = { assets: { edges: [], pageInfo } }

const balancesOf = (...nodes: ReadonlyArray<unknown>) => ({
  balances: { edges: nodes.map((node, i) => ({ cursor: `c${i}`, node })), pageInfo },
})
const assetsOf = (...nodes: ReadonlyArray<unknown>) => ({
  assets: { edges: nodes.map((node, i) => ({ cursor: `c${i}`, node })), pageInfo },
})
const row = { timestamp: "1674004071229537000", balance: "5", partyId: party, assetId: usdt }

layer(live, { excludeTestServices: true })("GatewayReader", (it) => {
  it.effect("sends every parameter by its name, with arrays as repeated keys", function* () {
    const server = yield* startGateway(json(noBalances))
    const reader = GatewayReader.make(yield* openTransport(server.url))
    yield* reader.balanceChanges({
      assetId: usdt,
      partyIds: [party, "network"],
      marketIds: [market, market],
      accountTypes: specifiedAccountTypes,
      first: 5,
      after: "eyJ+/w==",
      last: 6,
      before: "a&b=c d",
      newestFirst: false,
      startTimestamp: 1795220341849114112n,
      endTimestamp: 1795220341849114113n,
    })
    const { url, method } = server.arrived[0]!
    assert.strictEqual(method, "GET")
    assert.strictEqual(url.pathname, "/api/v2/balance/changes")
    assert.deepStrictEqual(
      [...url.searchParams],
      [
        ["filter.assetId", usdt],
        ["filter.partyIds", party],
        ["filter.partyIds", "network"],
        ["filter.marketIds", market],
        ["filter.marketIds", market],
        ...specifiedAccountTypes.map((name): [string, string] => ["filter.accountTypes", name]),
        ["pagination.first", "5"],
        ["pagination.after", "eyJ+/w=="],
        ["pagination.last", "6"],
        ["pagination.before", "a&b=c d"],
        ["pagination.newestFirst", "false"],
        ["dateRange.startTimestamp", "1795220341849114112"],
        ["dateRange.endTimestamp", "1795220341849114113"],
      ],
    )
  })

  it.effect("sends every query parameter of assets and accounts, and none that was not given", function* () {
    const server = yield* startGateway(json(noAssets))
    const reader = GatewayReader.make(yield* openTransport(server.url))
    yield* reader.assets({ assetId: "VOTE", first: 1, after: "a", last: 2, before: "b", newestFirst: true })
    yield* reader.assets({})
    server.handler = json({ accounts: { edges: [], pageInfo } })
    yield* reader.accounts({ assetId: usdt, partyIds: [party], marketIds: [], accountTypes: [], first: 5000 })
    yield* reader.accounts({})
    assert.deepStrictEqual(
      server.arrived.map(({ url }) => decodeURIComponent(url.pathname + url.search)),
      [
        "/api/v2/assets?assetId=VOTE&pagination.first=1&pagination.after=a&pagination.last=2&pagination.before=b&pagination.newestFirst=true",
        "/api/v2/assets",
        `/api/v2/accounts?filter.assetId=${usdt}&filter.partyIds=${party}&pagination.first=5000`,
        "/api/v2/accounts",
      ],
    )
  })

  it.effect("asks for uncompressed JSON with the configured headers and base path", function* () {
    const server = yield* startGateway(json(noAssets))
    const headers = { authorization: Redacted.make("Bearer s3cret"), "X-Api-Key": Redacted.make("k") }
    for (const suffix of ["/base/v1", "/base/v1/", "/base/v1//"]) {
      const reader = GatewayReader.make(yield* openTransport(server.url + suffix, { headers }))
      yield* reader.assets({})
    }
    for (const arrived of server.arrived) {
      assert.strictEqual(arrived.url.pathname, "/base/v1/api/v2/assets")
      assert.strictEqual(arrived.headers.accept, "application/json")
      assert.strictEqual(arrived.headers.authorization, "Bearer s3cret")
      assert.strictEqual(arrived.headers["x-api-key"], "k")
      for (const name of ["accept-encoding", "content-type", "traceparent", "b3", "cookie"]) {
        assert.notProperty(arrived.headers, name)
      }
    }
    // The next request can come before the client has put its connection back, so there may be two.
    assert.isAtMost(server.sockets.size, 2, "connections are kept alive")
  })

  it.effect("reads rows that hold only what the specification demands", function* () {
    const server = yield* startGateway(
      json(
        balancesOf(
          { timestamp: "1", balance: "0" },
          { timestamp: 9007199254740991, balance: "7", marketId: null, accountType: null, partyId: null },
          { ...row, marketId: "", accountType: "ACCOUNT_TYPE_GENERAL", unknown: { extra: [1] } },
          { ...row, marketId: market, accountType: 4, balance: (2n ** 256n - 1n).toString() },
          { ...row, accountType: "ACCOUNT_TYPE_OF_TOMORROW" },
          { ...row, accountType: 99 },
        ),
      ),
    )
    const reader = GatewayReader.make(yield* openTransport(server.url))
    const page = yield* reader.balanceChanges({})
    const base = { timestamp: 1674004071229537000n, balance: 5n, party, asset: usdt, market: "" }
    const nobody = { party: "", asset: "", market: "", type: "ACCOUNT_TYPE_UNSPECIFIED" }
    assert.deepEqual(
      page.rows.map(({ node }) => node),
      [
        { timestamp: 1n, balance: 0n, ...nobody },
        { timestamp: 9007199254740991n, balance: 7n, ...nobody },
        { ...base, type: "ACCOUNT_TYPE_GENERAL" },
        { ...base, market, type: "ACCOUNT_TYPE_GENERAL", balance: 2n ** 256n - 1n },
        { ...base, type: "ACCOUNT_TYPE_OF_TOMORROW" },
        { ...base, type: "99" },
      ],
    )
    assert.deepStrictEqual(page.rows[5]!.cursor, "c5")
    assert.deepStrictEqual(page.mark, mark)
  })

  it.effect("reads both shapes of an asset to the same value", function* () {
    const words = { name: "Vega", symbol: "VEGA", decimals: "18", quantum: "1" }
    const erc20 = { contractAddress: "0x67", lifetimeLimit: "0", withdrawThreshold: "9" }
    const builtinAsset = { maxFaucetAmountMint: "10" }
    const server = yield* startGateway(
      json(
        assetsOf(
          { id: "a", details: { ...words, erc20 }, status: "STATUS_ENABLED" },
          { id: "a", ...words, decimals: 18, details: { erc20 }, status: 4 },
          { id: "a", ...words, details: { ...words, erc20, builtinAsset: null }, status: "STATUS_ENABLED" },
          { id: "b", details: { ...words, builtinAsset }, status: "STATUS_NEW" },
          { id: "b", ...words, details: { builtinAsset }, status: 7 },
          { id: "VOTE", details: null },
          { id: "c", details: { ...words, erc20: { ...erc20, chainId: "1" } }, status: "STATUS_PROPOSED" },
        ),
      ),
    )
    const { rows } = yield* GatewayReader.make(yield* openTransport(server.url)).assets({})
    const common = { name: "Vega", symbol: "VEGA", decimals: 18, quantum: 1n }
    const vega = { id: "a", ...common, status: "STATUS_ENABLED", source: { kind: "erc20" as const, ...erc20 } }
    const built = { id: "b", ...common, source: { kind: "builtin" as const, ...builtinAsset } }
    assert.deepEqual(
      rows.map(({ node }) => node),
      [
        vega,
        vega,
        vega,
        { ...built, status: "STATUS_NEW" },
        { ...built, status: "7" },
        {
          id: "VOTE",
          name: "",
          symbol: "",
          decimals: 0,
          quantum: 0n,
          status: "STATUS_UNSPECIFIED",
          source: { kind: "unknown" },
        },
        { id: "c", ...common, status: "STATUS_PROPOSED", source: { kind: "erc20", ...erc20, chainId: "1" } },
      ],
    )
  })

  it.effect.each([
    ["a balance with zeros in front", balancesOf({ ...row, balance: "007" })],
    ["a negative balance", balancesOf({ ...row, balance: "-1" })],
    ["a negative zero", balancesOf({ ...row, balance: "-0" })],
    ["a balance in hexadecimal", balancesOf({ ...row, balance: "0x10" })],
    ["an empty balance", balancesOf({ ...row, balance: "" })],
    ["no balance", balancesOf({ ...row, balance: undefined })],
    ["a balance that is null", balancesOf({ ...row, balance: null })],
    ["a balance as a number", balancesOf({ ...row, balance: 5 })],
    ["a balance above 2^256-1", balancesOf({ ...row, balance: (2n ** 256n).toString() })],
    ["a balance of two million digits", balancesOf({ ...row, balance: "9".repeat(2_000_000) })],
    ["no time", balancesOf({ balance: "5" })],
    ["a time above int64", balancesOf({ ...row, timestamp: "9223372036854775808" })],
    [
      "a time that a double does not hold",
      JSON.stringify(balancesOf(row)).replace('"1674004071229537000"', "1674004071229537000"),
    ],
    ["a time with a fraction", balancesOf({ ...row, timestamp: 1.5 })],
    ["a time with an exponent", balancesOf({ ...row, timestamp: "1e3" })],
    ["a party that is not a text", balancesOf({ ...row, partyId: 5 })],
    ["a type that is not a text", balancesOf({ ...row, accountType: true })],
    ["a type with a fraction", balancesOf({ ...row, accountType: 4.5 })],
    ["a row that is null", { balances: { edges: [null], pageInfo } }],
    ["rows that are no list", { balances: { edges: {}, pageInfo } }],
    ["no page info", { balances: { edges: [] } }],
    ["page info that is null", { balances: { edges: [], pageInfo: null } }],
    ["a next page that is text", { balances: { edges: [], pageInfo: { ...pageInfo, hasNextPage: "false" } } }],
    ["a cursor that is a number", { balances: { edges: [{ cursor: 1, node: row }], pageInfo } }],
    ["another listing", noAssets],
    ["an empty object", {}],
    ["null", null],
    ["a list", []],
    ["a number", 5],
  ])("calls an answer with %s unreadable", function* ([_name, body]) {
    const server = yield* startGateway(json(body))
    const reader = GatewayReader.make(yield* openTransport(server.url))
    const before = threadCpuMicros()
    const { reason } = yield* Effect.flip(reader.balanceChanges({}))
    assert.strictEqual(reason._tag, "Unreadable")
    assert.isAtMost("detail" in reason ? reason.detail.length : 0, 256)
    assert.isBelow(threadCpuMicros() - before, 1_000_000)
  })

  it.effect.each([
    ["negative decimals", { id: "a", details: { decimals: "-1" } }],
    ["decimals above what a double holds", { id: "a", details: { decimals: "18446744073709551615" } }],
    ["a quantum with a fraction", { id: "a", details: { quantum: "0.5" } }],
    ["a quantum as a number", { id: "a", details: { quantum: 1 } }],
    ["no id", { details: {} }],
    ["an empty id", { id: "", details: {} }],
    ["a source that is text", { id: "a", details: { erc20: "0x67" } }],
  ])("calls an asset with %s unreadable", function* ([_name, node]) {
    const server = yield* startGateway(json(assetsOf(node)))
    const error = yield* Effect.flip(GatewayReader.make(yield* openTransport(server.url)).assets({}))
    assert.strictEqual(error.reason._tag, "Unreadable")
    assert.isTrue(error.isRetryable)
  })

  it.effect("takes an empty page of a gateway that leaves defaults out", function* () {
    const server = yield* startGateway(json({ balances: { pageInfo: {} } }))
    const page = yield* GatewayReader.make(yield* openTransport(server.url)).balanceChanges({})
    assert.deepEqual(withoutDate(page), { rows: [], pageInfo, mark })
  })

  it.effect("does not let a gateway touch the prototype of anything", function* () {
    const node = `{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},${JSON.stringify(row).slice(1)}`
    const server = yield* startGateway(
      json(`{"balances":{"edges":[{"cursor":"c","node":${node}}],"pageInfo":{"hasNextPage":false}}}`),
    )
    const page = yield* GatewayReader.make(yield* openTransport(server.url)).balanceChanges({})
    assert.notProperty({}, "polluted")
    assert.hasAllKeys(page.rows[0]!.node, ["timestamp", "balance", "party", "asset", "market", "type"])
  })

  it.effect.each([
    ["absent", {}, undefined],
    ["zero, so not known", { "x-block-height": "0", "x-block-timestamp": "0" }, undefined],
    ["given", { "x-block-height": "7", "x-block-timestamp": "8" }, { height: 7n, timestamp: 8n }],
    ["half given", { "x-block-height": "7" }, undefined],
  ] as const)("reads block headers that are %s", function* ([_name, headers, expected]) {
    const server = yield* startGateway((response) => {
      response.writeHead(200, { "content-type": "application/json", ...headers })
      response.end(JSON.stringify(noBalances))
    })
    const page = yield* GatewayReader.make(yield* openTransport(server.url)).balanceChanges({})
    assert.deepStrictEqual(page.mark, expected)
  })

  it.effect("does not pass over block headers that are no numbers", function* () {
    const server = yield* startGateway(json(noBalances, 200, { "x-block-height": "-1" }))
    const reader = GatewayReader.make(yield* openTransport(server.url))
    assert.strictEqual((yield* Effect.flip(reader.balanceChanges({}))).reason._tag, "Unreadable")
    server.handler = json(noBalances, 200, { "x-block-timestamp": "18446744073709551616" })
    assert.strictEqual((yield* Effect.flip(reader.balanceChanges({}))).reason._tag, "Unreadable")
  })
})
