import { createServer, type ServerResponse } from "node:http"
import { type AddressInfo, createServer as createTcpServer } from "node:net"
import { assert, describe } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import type { ReceiverOptions } from "../../src/notify/Channel.ts"
import { reachReceiver } from "../../src/notify/Notifier.ts"
import type { Resolver } from "../../src/notify/publicOnly.ts"
import { it } from "../support/it.ts"
import { soon, waitUntil } from "../support/until.ts"
import { page, sendTo, serviceServer } from "./Services.ts"

const failureOf = (...args: Parameters<typeof sendTo>) =>
  Effect.map(Effect.flip(sendTo(...args)), (error) => error.message)

/** A name server that gives these addresses for every name. */
const resolving =
  (...addresses: ReadonlyArray<string>): Resolver =>
  (_, __, callback) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    )

const refusal = "desk: its name has a private address, which allowPrivate: true permits"

/** Addresses that a public name must not lead to. */
const privateAddresses = [
  ...["127.0.0.1", "127.9.9.9", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"],
  ...["100.64.0.1", "100.127.255.255", "169.254.169.254", "192.0.0.8", "198.18.0.1", "224.0.0.1", "255.255.255.255"],
  ...["::", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1"],
  ...["2002:7f00:1::", "fc00::1", "fd12:3456::1", "fe80::1", "fec0::1", "ff02::1"],
]

describe("an outbound request", () => {
  it.live("follows no redirect", function* () {
    const [service, other] = [yield* serviceServer, yield* serviceServer]
    service.answer.headers = { location: `${other.url}/stolen` }
    for (const status of [301, 302, 303, 307, 308]) {
      service.answer.status = status
      const failure = yield* failureOf({ name: "desk", slack: { url: service.url } }, page)
      assert.strictEqual(failure, `desk: answered with status ${status}`)
    }
    assert.deepStrictEqual([service.calls.length, other.calls.length], [5, 0])
  })

  it.live("goes to no private address by a public name, unless the receiver permits it", function* () {
    const service = yield* serviceServer
    const webhook = { url: `http://desk.example:${service.port}/` }
    for (const address of privateAddresses) {
      assert.strictEqual(yield* failureOf({ name: "desk", webhook }, page, resolving(address)), refusal, address)
    }
    const both = resolving("203.0.113.7", "127.0.0.1")
    assert.strictEqual(yield* failureOf({ name: "desk", webhook }, page, both), refusal, "one of two is enough")
    const email = {
      host: "mail.example",
      port: String(service.port),
      from: "a@harbor.example",
      to: ["b@harbor.example"],
    }
    assert.strictEqual(yield* failureOf({ name: "desk", email }, page, resolving("127.0.0.1")), refusal)
    assert.strictEqual(service.calls.length, 0)
    const permitted = { name: "desk", webhook: { ...webhook, allowPrivate: "true" } } as const
    yield* sendTo(permitted, page, resolving("127.0.0.1"))
    yield* sendTo({ name: "desk", webhook: { url: `http://localhost:${service.port}/` } }, page, resolving("127.0.0.1"))
    assert.strictEqual(service.calls.length, 2)
  })

  it.live("ends once the head of the answer is there, and keeps no connection", function* () {
    const open = new Set<ServerResponse>()
    let closed = 0
    const server = createServer((request, response) => {
      request.resume()
      open.add(response)
      response.on("close", () => {
        closed++
        open.delete(response)
      })
      response.writeHead(200)
      response.write("it goes on")
    })
    yield* listening(server)
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    for (let n = 0; n < 5; n++) yield* sendTo({ name: "desk", webhook: { url } }, page)
    yield* waitUntil("five closed connections", () => closed >= 5)
    assert.strictEqual(open.size, 0)
  })

  it.live("reads no endless head", function* () {
    const server = createTcpServer((socket) => {
      socket.on("error", () => {})
      const more = () => {
        while (!socket.destroyed && socket.write(`x-more: ${"x".repeat(1_000)}\r\n`));
      }
      socket.write("HTTP/1.1 200 OK\r\n")
      socket.on("drain", more)
      more()
    })
    yield* listening(server)
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const failure = yield* soon("its end", failureOf({ name: "desk", webhook: { url } }, page))
    assert.strictEqual(failure, "desk: not reached (HPE_HEADER_OVERFLOW)")
  })

  it.live("that only probes a receiver closes its connection", function* () {
    let ended = 0
    const server = createTcpServer({ allowHalfOpen: true }, (socket) => {
      socket.on("end", () => ended++)
      socket.on("error", () => ended++)
      socket.resume()
    })
    yield* listening(server)
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    yield* reachReceiver({ name: "desk", webhook: { url } })
    yield* waitUntil("the end of the connection", () => ended === 1)
  })

  it.live("tells no secret in its errors", function* () {
    const secret = Redacted.make("S3CRET")
    const service = yield* serviceServer
    service.answer.status = 403
    const receivers = (url: string): ReadonlyArray<Omit<ReceiverOptions, "name">> => [
      { webhook: { url: Redacted.make(`${url}/S3CRET`), secret, headers: { authorization: secret } } },
      { slack: { url: Redacted.make(`${url}/S3CRET`) } },
      { discord: { url: Redacted.make(`${url}/S3CRET`) } },
      { alertmanager: { url: Redacted.make(`${url}/S3CRET`), headers: { authorization: secret } } },
      { pagerduty: { key: secret, url } },
      { telegram: { token: secret, chat: "1", url } },
    ]
    const nobody = "http://127.0.0.1:1"
    const mangled = { webhook: { url: Redacted.make("S3CRET"), headers: { "x-y": Redacted.make("S3CRET\r\nx: y") } } }
    const split = { webhook: { url: service.url, headers: { "x-y": Redacted.make("S3CRET\r\nx: y") } } }
    for (const options of [...receivers(service.url), ...receivers(nobody), mangled, split]) {
      const error = yield* Effect.flip(sendTo({ name: "desk", ...options }, page))
      const words = `${error.message} ${JSON.stringify(error)} ${error.stack} ${String(error.cause)}`
      assert.notInclude(words, "S3CRET")
    }
    assert.strictEqual(service.calls.length, 6)
  })
})

const listening = (server: import("node:net").Server | import("node:http").Server) =>
  Effect.acquireRelease(
    Effect.callback<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    }),
    () =>
      Effect.sync(() => {
        if ("closeAllConnections" in server) server.closeAllConnections()
        server.close()
      }),
  )
