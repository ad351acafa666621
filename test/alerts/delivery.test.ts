import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { deliverOnce } from "../../src/alerts/AlertLoop.ts"
import { Notifier } from "../../src/notify/Notifier.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { it } from "../support/it.ts"
import { noReminders } from "../support/noReminders.ts"
import { testStore } from "../support/TestStore.ts"

describe("an alert", () => {
  it.effect("reaches a webhook that was down, with one id for every attempt", function* () {
    const calls: Array<{ headers: IncomingHttpHeaders; body: string }> = []
    let status = 500
    const server = createServer((request, response) => {
      let body = ""
      request.on("data", (chunk: Buffer) => {
        body += chunk.toString()
      })
      request.on("end", () => {
        calls.push({ headers: request.headers, body })
        response.writeHead(status).end()
      })
    })
    yield* Effect.callback<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    })
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook/SECRET`
    const store = testStore()
    const names = { gateways: [], rules: [], receivers: ["desk", "log"], version: "", revision: "" }
    const layer = Layer.mergeAll(
      Notifier.layerReceivers([
        { name: "desk", webhook: { url: Redacted.make(url), headers: { "x-token": Redacted.make("TOKEN") } } },
        { name: "log", log: {} },
      ]),
      Metrics.layer({ treasury: "t", mode: "live", ...names }),
      store.layer(),
      Logger.layer([]),
    )
    yield* Effect.gen(function* () {
      const queue = yield* AlertQueue
      const metrics = yield* Metrics
      const alert = { severity: "page" as const, kind: "intent", subject: "s", detail: "stuck", fields: { n: 1 } }
      yield* queue.raise({ dedup: "1", ...alert })
      yield* deliverOnce("t", noReminders)
      assert.deepStrictEqual(
        (yield* queue.pending).map((p) => p.receiver),
        ["desk"],
      )
      status = 204
      yield* TestClock.adjust("2 seconds")
      yield* deliverOnce("t", noReminders)
      assert.deepStrictEqual(yield* queue.pending, [])
      assert.strictEqual(calls.length, 2)
      const ids = calls.map((c) => String(c.headers["idempotency-key"]))
      assert.match(ids[0] ?? "", /^t\/[0-9a-f]{8}\/1\/[0-9a-z]+$/)
      assert.strictEqual(ids[1], ids[0])
      assert.strictEqual(calls[1]?.headers["x-token"], "TOKEN")
      assert.containSubset(JSON.parse(calls[1]?.body ?? ""), { version: 1, severity: "page", detail: "stuck" })
      const text = yield* Effect.promise(() => metrics.registry.metrics())
      assert.include(text, 'cofferer_notifications_total{receiver="desk",outcome="failed"} 1')
      assert.include(text, 'cofferer_notifications_total{receiver="desk",outcome="delivered"} 1')
      const unseen = {
        subject: "\u202eS\u200b",
        detail: "paid\u2066\nPAGE",
        fields: { n: 1, reason: "\u00ad\u3164x" },
      }
      yield* queue.raise({ dedup: "3", ...alert, ...unseen })
      yield* deliverOnce("t", noReminders)
      assert.containSubset(JSON.parse(calls[2]?.body ?? "{}"), {
        subject: "\\u{202e}S\\u{200b}",
        detail: "paid\\u{2066}\\u{a}PAGE",
        fields: { n: 1, reason: "\\u{ad}\\u{3164}x" },
      })
      server.closeAllConnections()
      yield* Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
      })
      yield* queue.raise({ dedup: "2", ...alert })
      yield* deliverOnce("t", noReminders)
      const waiting = yield* queue.pending
      assert.deepStrictEqual(
        waiting.map((p) => p.receiver),
        ["desk"],
        "kept while nobody listens",
      )
    }).pipe(Effect.provide(layer), Effect.ensuring(Effect.sync(store.remove)))
  })
})
