import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"

/** An import would read every export of it, and so load Node's own undici for its WebSocket: 30 ms and 3 MB. */
const { createServer } = process.getBuiltinModule("node:http")

/** Milliseconds in which the headers of a request must have come, counted from the connection or the answer before. */
const headersMillis = 10_000
/** Milliseconds in which a request must have come whole. */
const requestMillis = 20_000
/** Milliseconds that a connection stays without another request. */
const idleMillis = 5_000
const checkMillis = 2_000

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** Requests of a connection that are not finished. */
type Open = Set<Exchange>

/**
 * An HTTP server whose connections are bounded in number and time. A newcomer always finds room, unless this process
 * owes all others an answer: the one that has been idle for longest is closed for it, of the address that holds most.
 * A connection's requests are bounded because one that sends them all at once is served all at once.
 */
export const boundedServer = (connectionsMax: number, requestsMax = 1): Server => {
  const server = createServer({
    headersTimeout: headersMillis,
    requestTimeout: requestMillis,
    keepAliveTimeout: idleMillis,
    connectionsCheckingInterval: checkMillis,
  })
  server.maxRequestsPerSocket = requestsMax
  // In the order in which they became idle.
  const held = new Map<Socket, Open>()
  server.on("connection", (socket: Socket) => {
    if (held.size >= connectionsMax) {
      const last = leastNeeded(held)
      if (last === undefined) {
        socket.destroy()
        return
      }
      held.delete(last)
      last.destroy()
    }
    held.set(socket, new Set())
    socket.once("close", () => held.delete(socket))
  })
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    const open = held.get(socket)
    if (open === undefined) return
    const exchange = { request, response }
    open.add(exchange)
    response.once("close", () => {
      open.delete(exchange)
      if (held.delete(socket)) held.set(socket, open)
    })
  })
  return server
}

/** True if an answer is due: the request has arrived whole, and its answer is not written yet. */
const isOwed = ({ request, response }: Exchange): boolean => request.complete && !response.writableEnded

/** Which connection is closed first; undefined where all wait for this process. */
const leastNeeded = (held: ReadonlyMap<Socket, Open>): Socket | undefined => {
  const counts = new Map<string, number>()
  for (const { remoteAddress = "" } of held.keys()) counts.set(remoteAddress, (counts.get(remoteAddress) ?? 0) + 1)
  let found: Socket | undefined
  let most = 0
  for (const [socket, open] of held) {
    const count = counts.get(socket.remoteAddress ?? "") ?? 0
    if (count <= most || [...open].some(isOwed)) continue
    found = socket
    most = count
  }
  return found
}
