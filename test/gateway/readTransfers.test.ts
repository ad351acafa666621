import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { baseUnits } from "../../src/domain/Amount.ts"
import { GatewayReader } from "../../src/gateway/GatewayReader.ts"
import { layer } from "../support/it.ts"
import { type Handler, json, live, mark, openTransport, startGateway } from "./GatewayServer.ts"

const id = "da389cd5f175cd475edb5ae958268382d75b81367e2aa10720a20dfa0ae278af"
const from = "b5fd9d3c4ad553cb3196303b6e6df7f484cf7f5331a572a45031239fd71ad8a0"
const wire = {
  id,
  from,
  fromAccountType: "ACCOUNT_TYPE_GENERAL",
  to: "network",
  toAccountType: "ACCOUNT_TYPE_NETWORK_TREASURY",
  asset: "fc",
  amount: "5000000",
  reference: "golden",
  status: "STATUS_DONE",
  timestamp: "1795221046317079000",
  oneOff: { deliverOn: "0" },
}
const found = {
  id,
  from,
  fromAccountType: "ACCOUNT_TYPE_GENERAL",
  to: "network",
  toAccountType: "ACCOUNT_TYPE_NETWORK_TREASURY",
  asset: "fc",
  amount: baseUnits(5_000_000n),
  reference: "golden",
  status: "done",
  timestamp: 1795221046317079000n,
  fees: 0n,
}
const answer = (transfer: object, fees: unknown = []) => json({ transferNode: { transfer, fees } })
const absent = { code: 5, message: "NotFound error", details: [{ code: 10000, message: "no resource", inner: "" }] }

const pageOf = (ids: ReadonlyArray<string>, endCursor: string, hasNextPage: boolean, extra: object = {}) => ({
  transfers: {
    edges: ids.map((each) => ({ cursor: `c-${each}`, node: { transfer: { ...wire, id: each, ...extra }, fees: [] } })),
    pageInfo: { hasNextPage, hasPreviousPage: false, startCursor: "", endCursor },
  },
})
const atHeight = (height: number) => ({ "x-block-height": String(height) })

layer(live, { excludeTestServices: true })("transfers of a gateway", (it) => {
  it.effect.each([
    ["STATUS_DONE", "done"],
    ["STATUS_PENDING", "pending"],
    ["STATUS_REJECTED", "rejected"],
    ["STATUS_STOPPED", "stopped"],
    ["STATUS_CANCELLED", "cancelled"],
    ["STATUS_OF_TOMORROW", "STATUS_OF_TOMORROW"],
    [1, "pending"],
    [2, "done"],
    [3, "rejected"],
    [4, "stopped"],
    [5, "cancelled"],
    [6, "6"],
    [null, "STATUS_UNSPECIFIED"],
  ] as const)("reads the status %s as %s", function* ([status, word]) {
    const server = yield* startGateway(answer({ ...wire, status }))
    const sighting = yield* GatewayReader.make(yield* openTransport(server.url)).transfer(id)
    assert.deepEqual(sighting, { found: { ...found, status: word }, mark, gateway: "g", agreed: true })
    assert.strictEqual(server.arrived[0]?.url.pathname, `/api/v2/transfer/${id}`)
  })

  it.effect("adds up the fees, and gives the reason of a transfer that failed", function* () {
    const fees = [{ amount: "5000", epoch: "13" }, { amount: (2n ** 64n).toString() }]
    const server = yield* startGateway(answer({ ...wire, status: "STATUS_REJECTED", reason: "no funds" }, fees))
    const sighting = yield* GatewayReader.make(yield* openTransport(server.url)).transfer(id)
    assert.deepEqual(sighting.found, {
      ...found,
      status: "rejected",
      reason: "no funds",
      fees: 2n ** 64n + 5000n,
    })
  })

  it.effect("finds a transfer absent only where the gateway says so itself", function* () {
    const server = yield* startGateway(json(absent, 404))
    const confirmation = GatewayReader.make(yield* openTransport(server.url))
    assert.deepStrictEqual(yield* confirmation.transfer(id), { found: undefined, mark, gateway: "g", agreed: true })
    server.handler = (r) => r.writeHead(404).end(JSON.stringify(absent))
    assert.deepStrictEqual(yield* confirmation.transfer(id), {
      found: undefined,
      mark: undefined,
      gateway: "g",
      agreed: true,
    })
    const others: ReadonlyArray<readonly [handler: Handler, condition: string]> = [
      [json({ code: 5, message: "Not Found", details: [] }, 404), "Unsupported"],
      [json("<h1>404</h1>", 404), "Unsupported"],
      [json({}, 404), "Unsupported"],
      [json({ ...absent, code: 14 }, 404), "Unsupported"],
      [json({ code: 12, message: "Method Not Allowed", details: [] }, 501), "Unsupported"],
      [json(absent, 500), "Ambiguous"],
      [json({}), "Unreadable"],
      [json({ transferNode: null }), "Unreadable"],
    ]
    for (const [handler, condition] of others) {
      server.handler = handler
      assert.strictEqual((yield* Effect.flip(confirmation.transfer(id))).reason._tag, condition)
    }
  })

  it.effect("does not take another transfer for the one that was asked for", function* () {
    const server = yield* startGateway(answer({ ...wire, id: "ff".repeat(32) }))
    const error = yield* Effect.flip(GatewayReader.make(yield* openTransport(server.url)).transfer(id))
    assert.strictEqual(error.reason._tag, "Unreadable")
  })

  it.effect("asks for an id as one part of the path, whatever is in it", function* () {
    const server = yield* startGateway(json(absent, 404))
    yield* GatewayReader.make(yield* openTransport(server.url)).transfer("../a?b#c")
    assert.strictEqual(server.arrived[0]?.url.pathname, "/api/v2/transfer/..%2Fa%3Fb%23c")
  })

  it.effect("lists all transfers of a key from every page, oldest first", function* () {
    const pages = new Map<string | null, Handler>([
      [null, json(pageOf(["a", "b"], "p1", true), 200, atHeight(120))],
      ["p1", json(pageOf(["c"], "p2", true), 200, atHeight(119))],
      ["p2", json(pageOf(["a"], "p3", false, { status: "STATUS_CANCELLED" }), 200, atHeight(121))],
    ])
    const server = yield* startGateway((response, arrived, socket) =>
      pages.get(arrived.url.searchParams.get("pagination.after"))?.(response, arrived, socket),
    )
    const listing = yield* GatewayReader.make(yield* openTransport(server.url)).transfersFrom(from)
    assert.deepStrictEqual(
      listing.transfers.map((t) => [t.id, t.status]),
      [
        ["b", "done"],
        ["c", "done"],
        ["a", "cancelled"],
      ],
    )
    assert.isTrue(listing.complete)
    assert.deepStrictEqual(listing.mark, { ...mark, height: 119n })
    assert.deepStrictEqual(
      [...server.arrived[1]!.url.searchParams],
      [
        ["pubkey", from],
        ["direction", "TRANSFER_DIRECTION_TRANSFER_FROM"],
        ["pagination.first", "1000"],
        ["pagination.after", "p1"],
        ["pagination.newestFirst", "false"],
      ],
    )
  })

  it.effect("leaves out the transfers of others, which a gateway without the filter lists", function* () {
    const server = yield* startGateway(json(pageOf(["a"], "", false, { from: "network" })))
    const listing = yield* GatewayReader.make(yield* openTransport(server.url)).transfersFrom(from)
    assert.deepStrictEqual(listing, { transfers: [], complete: true, mark, cursor: undefined })
  })

  const endless: ReadonlyArray<readonly [string, (after: string | null, count: number) => object, number]> = [
    ["a cursor that leads to itself", () => pageOf(["a"], "same", true), 2],
    ["two cursors in a circle", (after) => pageOf(["a"], after === "x" ? "y" : "x", true), 3],
    ["an empty cursor", () => pageOf(["a"], "", true), 1],
    ["a cursor of two kibibytes", () => pageOf(["a"], "x".repeat(2048), true), 1],
    ["an empty page that promises more", (_after, count) => pageOf([], `c${count}`, true), 1],
    ["ever new cursors", (_after, count) => pageOf([`t${count}`], `c${count}`, true), 200],
  ]
  it.effect.each(endless)("ends a listing with %s as incomplete", function* ([_name, page, requests]) {
    let count = 0
    const server = yield* startGateway((response, arrived, socket) => {
      count++
      json(page(arrived.url.searchParams.get("pagination.after"), count))(response, arrived, socket)
    })
    const confirmation = GatewayReader.make(yield* openTransport(server.url, { requestsPerSecond: 10_000 }))
    const listing = yield* confirmation.transfersFrom(from)
    assert.isFalse(listing.complete)
    assert.strictEqual(count, requests)
  })

  it.effect("has no block to stand behind where one page names none", function* () {
    const server = yield* startGateway((response, arrived, socket) => {
      if (arrived.url.searchParams.has("pagination.after")) response.end(JSON.stringify(pageOf(["b"], "", false)))
      else json(pageOf(["a"], "p1", true))(response, arrived, socket)
    })
    const listing = yield* GatewayReader.make(yield* openTransport(server.url)).transfersFrom(from)
    assert.strictEqual(listing.transfers.length, 2)
    assert.isTrue(listing.complete)
    assert.isUndefined(listing.mark)
  })
})
