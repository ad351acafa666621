import { randomInt } from "node:crypto"
import { createServer, type OutgoingHttpHeaders, type Server } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"

type Manner = "answers" | "hangs" | "is closed"

/** A server whose port can be closed, and that can hang. */
export interface Door {
  readonly url: string
  readonly set: (manner: Manner) => Promise<void>
  readonly close: () => Promise<void>
}

export interface Answer {
  readonly status: number
  readonly headers?: OutgoingHttpHeaders
  readonly body: string
}
type Serve = (method: string, path: string, body: string) => Promise<Answer>

const listen = (server: Server, port: number) =>
  new Promise<number>((resolve, reject) => {
    server.on("error", reject)
    server.listen(port, "127.0.0.1", () => resolve((server.address() as AddressInfo).port))
  })

/** Opens a server that answers by `serve`. */
export const openDoor = async (serve: Serve): Promise<Door> => {
  let manner: Manner = "answers"
  const sockets = new Set<Socket>()
  const make = (): Server =>
    createServer((incoming, response) => {
      let body = ""
      incoming.on("data", (chunk: Buffer) => {
        body += chunk.toString()
      })
      incoming.on("end", () => {
        if (manner === "hangs") return
        serve(incoming.method ?? "GET", incoming.url ?? "/", body).then(
          (answer) => response.writeHead(answer.status, answer.headers).end(answer.body),
          () => incoming.socket.destroy(),
        )
      })
    }).on("connection", (socket: Socket) => {
      sockets.add(socket)
      socket.on("close", () => sockets.delete(socket))
    })
  const shut = (server: Server) =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
  let server = make()
  const port = await listen(server, 0)
  return {
    url: `http://127.0.0.1:${port}`,
    set: async (next) => {
      if (manner !== "is closed") await shut(server)
      manner = next
      if (next === "is closed") return
      server = make()
      await listen(server, port)
    },
    close: () => (manner === "is closed" ? Promise.resolve() : shut(server)),
  }
}

/** A port for a server that is started later: below those that connections of other processes get meanwhile. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = randomInt(10_000, 30_000)
    const server = createServer()
    const isFree = await listen(server, port).then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}

/** Waits until it is so; false if the seconds were over first. */
export const until = async (seconds: number, isSo: () => Promise<boolean> | boolean): Promise<boolean> => {
  for (const end = Date.now() + seconds * 1_000; Date.now() < end; await sleep(200)) if (await isSo()) return true
  return false
}
