import { connect } from "node:net"

/** A request as bytes, and whether its answer is as it should be. */
export interface Shot {
  readonly bytes: string
  readonly accept: (status: number, body: string) => boolean
}

export const getShot = (path: string, accept: Shot["accept"]): Shot => ({
  bytes: `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`,
  accept,
})

export const postShot = (path: string, body: string, accept: Shot["accept"]): Shot => ({
  bytes: `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  accept,
})

const headEnd = Buffer.from("\r\n\r\n")

/**
 * Sends requests over kept-alive connections, one in flight on each, until the time is over or `next` has none. Plain
 * sockets, since a client library would cost more than the server. Resolves with good answers per second.
 */
export const fire = (
  port: number,
  options: { readonly connections: number; readonly millis: number; readonly next: () => Shot | undefined },
): Promise<{ readonly perSecond: number; readonly refused: number; readonly example: string }> =>
  new Promise((resolve, reject) => {
    const began = performance.now()
    let good = 0
    let refused = 0
    let example = ""
    let open = options.connections
    const over = () => {
      if (--open > 0) return
      resolve({ perSecond: good / ((performance.now() - began) / 1000), refused, example })
    }
    const start = () => {
      const socket = connect({ host: "127.0.0.1", port, noDelay: true })
      let held: Buffer<ArrayBufferLike> = Buffer.alloc(0)
      let shot: Shot | undefined
      const next = () => {
        shot = performance.now() - began < options.millis ? options.next() : undefined
        if (shot === undefined) {
          socket.end()
          over()
        } else socket.write(shot.bytes)
      }
      socket.on("connect", next)
      socket.on("error", reject)
      socket.on("data", (chunk) => {
        held = held.length === 0 ? chunk : Buffer.concat([held, chunk])
        const end = held.indexOf(headEnd)
        if (end < 0) return
        const head = held.toString("latin1", 0, end)
        const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN)
        if (Number.isNaN(length)) return reject(new Error(`an answer without length: ${head}`))
        if (held.length < end + 4 + length) return
        const body = held.toString("utf8", end + 4, end + 4 + length)
        held = held.subarray(end + 4 + length)
        if (shot?.accept(Number(head.slice(9, 12)), body)) good++
        else {
          refused++
          example = body.slice(0, 200)
        }
        // The server closes a connection after a number of requests.
        if (!/\r\nconnection: close/i.test(head)) return next()
        socket.end()
        start()
      })
    }
    for (let n = 0; n < options.connections; n++) start()
  })
