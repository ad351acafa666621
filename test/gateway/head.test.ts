import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { GatewayReader } from "../../src/gateway/GatewayReader.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { layer } from "../support/it.ts"
import { json, live, openTransport, startGateway } from "./GatewayServer.ts"

const hash = "a929b4b527626ba94cdadb66dbee9ef94db81bd3647636ab781411c274083199"
const answer = {
  height: "1662",
  hash,
  spamPowHashFunction: "sha3_24_rounds",
  spamPowDifficulty: 15,
  spamPowNumberOfPastBlocks: 100,
  spamPowNumberOfTxPerBlock: 2,
  spamPowIncreasingDifficulty: true,
  chainId: "harbor-1",
}
const head = {
  chainId: "harbor-1",
  height: 1662n,
  hash,
  pow: { hashFunction: "sha3_24_rounds", difficulty: 15, pastBlocks: 100, txPerBlock: 2, increasing: true },
}

layer(live, { excludeTestServices: true })("the head of a gateway", (it) => {
  it.effect("reads the head, and reports its height even without block headers", function* () {
    const server = yield* startGateway((r) => r.writeHead(200).end(JSON.stringify(answer)))
    assert.deepEqual(yield* GatewayReader.make(yield* openTransport(server.url)).head, head)
    assert.strictEqual(server.arrived[0]?.url.pathname, "/blockchain/height")
    const metrics = yield* Metrics
    const { values } = yield* Effect.promise(() => metrics.gatewayHeight.get())
    assert.deepStrictEqual(values, [{ value: 1662, labels: { gateway: "g" } }])
  })

  it.effect("takes numbers as text, and what is left out as zero", function* () {
    const server = yield* startGateway(
      json({ ...answer, height: 1662, spamPowDifficulty: "15", spamPowNumberOfTxPerBlock: "2" }),
    )
    const context = GatewayReader.make(yield* openTransport(server.url))
    assert.deepEqual(yield* context.head, head)
    server.handler = json({ height: "1", hash, chainId: "x" })
    const pow = { hashFunction: "", difficulty: 0, pastBlocks: 0, txPerBlock: 0, increasing: false }
    assert.deepEqual(yield* context.head, { chainId: "x", height: 1n, hash, pow })
  })

  it.effect.each([
    ["no height", { ...answer, height: undefined }],
    ["a negative height", { ...answer, height: "-1" }],
    ["a height above uint64", { ...answer, height: "18446744073709551616" }],
    ["no hash", { ...answer, hash: "" }],
    ["a hash that is too short", { ...answer, hash: hash.slice(1) }],
    ["no chain id", { ...answer, chainId: "" }],
    ["a difficulty above uint32", { ...answer, spamPowDifficulty: 2 ** 32 }],
    ["a difficulty with a fraction", { ...answer, spamPowDifficulty: 15.5 }],
    ["an increase that is text", { ...answer, spamPowIncreasingDifficulty: "true" }],
  ])("calls a head with %s unreadable", function* ([_name, body]) {
    const server = yield* startGateway(json(body))
    const error = yield* Effect.flip(GatewayReader.make(yield* openTransport(server.url)).head)
    assert.strictEqual(error.reason._tag, "Unreadable")
  })
})
