import { assert } from "@effect/vitest"
import { GatewayReader } from "../../src/gateway/GatewayReader.ts"
import { layer } from "../support/it.ts"
import { json, live, mark, openTransport, startGateway } from "./GatewayServer.ts"

const key = "b5fd9d3c4ad553cb3196303b6e6df7f484cf7f5331a572a45031239fd71ad8a0"
const second = 1_000_000_000n
const start = 1_795_221_046n * second
const send = { transferType: "TRANSFER_TYPE_TRANSFER_FUNDS_SEND", fromAccountPartyId: key, quantity: "5" }

const pageOf = (nodes: ReadonlyArray<object>, hasNextPage: boolean) => ({
  ledgerEntries: {
    edges: nodes.map((node, i) => ({
      cursor: "c",
      node: { timestamp: String(start + BigInt(i) * 1_000n), ...send, ...node },
    })),
    pageInfo: { hasNextPage, hasPreviousPage: false, startCursor: "", endCursor: "c" },
  },
})

const rangeOf = (url: URL) => {
  const time = (end: string) => BigInt(url.searchParams.get(`dateRange.${end}Timestamp`) ?? 0)
  return [time("start"), time("end")] as const
}

layer(live, { excludeTestServices: true })("ledger entries of a gateway", (it) => {
  it.effect("counts how often each transfer left the key's account, and nothing else that moved", function* () {
    const others = [{ transferType: 23 }, { transferType: "TRANSFER_TYPE_DEPOSIT" }, { fromAccountPartyId: "other" }]
    const nodes = [{ transferId: "a" }, { transferId: "b" }, { transferId: "a", transferType: 22 }]
    const all = [...nodes, ...others.map((more) => ({ transferId: "a", ...more }))]
    const server = yield* startGateway(json(pageOf(all, false)))
    const history = GatewayReader.make(yield* openTransport(server.url))
    const sends = yield* history.sends(key, start, start + 10n * second)
    assert.deepStrictEqual(
      [...sends.counts],
      [
        ["a", 2],
        ["b", 1],
      ],
    )
    assert.deepStrictEqual([sends.complete, sends.mark], [true, mark])
    const query = server.arrived[0]!.url.searchParams
    assert.strictEqual(query.get("filter.fromAccountFilter.partyIds"), key)
    assert.strictEqual(query.get("dateRange.startTimestamp"), String(start))
    assert.isNull(query.get("pagination.after"))
  })

  it.effect("counts a repeated entry once and reports the answer as incomplete", function* () {
    const twice = { transferId: "a", timestamp: String(start) }
    const server = yield* startGateway(json(pageOf([twice, { transferId: "b" }, twice], false)))
    const sends = yield* GatewayReader.make(yield* openTransport(server.url)).sends(key, start, start + second)
    assert.deepStrictEqual(
      [...sends.counts],
      [
        ["a", 1],
        ["b", 1],
      ],
    )
    assert.isFalse(sends.complete)
  })

  it.effect("counts an entry between two ranges once, also where a gateway lists it in both", function* () {
    const between = start + 5n * 86_400n * second
    const entry = { transferId: "a", timestamp: String(between) }
    const server = yield* startGateway((response, arrived, socket) => {
      const [from, to] = rangeOf(arrived.url)
      json(pageOf(from <= between && between <= to ? [entry] : [], false))(response, arrived, socket)
    })
    const sends = yield* GatewayReader.make(yield* openTransport(server.url)).sends(key, start, between + second)
    assert.deepStrictEqual([[...sends.counts], sends.complete], [[["a", 1]], true])
  })

  it.effect("halves a range that overflows and says where it gave up", function* () {
    const server = yield* startGateway((response, arrived, socket) => {
      const [from, to] = rangeOf(arrived.url)
      const entry = { transferId: "a", timestamp: String(from + 1n) }
      json(pageOf([entry], to - from > 86_400n * second))(response, arrived, socket)
    })
    const history = GatewayReader.make(yield* openTransport(server.url))
    const sends = yield* history.sends(key, start, start + 3n * 86_400n * second)
    assert.isTrue(sends.complete)
    assert.isAbove(sends.counts.get("a") ?? 0, 3)
    const full = yield* startGateway(json(pageOf([], true)))
    const never = GatewayReader.make(yield* openTransport(full.url))
    assert.isFalse((yield* never.sends(key, start, start + second)).complete)
  })
})
