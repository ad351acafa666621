import { type AddressInfo, createServer, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Connections } from "../../src/store/database/Connections.ts"

/** Bytes that come before a server without TLS has said so, and after it. */
const heard = (address: (port: number) => string) =>
  Effect.gen(function* () {
    const chunks: Array<Buffer> = []
    const server = yield* Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createServer>>((resume) => {
        const listening = createServer((socket: Socket) => {
          socket.on("error", () => {})
          socket.on("data", (chunk) => {
            chunks.push(chunk)
            if (chunk.includes("cofferer")) socket.destroy()
            else socket.write("N")
          })
        })
        listening.listen(0, "127.0.0.1", () => resume(Effect.succeed(listening)))
      }),
      (listening) => Effect.sync(() => listening.close()),
    )
    const url = Redacted.make(address((server.address() as AddressInfo).port))
    const asked = Effect.flatMap(Connections, ({ session }) => session("harbor"))
    yield* Effect.exit(Effect.provide(asked, Connections.layer({ url })))
    return Buffer.concat(chunks).includes("cofferer")
  }).pipe(Effect.scoped)

/** On Linux a connection to it comes to this host, and its name says nothing of that. */
const elsewhere = "0.0.0.0"
const at = (query: string) => (port: number) => `postgres://cofferer:secret@${elsewhere}:${port}/cofferer${query}`

describe("the address of a database on another host", () => {
  for (const query of ["", "?sslmode=prefer", "?sslmode=allow", "?sslmode=require"]) {
    it.live(`tells a server without TLS nothing (${query || "no sslmode"})`, () =>
      Effect.map(heard(at(query)), (isTold) => assert.isFalse(isTold)),
    )
  }

  it.live("is used without TLS where it says sslmode=disable", () =>
    Effect.map(heard(at("?sslmode=disable")), (isTold) => assert.isTrue(isTold)),
  )

  it.live("is the last that it names, as the client reads it", () =>
    Effect.map(heard(at(`?host=localhost&host=${elsewhere}`)), (isTold) => assert.isFalse(isTold)),
  )
})
