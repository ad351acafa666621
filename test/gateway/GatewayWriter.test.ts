import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { GatewayWriter } from "../../src/gateway/GatewayWriter.ts"
import { frame } from "../../src/tx/Transaction.ts"
import { layer } from "../support/it.ts"
import { json, live, openTransport, startGateway } from "./GatewayServer.ts"

const tx = {
  inputData: Uint8Array.of(8, 197, 255, 251, 240),
  signature: "ab".repeat(64),
  pubKey: "cd".repeat(32),
  version: 3,
  pow: { tid: "ef".repeat(32), nonce: 2n ** 64n - 1n },
}
const answer = { success: true, txHash: "AB".repeat(32), code: 0, data: "", log: "", height: "0" }
const body = (inputData: string, type: string) => ({
  tx: {
    inputData,
    signature: { value: tx.signature, algo: "vega/ed25519", version: 1 },
    pubKey: tx.pubKey,
    version: "TX_VERSION_V3",
    pow: { tid: tx.pow.tid, nonce: "18446744073709551615" },
  },
  type,
})

layer(live, { excludeTestServices: true })("GatewayWriter", (it) => {
  it.effect("posts the transaction as it was framed, never with an address", function* () {
    const server = yield* startGateway(json(answer))
    const writer = GatewayWriter.make(yield* openTransport(server.url))
    yield* writer.submit(tx)
    yield* writer.submit({ ...tx, inputData: frame("prefixed", "ab", tx.inputData) })
    assert.deepStrictEqual(
      server.arrived.map(({ method, url }) => [method, url.pathname + url.search]),
      [
        ["POST", "/transaction"],
        ["POST", "/transaction"],
      ],
    )
    assert.deepStrictEqual(JSON.parse(server.arrived[0]!.body), body("CMX/+/A=", "TYPE_SYNC"))
    assert.deepStrictEqual(JSON.parse(server.arrived[1]!.body), body("YWIACMX/+/A=", "TYPE_SYNC"))
  })

  it.effect("sends nothing that may not leave at the last moment", function* () {
    const server = yield* startGateway(json(answer))
    const writer = GatewayWriter.make(yield* openTransport(server.url))
    const { reason } = yield* Effect.flip(writer.submit(tx, { mayLeave: Effect.succeed(false) }))
    assert.strictEqual(reason._tag, "Unreachable")
    yield* writer.submit(tx, { mayLeave: Effect.succeed(true) })
    assert.strictEqual(server.arrived.length, 1)
  })

  it.effect.each([
    ["a success", answer, { ...answer, height: 0n }],
    ["an answer without defaults", {}, { success: false, txHash: "", code: 0, data: "", log: "", height: 0n }],
    ["nulls", { success: null, code: null, height: null }, { ...answer, success: false, txHash: "", height: 0n }],
    [
      "64-bit numbers as text and as numbers",
      { ...answer, success: false, code: "89", height: 12 },
      { ...answer, success: false, code: 89, height: 12n },
    ],
    [
      "a success with a code and another hash than ours",
      { ...answer, code: 60, txHash: "nonsense", data: "d", log: "l", extra: 1 },
      { ...answer, code: 60, txHash: "nonsense", data: "d", log: "l", height: 0n },
    ],
  ])("passes on %s as it came", function* ([_name, given, expected]) {
    const server = yield* startGateway(json(given))
    assert.deepEqual(yield* GatewayWriter.make(yield* openTransport(server.url)).submit(tx), expected)
  })

  it.effect.each([
    ["a success that is text", { ...answer, success: "true" }],
    ["a code that is not a number", { ...answer, code: "x" }],
    ["a code beyond what a double holds", { ...answer, code: "9223372036854775807" }],
    ["a code with a fraction", { ...answer, code: 1.5 }],
    ["a height above int64", { ...answer, height: "9223372036854775808" }],
    ["words that are a list", { ...answer, data: [] }],
  ])("calls %s unreadable, so that the transaction may have arrived", function* ([_name, given]) {
    const server = yield* startGateway(json(given))
    const error = yield* Effect.flip(GatewayWriter.make(yield* openTransport(server.url)).submit(tx))
    assert.strictEqual(error.reason._tag, "Unreadable")
    assert.isTrue(error.mayHaveArrived)
    assert.strictEqual(server.arrived.length, 1)
  })

  it.effect("knows bytes that the node has already, also behind a prefix", function* () {
    const server = yield* startGateway(json({}))
    const writer = GatewayWriter.make(yield* openTransport(server.url))
    for (const words of ["tx already exists in cache", "appConn mempool: tx pre check: tx already exists in cache"]) {
      for (const status of [{ details: [{ message: words }] }, { message: words }]) {
        server.handler = json({ code: 13, message: "Internal error", ...status }, 500)
        const error = yield* Effect.flip(writer.submit(tx))
        assert.strictEqual(error.reason._tag, "AlreadyKnown")
        assert.isTrue(error.mayHaveArrived)
        assert.isFalse(error.isRetryable)
      }
    }
  })
})
