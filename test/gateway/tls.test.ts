import { createServer } from "node:https"
import type { AddressInfo } from "node:net"
import { createServer as createTlsServer } from "node:tls"
import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { layer } from "../support/it.ts"
import { json, live, openTransport, startGateway } from "./GatewayServer.ts"

/** Signed by itself for localhost and 127.0.0.1, made with openssl for this test; nothing trusts it. */
const cert = `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUZEbYwGhFwgC6m5W19104JzZWhuIwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTAyMDE1MloYDzIxMjYxMDI4
MDIwMTUyWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAR1PpLEouxuul5Ofb3k1fb1QJyP6eVOyf5qtCoseR83oMEf8TRWqH1p
TL6p4oXs8GhzFTs/N12YwuwEOgKqz8HWo28wbTAdBgNVHQ4EFgQUEcucvB4yrSDa
pdOtQEvccbfl/xMwHwYDVR0jBBgwFoAUEcucvB4yrSDapdOtQEvccbfl/xMwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIhALKWmAaWKNHlHfb6e5eeJ+Y0ok7nmMZKdS8h/NsLmsaRAiAJ
2oH8JawnGj8Tuu63dwFdeu7cBlvfql2mdUdbsmE3/w==
-----END CERTIFICATE-----`
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgyT/IhclbJmiiMRvE
9mrNSe0jzdFkIlUcyRJGltMoAc2hRANCAAR1PpLEouxuul5Ofb3k1fb1QJyP6eVO
yf5qtCoseR83oMEf8TRWqH1pTL6p4oXs8GhzFTs/N12YwuwEOgKqz8HW
-----END PRIVATE KEY-----`

const write = { operation: "submit", path: "/transaction", body: {}, schema: Schema.Unknown } as const

layer(live, { excludeTestServices: true })("TLS", (it) => {
  it.effect("sends nothing to a gateway whose certificate nobody vouches for", function* () {
    let requests = 0
    const server = createServer({ cert, key }, (_request, response) => {
      requests++
      response.end("{}")
    })
    yield* Effect.acquireRelease(
      Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))),
      () => Effect.promise(() => new Promise<void>((resolve) => server.close(() => resolve()))),
    )
    const { port } = server.address() as AddressInfo
    for (const host of ["localhost", "127.0.0.1"]) {
      const transport = yield* openTransport(`https://${host}:${port}`)
      const error = yield* Effect.flip(transport.request(write))
      assert.strictEqual(error.reason._tag, "Unreachable", error.message)
      assert.include(error.message, "SELF_SIGNED")
      assert.isFalse(error.mayHaveArrived)
    }
    assert.strictEqual(requests, 0)
  })

  it.effect.each(["TLSv1.2", "TLSv1.3"] as const)("sends no byte over %s that is not verified", function* (version) {
    let bytes = 0
    const server = createTlsServer({ cert, key, minVersion: version, maxVersion: version }, (socket) => {
      socket.on("data", (data) => {
        bytes += data.length
      })
      socket.on("error", () => {})
    })
    yield* Effect.acquireRelease(
      Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))),
      () => Effect.promise(() => new Promise<void>((resolve) => server.close(() => resolve()))),
    )
    const transport = yield* openTransport(`https://127.0.0.1:${(server.address() as AddressInfo).port}`)
    for (let n = 0; n < 100; n++) {
      const error = yield* Effect.flip(transport.request(write))
      assert.strictEqual(error.reason._tag, "Unreachable", error.message)
    }
    assert.strictEqual(bytes, 0)
  })

  it.effect("sends nothing to a gateway that speaks no TLS where https was asked for", function* () {
    const server = yield* startGateway(json({}))
    const transport = yield* openTransport(server.url.replace("http:", "https:"))
    const error = yield* Effect.flip(transport.request(write))
    assert.strictEqual(error.reason._tag, "Unreachable", error.message)
    assert.strictEqual(server.arrived.length, 0)
  })
})
