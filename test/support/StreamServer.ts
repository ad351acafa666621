import { createServer, type IncomingMessage, request } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { type WebSocket, WebSocketServer } from "@effect/platform-node/NodeWS"
import { Effect, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { turn } from "./until.ts"

/** One stream as it was asked for, open on the side of the network. */
export interface Opened {
  readonly url: URL
  readonly headers: IncomingMessage["headers"]
  readonly socket: WebSocket
  /** Below the frames. */
  readonly wire: Socket
}

/** A gateway's streams over real sockets, each as untrue as a test wants it. */
export interface StreamServer {
  readonly url: string
  /** Every stream that was ever opened. */
  readonly opened: ReadonlyArray<Opened>
  /** Streams asked for, opened or not. */
  readonly asked: () => number
  /** What is done with a stream as soon as it is open. */
  onOpen: (opened: Opened) => void
  /** Status with which streams are refused; undefined: they are opened. */
  refusal: number | undefined
  /** Status of all else, where there is no network behind; it is told to come back in ten minutes. */
  status: number
}

/** Whatever is no stream is asked of the network behind, where there is one. */
export const startStreams = (behind?: string): Effect.Effect<StreamServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const opened: Array<Opened> = []
    const wires = new Set<Socket>()
    let asked = 0
    const sockets = new WebSocketServer({ noServer: true, autoPong: false })
    const server = createServer((incoming, response) => {
      if (behind === undefined) return void response.writeHead(self.status, { "ratelimit-retry-after": "600" }).end()
      const { method, headers, url = "" } = incoming
      const onward = request(behind + url, { method: method ?? "GET", headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers)
        answer.pipe(response)
      })
      onward.on("error", () => response.destroy())
      incoming.pipe(onward)
    })
    server.on("connection", (wire) => {
      wires.add(wire)
      wire.on("error", () => {})
    })
    server.on("upgrade", (incoming: IncomingMessage, wire: Socket, head: Buffer) => {
      asked++
      if (self.refusal !== undefined) return void wire.end(`HTTP/1.1 ${self.refusal} No\r\ncontent-length: 0\r\n\r\n`)
      sockets.handleUpgrade(incoming, wire, head, (socket) => {
        socket.on("error", () => {})
        const url = new URL(incoming.url ?? "", "http://gateway")
        const one: Opened = { url, headers: incoming.headers, socket, wire }
        opened.push(one)
        self.onOpen(one)
      })
    })
    yield* Effect.acquireRelease(
      Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))),
      () =>
        Effect.promise(() => {
          for (const wire of wires) wire.destroy()
          return new Promise<void>((resolve) => server.close(() => resolve()))
        }),
    )
    const { port } = server.address() as AddressInfo
    const self: StreamServer = {
      url: `http://127.0.0.1:${port}`,
      opened,
      asked: () => asked,
      onOpen: () => {},
      refusal: undefined,
      status: 404,
    }
    return self
  })

/** Says the text as fast as the other side takes it, until the connection ends. */
export const flood = ({ socket, wire }: Opened, text: string): void => {
  const more = (): void => {
    for (let i = 0; i < 100; i++) socket.send(text)
    if (wire.destroyed) return
    if (wire.writableNeedDrain) wire.once("drain", more)
    else setImmediate(more)
  }
  more()
}

/** Lets virtual time pass in steps, each with a turn of the machine, until it is so, an hour at most. */
export const passUntil = (isSo: () => boolean, stepMillis = 20): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (let millis = 0; !isSo(); millis += stepMillis) {
      if (millis > 3_600_000) return yield* Effect.die(new Error("it never came to be"))
      yield* TestClock.adjust(stepMillis)
      yield* turn
    }
  })
