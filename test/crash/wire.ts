import { createServer, request, type Server } from "node:http"
import { createServer as createSocket } from "node:net"
import { waitMillisMax } from "../support/until.ts"

export interface Reply {
  readonly status: number
  readonly body: unknown
}

/** One request with JSON both ways: to an address, or to a socket file. Fails where nobody answers. */
export const ask = (
  method: "GET" | "POST" | "DELETE",
  to: { readonly url: string } | { readonly socketPath: string; readonly path: string },
  body?: unknown,
  timeout = waitMillisMax,
): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", host: "localhost", connection: "close" }
    const options = { method, headers, timeout }
    const call = "url" in to ? request(to.url, options) : request({ ...to, ...options })
    call.on("response", (response) => {
      let text = ""
      response.on("data", (chunk: Buffer) => {
        text += chunk.toString()
      })
      response.on("error", reject)
      response.on("end", () => {
        try {
          resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as unknown })
        } catch (error) {
          reject(error)
        }
      })
    })
    call.on("timeout", () => call.destroy(new Error("no answer in time")))
    call.on("error", reject)
    call.end(body === undefined ? undefined : JSON.stringify(body))
  })

/** A port of this machine that nobody listens on now. */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createSocket()
    server.on("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

/** Takes alerts, or refuses them. */
export interface Receiver {
  readonly url: string
  /** Bodies that it took, in their order. */
  readonly taken: ReadonlyArray<string>
  isDeaf: boolean
  readonly close: () => void
}

export const startReceiver = (): Promise<Receiver> =>
  new Promise((resolve, reject) => {
    const server: Server = createServer((incoming, response) => {
      let body = ""
      incoming.on("data", (chunk: Buffer) => {
        body += chunk.toString()
      })
      incoming.on("end", () => {
        if (!receiver.isDeaf) taken.push(body)
        response.statusCode = receiver.isDeaf ? 503 : 204
        response.end()
      })
    })
    const taken: Array<string> = []
    const receiver = { url: "", taken, isDeaf: false, close: () => server.close() }
    server.on("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      resolve(Object.assign(receiver, { url: `http://127.0.0.1:${port}` }))
    })
  })
