import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { Effect, Layer, type Redacted, type Scope } from "effect"
import { gatewayOptions, makeTransport } from "../../src/gateway/Transport.ts"
import { layerHttp } from "../../src/sockets/client.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { waitUntil } from "../support/until.ts"

/** A request as it arrived. */
export interface Arrived {
  readonly method: string
  readonly url: URL
  readonly headers: IncomingMessage["headers"]
  readonly rawHeaders: ReadonlyArray<string>
  readonly body: string
}

export type Handler = (response: ServerResponse, arrived: Arrived, socket: Socket) => void

/** A gateway over real sockets on a free port of 127.0.0.1. What it answers is set by each test. */
export interface GatewayServer {
  readonly url: string
  readonly arrived: Array<Arrived>
  /** Connections now open. */
  readonly sockets: ReadonlySet<Socket>
  handler: Handler
  /** Succeeds once no connection is open any more. */
  readonly allClosed: Effect.Effect<void>
}

export const startGateway = (handler: Handler): Effect.Effect<GatewayServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const arrived: Array<Arrived> = []
    const sockets = new Set<Socket>()
    const server = createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("error", () => {})
      response.on("error", () => {})
      request.on("end", () => {
        const one: Arrived = {
          method: request.method ?? "",
          url: new URL(request.url ?? "", "http://gateway"),
          headers: request.headers,
          rawHeaders: request.rawHeaders,
          body: Buffer.concat(chunks).toString(),
        }
        arrived.push(one)
        self.handler(response, one, request.socket)
      })
    })
    server.on("connection", (socket) => {
      sockets.add(socket)
      socket.on("error", () => {})
      socket.on("close", () => sockets.delete(socket))
    })
    yield* Effect.acquireRelease(
      Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))),
      () =>
        Effect.promise(() => {
          for (const socket of sockets) socket.destroy()
          return new Promise<void>((resolve) => server.close(() => resolve()))
        }),
    )
    const allClosed = waitUntil("the end of all connections", () => sockets.size === 0)
    const port = (server.address() as AddressInfo).port
    const self: GatewayServer = { url: `http://127.0.0.1:${port}`, arrived, sockets, handler, allClosed }
    return self
  })

/** An answer of JSON with the block headers of height 120. */
export const json =
  (body: unknown, status = 200, headers: Record<string, string | ReadonlyArray<string>> = {}): Handler =>
  (response) => {
    response.writeHead(status, {
      "content-type": "application/json",
      "x-block-height": "120",
      "x-block-timestamp": "1795220344973517000",
      ...headers,
    })
    response.end(typeof body === "string" ? body : JSON.stringify(body))
  }

export const mark = { height: 120n, timestamp: 1795220344973517000n }

/** Metrics and the real HTTP client, as the daemon has them. */
export const live = Layer.mergeAll(
  layerHttp,
  Metrics.layer({
    treasury: "test",
    mode: "observe",
    gateways: ["g"],
    rules: [],
    receivers: [],
    version: "0",
    revision: "0",
  }),
)

/** The transport of a gateway named g, as fast as the machine where nothing else is said. */
export const openTransport = (
  url: string,
  options: {
    readonly headers?: Readonly<Record<string, Redacted.Redacted>>
    readonly requestDeadlineMillis?: number
    readonly bodyBytesMax?: number
    readonly requestsPerSecond?: number
  } = {},
) => makeTransport(gatewayOptions({ name: "g", url, requestsPerSecond: 100_000, ...options }))
