import { createServer, type Server } from "node:http"
import { type AddressInfo, createServer as createPlain, type Server as PlainServer, type Socket } from "node:net"
import { Effect } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { assert, describe } from "vitest"
import { layerHttp, layerHttpOptions, type NotConnected } from "../../src/sockets/client.ts"
import { it } from "../support/it.ts"

const listening = <S extends Server | PlainServer>(server: S, sockets = new Set<Socket>()) =>
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<string>((resolve) =>
          server
            .on("connection", (socket: Socket) => sockets.add(socket))
            .listen(0, "127.0.0.1", () => resolve(`127.0.0.1:${(server.address() as AddressInfo).port}`)),
        ),
    ),
    () =>
      Effect.promise(() => {
        for (const socket of sockets) socket.destroy()
        return new Promise<void>((resolve) => server.close(() => resolve()))
      }),
  )

const causeOf = (url: string) =>
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const { reason } = yield* Effect.flip(
      client.execute(HttpClientRequest.bodyText(HttpClientRequest.post(url), "money")),
    )
    return ("cause" in reason ? reason.cause : undefined) as NotConnected
  })

describe("a request", () => {
  it.live("has sent nothing while the handshake is not answered", function* () {
    const bytes: Array<Buffer> = []
    const address = yield* listening(createPlain((socket) => socket.on("data", (data) => bytes.push(data))))
    const cause = yield* Effect.provide(causeOf(`https://${address}`), layerHttpOptions({ timeout: 50 }))
    assert.deepInclude(cause, { code: "ETIMEDOUT", notConnected: true })
    assert.notInclude(Buffer.concat(bytes).toString("latin1"), "money")
  })

  it.live("may have arrived once its connection was made", function* () {
    const address = yield* listening(createPlain((socket) => socket.once("data", () => socket.resetAndDestroy())))
    const cause = yield* Effect.provide(causeOf(`http://${address}`), layerHttpOptions())
    assert.isUndefined(cause.notConnected)
    assert.strictEqual(cause.code, "ECONNRESET")
  })

  it.live("carries no header of tracing, which strict proxies refuse where nothing is traced", function* () {
    const names: Array<string> = []
    const server = createServer((request, response) => {
      names.push(...Object.keys(request.headers))
      response.end("{}")
    })
    const ask = HttpClient.get(`http://${yield* listening(server)}`)
    yield* Effect.provide(ask, layerHttp)
    assert.include(names, "host")
    for (const name of ["traceparent", "b3"]) assert.notInclude(names, name)
  })

  it.live("shares eight connections with all others to its host", function* () {
    const sockets = new Set<Socket>()
    const address = yield* listening(
      createServer((_request, response) => response.end("{}")),
      sockets,
    )
    const ask = Effect.flatMap(HttpClient.get(`http://${address}`), (response) => response.text)
    const answers = yield* Effect.provide(
      Effect.all(
        Array.from({ length: 40 }, () => ask),
        { concurrency: "unbounded" },
      ),
      layerHttp,
    )
    assert.lengthOf(answers, 40)
    assert.isAtMost(sockets.size, 8)
  })
})
