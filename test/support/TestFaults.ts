import { connect } from "node:net"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Sandbox } from "../../src/sandbox/Sandbox.ts"
import * as Test from "./TestClient.ts"
import { one, usdt } from "./TestSandbox.ts"
import { waitUntil } from "./until.ts"

export type Node = Sandbox["Service"]

/** Arms a fault as written and returns its id. */
export const arm = (
  client: Test.TestClient,
  fault: Readonly<Record<string, unknown>>,
): Effect.Effect<number, Test.NoAnswer> =>
  Effect.map(Test.request(client, "/sandbox/faults", { body: JSON.stringify(fault) }), (reply) => {
    assert.strictEqual(reply.status, 200, reply.text)
    return Number(Test.at(reply, "fault.id"))
  })

export const disarm = (client: Test.TestClient) => Test.request(client, "/sandbox/faults", { method: "DELETE" })

/** Hits of each armed fault, in the order in which they were armed. */
export const hits = (client: Test.TestClient) =>
  Effect.map(Test.request(client, "/sandbox/faults"), (reply) =>
    (Test.at(reply, "faults") as ReadonlyArray<{ readonly hits: number }>).map((fault) => fault.hits),
  )

/** Waits until no fault is armed: the request that spends the last one is in the sandbox then. */
export const spent = (client: Test.TestClient) =>
  waitUntil(
    "every fault to hit",
    Effect.map(hits(client), (all) => all.length === 0),
  )

/** A payment of one USDT from alice to bob, anchored on the true newest block whatever faults make of reads. */
export const draft = (client: Test.TestClient, node: Node, change: Partial<Test.Draft> = {}) =>
  Effect.map(node.ledger.head, ({ height, hash }) =>
    Test.signed(client, {
      from: "alice",
      command: Test.payment(client, "bob", one, { asset: usdt }),
      height,
      hash,
      difficulty: 3,
      ...change,
    }),
  )

/** Hash and code of what blocks hold. */
export const executed = (node: Node) =>
  Effect.map(node.ledger.executed, (all) => all.map(({ hash, code }) => [hash, code] as const))

/** What stands on the wire after a GET, until the connection ends or so many bytes came. */
export const rawAnswer = (client: Test.TestClient, path: string, bytesMax: number) =>
  Effect.callback<{ readonly head: string; readonly body: Buffer; readonly ended: boolean }>((resume) => {
    const { hostname, port } = new URL(client.url)
    const socket = connect(Number(port), hostname, () => {
      socket.write(`GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\nconnection: close\r\n\r\n`)
    })
    const chunks: Array<Buffer> = []
    let size = 0
    const finish = (ended: boolean) => {
      const bytes = Buffer.concat(chunks)
      const cut = bytes.indexOf("\r\n\r\n")
      socket.destroy()
      resume(Effect.succeed({ head: bytes.subarray(0, cut).toString(), body: bytes.subarray(cut + 4), ended }))
    }
    socket.on("data", (chunk) => {
      size += chunk.length
      chunks.push(chunk)
      if (size >= bytesMax) finish(false)
    })
    socket.on("close", () => finish(true))
    socket.on("error", () => {})
    return Effect.sync(() => socket.destroy())
  })
