import type { AgentOptions } from "node:http"
import type { Socket } from "node:net"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Layer } from "effect"
import { HttpClient, HttpClientError, type HttpClientRequest } from "effect/http"

// Not imported: boundedServer.ts says why.
const { Agent, validateHeaderValue } = process.getBuiltinModule("node:http")
const { Agent: TlsAgent } = process.getBuiltinModule("node:https")

/** Milliseconds in which a connection must be made, and until an idle one is closed: many servers do so after 5 s. */
const idleMillis = 4_000

/** An error of a connection that was not made yet: no byte of a request was sent. */
export interface NotConnected extends NodeJS.ErrnoException {
  notConnected?: true
}

/** Marks errors of a socket until it is connected. Node holds a request back until then, and until TLS is verified. */
const marked = (socket: Socket, event: "connect" | "secureConnect"): Socket => {
  const mark = (error: NotConnected) => {
    error.notConnected = true
  }
  const expire = () => socket.destroy(Object.assign(new Error("not connected in time"), { code: "ETIMEDOUT" }))
  socket.once("error", mark).once("timeout", expire)
  return socket.once(event, () => {
    socket.off("error", mark).off("timeout", expire)
  })
}

class PlainSockets extends Agent {
  override createConnection(options: object) {
    return marked(super.createConnection(options) as Socket, "connect")
  }
}

class TlsSockets extends TlsAgent {
  override createConnection(options: object) {
    return marked(super.createConnection(options) as Socket, "secureConnect")
  }
}

/** Node throws where it cannot write a header; here nothing was sent yet. */
const writable = (request: HttpClientRequest.HttpClientRequest) =>
  Effect.try({
    try: () => {
      for (const [name, value] of Object.entries(request.headers)) validateHeaderValue(name, value)
      return request
    },
    catch: (cause) =>
      new HttpClientError.HttpClientError({ reason: new HttpClientError.EncodeError({ request, cause }) }),
  })

/**
 * Requests over sockets of Node, without proxy, redirects, compression or headers of tracing. A failure of which
 * certainly nothing was sent is an `EncodeError` or has a `NotConnected` as its cause.
 */
export const layerHttpOptions = (
  options: Pick<AgentOptions, "timeout" | "lookup" | "maxSockets"> = {},
): Layer.Layer<HttpClient.HttpClient> => {
  const all = { keepAlive: true, timeout: idleMillis, ...options }
  const agents = Layer.effect(
    NodeHttpClient.HttpAgent,
    Effect.acquireRelease(
      Effect.sync(() => ({ http: new PlainSockets(all), https: new TlsSockets(all) })),
      ({ http, https }) =>
        Effect.sync(() => {
          http.destroy()
          https.destroy()
        }),
    ),
  )
  const client = Effect.map(NodeHttpClient.makeNodeHttp, (real) =>
    HttpClient.mapRequestEffect(real, writable).pipe(
      HttpClient.transformResponse(Effect.provideService(HttpClient.TracerPropagationEnabled, false)),
    ),
  )
  return Layer.effect(HttpClient.HttpClient, client).pipe(Layer.provide(agents))
}

/** Client for gateways: at most eight connections to a host. */
export const layerHttp = layerHttpOptions({ maxSockets: 8 })
