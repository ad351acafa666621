import { once } from "node:events"
import { get, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { join } from "node:path"
import { Effect } from "effect"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { askDaemon } from "../../src/cli/common/client.ts"
import { socketFile } from "../../src/http/ControlServer.ts"
import { boundedServer } from "../../src/sockets/boundedServer.ts"
import { tempDir } from "../support/tempDir.ts"

const connectionsMax = 4

describe("a server of bounded connections", () => {
  let server: Server
  let port: number
  let sockets: Array<Socket>
  /** Answers of /slow that are due. */
  let due: Array<ServerResponse>

  beforeEach(async () => {
    sockets = []
    due = []
    server = boundedServer(connectionsMax)
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      if (request.url !== "/slow") return response.end("done")
      due.push(response)
      return server.emit("asked")
    })
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    port = (server.address() as AddressInfo).port
  })

  afterEach(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
    server.closeAllConnections()
  })

  const write = (requests: number): Socket => {
    const socket = connect(port, "127.0.0.1")
    sockets.push(socket.on("error", () => {}))
    socket.write("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(requests))
    return socket.resume()
  }

  const statusOf = (path: string): Promise<number | undefined> =>
    new Promise((resolve) => {
      get({ host: "127.0.0.1", port, path, agent: false }, (response) => resolve(response.resume().statusCode)).on(
        "error",
        () => resolve(undefined),
      )
    })

  it("serves one of twenty requests that a connection sends in one go", async () => {
    const answer = once(write(20), "data")
    await once(server, "asked")
    due[0]?.end("done")
    await answer
    assert.strictEqual(due.length, 1)
  })

  it("finds room for a newcomer beside connections that sent many requests", async () => {
    for (const _ of Array.from({ length: 3 * connectionsMax })) {
      write(20)
      await once(server, "asked")
      due.at(-1)?.end("done")
    }
    assert.strictEqual(await statusOf("/"), 200)
    assert.strictEqual(due.length, 3 * connectionsMax)
  })

  it("refuses a newcomer while it owes all others their answer", async () => {
    const asked = Array.from({ length: connectionsMax }, async () => {
      write(1)
      await once(server, "asked")
    })
    await Promise.all(asked)
    while (due.length < connectionsMax) await once(server, "asked")
    assert.isUndefined(await statusOf("/"))
    due[0]?.end("done")
    await once(due[0]!, "close")
    assert.strictEqual(await statusOf("/"), 200)
  })
})

describe("the command line beside a daemon whose connections are all in use", () => {
  it("asks again what it only reads", async () => {
    const dir = tempDir("busy-socket")
    const path = join(dir, socketFile)
    const server = boundedServer(1)
    const due: Array<ServerResponse> = []
    server.on("request", (_, response: ServerResponse) => {
      due.push(response)
      if (due.length === 2) response.end("{}")
      server.emit("asked")
    })
    server.listen(path)
    await once(server, "listening")
    const first = connect(path)
    try {
      first.resume().write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
      await once(server, "asked")
      const changed = await Effect.runPromise(Effect.flip(askDaemon(dir, "/api/v1/halt", { body: {} })))
      assert.include(changed.message, "the daemon cannot be reached")
      const answer = Effect.runPromise(askDaemon(dir, "/api/v1/status"))
      await once(server, "connection")
      due[0]?.end("done")
      assert.deepStrictEqual(await answer, { status: 200, body: {} })
    } finally {
      first.destroy()
      server.close()
      server.closeAllConnections()
    }
  })
})
