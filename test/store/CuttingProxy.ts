import { rmSync } from "node:fs"
import { connect, createServer, type Socket } from "node:net"
import { join } from "node:path"
import { Effect } from "effect"

/**
 * What the proxy loses: the next message of the client, or the next answer to a COMMIT; the connection breaks then.
 * "all": every message from now on, as a server does that hangs.
 */
export type Cut = "request" | "answer" | "all"

/** A socket before the server's, on which one message can be lost at the moment that matters. */
export const cuttingProxy = Effect.fnUntraced(function* (serverDir: string, dir: string) {
  let armed: Cut | undefined
  const sockets = new Set<Socket>()
  const file = join(dir, ".s.PGSQL.5432")
  const server = createServer((client) => {
    const behind = connect(join(serverDir, ".s.PGSQL.5432"))
    const cut = () => {
      armed = undefined
      client.destroy()
      behind.destroy()
    }
    for (const socket of [client, behind]) {
      sockets.add(socket)
      socket.on("error", () => {})
      socket.on("close", () => {
        client.destroy()
        behind.destroy()
        sockets.delete(socket)
      })
    }
    client.on("data", (bytes) => {
      if (armed !== "all") armed === "request" ? cut() : behind.write(bytes)
    })
    behind.on("data", (bytes) => (armed === "answer" && bytes.includes("COMMIT\0") ? cut() : client.write(bytes)))
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => {
      server.listen(file, () => resume(Effect.void))
    }),
    () =>
      Effect.sync(() => {
        server.close()
        for (const socket of sockets) socket.destroy()
        rmSync(file, { force: true })
      }),
  )
  return {
    arm: (cut: Cut) =>
      Effect.sync(() => {
        armed = cut
      }),
  }
})
