import type { Socket } from "node:net"
import { gzipSync } from "node:zlib"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { FaultKind } from "../Faults.ts"

/** An answer as it would go out. */
export interface Outgoing {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** How long an answer is withheld before the connection ends. */
const silence = "30 seconds"
/** End of an endless body, if its reader does not stop before. */
const endlessBytesMax = 2 ** 30

const socketOf = (request: HttpServerRequest.HttpServerRequest): Socket =>
  NodeHttpServerRequest.toIncomingMessage(request).socket

/** Ends the connection without an answer. */
export const hangUp = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<never> =>
  Effect.suspend(() => {
    socketOf(request).destroy()
    return Effect.never
  })

/** Leaves the caller without an answer until it gives up, then ends the connection. */
const withhold = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<never> =>
  Effect.sleep(silence).pipe(
    Effect.andThen(hangUp(request)),
    Effect.onInterrupt(() => Effect.sync(() => socketOf(request).destroy())),
  )

/** Breaks the answer on its way. Writes to the socket itself: the HTTP server would not send such an answer. */
export const breakAnswer = (
  request: HttpServerRequest.HttpServerRequest,
  kind: FaultKind,
  answer: Outgoing,
): Effect.Effect<never> =>
  kind === "accept_drop_answer"
    ? withhold(request)
    : Effect.suspend(() => {
        const socket = socketOf(request)
        socket.on("error", () => socket.destroy())
        writeBroken(socket, kind, answer)
        return Effect.never
      }).pipe(Effect.onInterrupt(() => Effect.sync(() => socketOf(request).destroy())))

const writeBroken = (socket: Socket, kind: FaultKind, { status, headers, body }: Outgoing): void => {
  const bytes = Buffer.from(body)
  const open = (more: Readonly<Record<string, string | number>>, code = status): string => {
    const lines = Object.entries({ "content-type": "application/json", ...headers, ...more })
    return `HTTP/1.1 ${code} Answer\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`
  }
  switch (kind) {
    case "html_body": {
      const page = "<html><head><title>Maintenance</title></head><body>Please come back later.</body></html>"
      socket.end(open({ "content-type": "text/html", "content-length": page.length, connection: "close" }, 200) + page)
      return
    }
    case "truncated_body":
      socket.end(
        Buffer.concat([Buffer.from(open({ "content-length": bytes.length })), bytes.subarray(0, bytes.length / 2)]),
      )
      return
    case "wrong_content_length": {
      const announced = Math.max(1, bytes.length - 10)
      socket.end(Buffer.concat([Buffer.from(open({ "content-length": announced })), bytes]))
      return
    }
    case "gzip_bomb": {
      const bomb = packedGigabyte()
      socket.end(
        Buffer.concat([Buffer.from(open({ "content-encoding": "gzip", "content-length": bomb.length })), bomb]),
      )
      return
    }
    default:
      socket.write(open({ "transfer-encoding": "chunked" }))
      writeForever(socket)
  }
}

const chunkBytes = 65_536

const writeForever = (socket: Socket): void => {
  const chunk = `${chunkBytes.toString(16)}\r\n${" ".repeat(chunkBytes)}\r\n`
  let written = 0
  const more = (): void => {
    while (!socket.destroyed && written < endlessBytesMax) {
      written += chunkBytes
      if (!socket.write(chunk)) return
    }
    socket.destroy()
  }
  socket.on("drain", more)
  more()
}

/** A gibibyte of blanks: gzip permits several members, here 1,024 times the same mebibyte. */
const packedGigabyte = (): Buffer => {
  const member = gzipSync(Buffer.alloc(1_048_576, " "), { level: 9 })
  return Buffer.concat(Array.from({ length: 1_024 }, () => member))
}
