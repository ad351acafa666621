import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { HttpClient, HttpClientError, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import type { GatewayError } from "../../src/gateway/GatewayError.ts"
import { GatewayReader } from "../../src/gateway/GatewayReader.ts"
import { GatewayWriter } from "../../src/gateway/GatewayWriter.ts"
import { layerGateways } from "../../src/gateway/quorumGateway.ts"
import { gatewayOptions } from "../../src/gateway/Transport.ts"
import { metricsLayer } from "../recordings/replay.ts"

const options = gatewayOptions({ name: "recorded", url: "http://gateway" })

/** The services of a network with one gateway over an HTTP client that lives in this process. */
const services = (http: HttpClient.HttpClient) =>
  layerGateways({ chainId: "chain", gateways: [options], quorum: 1 }).pipe(
    Layer.provide([Layer.succeed(HttpClient.HttpClient, http), metricsLayer]),
  )

const tx = { inputData: Uint8Array.of(1), signature: "", pubKey: "", version: 3, pow: { tid: "", nonce: 1n } }

/** One call of each service. */
const calls = Effect.gen(function* () {
  const reader = yield* GatewayReader
  const writer = yield* GatewayWriter
  const all: ReadonlyArray<Effect.Effect<unknown, GatewayError>> = [
    reader.balanceChanges({}),
    reader.assets({}),
    reader.accounts({}),
    writer.submit(tx),
    reader.head,
    reader.transfer("a"),
    reader.transfersFrom("a"),
    reader.parameters,
  ]
  return all
})
/** What fails first: rows are asked for once the gateway's chain is known, payments by their ids all the same. */
const operations = ["height", "height", "height", "submit", "height", "transfer", "height", "height"]
/** The look for one payment asks for the chain as well. */
const requestsOf = (operation: string | undefined) => (operation === "transfer" ? 2 : 1)

const failing = (cause: unknown) =>
  HttpClient.make((request) =>
    Effect.fail(
      new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request, cause }) }),
    ),
  )

describe("layers of one gateway", () => {
  it.effect("give every service over a client without sockets", () =>
    Effect.gen(function* () {
      for (const [i, call] of (yield* calls).entries()) {
        const fiber = yield* Effect.forkChild(Effect.flip(call), { startImmediately: true })
        yield* TestClock.adjust(10_000 * requestsOf(operations[i]) - 1)
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust(1)
        const error = yield* Fiber.join(fiber)
        assert.deepStrictEqual(error.reason, { _tag: "Timeout", afterMillis: 10_000 })
        assert.strictEqual(error.operation, operations[i])
        assert.strictEqual(error.gateway, "recorded")
      }
    }).pipe(Effect.provide(services(HttpClient.make(() => Effect.never)))),
  )

  it.effect("tell a client that sent nothing from one that lost its answer", () =>
    Effect.gen(function* () {
      for (const call of yield* calls) assert.strictEqual((yield* Effect.flip(call)).reason._tag, "Unreachable")
    }).pipe(Effect.provide(services(failing(Object.assign(new Error("refused"), { notConnected: true }))))),
  )

  it.effect("do not know what became of a request that a client lost", () =>
    Effect.gen(function* () {
      for (const call of yield* calls) assert.strictEqual((yield* Effect.flip(call)).reason._tag, "Ambiguous")
    }).pipe(Effect.provide(services(failing(Object.assign(new Error("reset"), { code: "ECONNRESET" }))))),
  )

  it.effect("never ask twice", () => {
    let requests = 0
    const http = HttpClient.make((request) => {
      requests++
      return Effect.succeed(HttpClientResponse.fromWeb(request, new Response("", { status: 503 })))
    })
    return Effect.gen(function* () {
      for (const call of yield* calls) assert.strictEqual((yield* Effect.flip(call)).reason._tag, "Ambiguous")
      assert.strictEqual(requests, operations.length + 1)
    }).pipe(Effect.provide(services(http)))
  })
})
