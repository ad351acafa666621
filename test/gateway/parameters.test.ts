import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { GatewayReader } from "../../src/gateway/GatewayReader.ts"
import { layer } from "../support/it.ts"
import { json, live, openTransport, startGateway } from "./GatewayServer.ts"

const page = (keys: ReadonlyArray<string>, endCursor: string, hasNextPage: boolean) => ({
  networkParameters: {
    edges: keys.map((key) => ({ cursor: key, node: { key, value: `value of ${key}` } })),
    pageInfo: { hasNextPage, endCursor },
  },
})

layer(live, { excludeTestServices: true })("network parameters of a gateway", (it) => {
  it.effect("collects the parameters of all pages", function* () {
    const server = yield* startGateway((response, arrived, socket) => {
      const after = arrived.url.searchParams.get("pagination.after")
      json(after === null ? page(["a", "__proto__"], "p", true) : page(["b"], "q", false))(response, arrived, socket)
    })
    const parameters = yield* GatewayReader.make(yield* openTransport(server.url)).parameters
    assert.deepStrictEqual(
      [...parameters],
      [
        ["a", "value of a"],
        ["__proto__", "value of __proto__"],
        ["b", "value of b"],
      ],
    )
    assert.strictEqual(server.arrived[1]?.url.pathname, "/api/v2/network/parameters")
  })

  it.effect("never gives half a list", function* () {
    const server = yield* startGateway(json(page(["a"], "p", true)))
    const error = yield* Effect.flip(GatewayReader.make(yield* openTransport(server.url)).parameters)
    assert.strictEqual(error.reason._tag, "Unreadable")
    assert.strictEqual(error.operation, "parameters")
  })

  it.effect("is unsupported where the gateway has the three operations only", function* () {
    const server = yield* startGateway(json({ code: 5, message: "Not Found", details: [] }, 404))
    const error = yield* Effect.flip(GatewayReader.make(yield* openTransport(server.url)).parameters)
    assert.strictEqual(error.reason._tag, "Unsupported")
    assert.isFalse(error.isRetryable)
  })
})
