import { once } from "node:events"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { HttpClient } from "effect/http"
import { webhookChannel } from "../../src/notify/Notifier.ts"
import { soon, waitUntil } from "../support/until.ts"

const notification = {
  id: "1",
  treasury: "t",
  severity: "ticket",
  kind: "rule",
  subject: "s",
  detail: "d",
  fields: {},
  at: 0,
} as unknown as Parameters<ReturnType<typeof webhookChannel>["send"]>[0]

describe("a webhook", () => {
  it.live("counts as delivered once the receiver's headers arrive, and keeps no connection", () =>
    Effect.gen(function* () {
      const open = new Set<ServerResponse>()
      let closed = 0
      const server = createServer((request, response) => {
        request.resume()
        open.add(response)
        response.on("close", () => {
          closed++
          open.delete(response)
        })
        response.writeHead(200)
        response.write("it goes on")
      }).listen(0, "127.0.0.1")
      yield* soon(
        "the server",
        Effect.promise(() => once(server, "listening")),
      )
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
      const channel = webhookChannel(
        { name: "desk", url: Redacted.make(url), headers: {} },
        yield* HttpClient.HttpClient,
      )
      for (let n = 0; n < 5; n++) yield* channel.send(notification)
      yield* waitUntil("five closed connections", () => closed >= 5)
      assert.strictEqual(open.size, 0)
      server.close()
    }).pipe(Effect.provide(NodeHttpClient.layerUndici)),
  )
})
