import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { deliverOnce } from "../../src/alerts/AlertLoop.ts"
import { notifyAssets } from "../../src/engine/notifyAssets.ts"
import { pollAssets } from "../../src/poller/AssetPoller.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Listings } from "../../src/store/network/Listings.ts"
import { flow } from "../support/Flow.ts"
import { noReminders } from "../support/noReminders.ts"

interface Call {
  readonly key: unknown
  readonly body: unknown
}

/** A receiver that answers as told, and keeps what it was sent. */
const withReceiver = <A, E, R>(
  use: (url: string, calls: ReadonlyArray<Call>, answer: (status: number) => void) => Effect.Effect<A, E, R>,
) =>
  Effect.gen(function* () {
    const calls: Array<Call> = []
    let status = 500
    const server = createServer((request, response) => {
      let text = ""
      request.on("data", (chunk: Buffer) => {
        text += chunk.toString()
      })
      request.on("end", () => {
        calls.push({ key: request.headers["idempotency-key"], body: JSON.parse(text) })
        response.writeHead(status).end()
      })
    })
    yield* Effect.callback<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    })
    const answer = (now: number) => {
      status = now
    }
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
    return yield* use(url, calls, answer).pipe(
      Effect.ensuring(Effect.sync(() => [server.close(), server.closeAllConnections()])),
    )
  })

const sdai = "e".repeat(64)
const savings = {
  id: sdai,
  name: "Savings",
  symbol: "sDAI",
  decimals: 18,
  quantum: "7",
  erc20: { contractAddress: "0x83f20f44975d03b1b09e64809b757c47f942beea" },
  status: { proposed: 2, pendingListing: 3, enabled: 5 },
}
const news = { name: "news", notify: { asset: "any", becomes: ["enabled"] } }
const alerts = (url: string) => ({
  alerts: {
    receivers: { desk: { webhook: { url } } },
    routes: [{ severity: ["page", "ticket", "info"], to: ["desk"] }],
  },
})

describe("an asset that becomes enabled", () => {
  it.effect("raises one alert, even if its receiver was down at first", () =>
    withReceiver((url, calls, answer) =>
      flow(
        function* (_, sandbox) {
          const queue = yield* AlertQueue
          const look = Effect.andThen(pollAssets(), notifyAssets())
          for (let i = 0; i < 6; i++) {
            yield* TestClock.adjust("1 second")
            yield* sandbox.stepBlock
            yield* look
            yield* look
          }
          const due = yield* queue.due(10)
          assert.deepStrictEqual(
            due.map((a) => [a.severity, a.subject, a.fields["rule"]]),
            [["info", "sDAI", "news"]],
          )
          assert.include(due[0]?.detail ?? "", "pending listing -> enabled (18 decimals, quantum 7)")
          yield* deliverOnce("flow", noReminders)
          assert.strictEqual(calls.length, 1)
          yield* deliverOnce("flow", noReminders)
          assert.strictEqual(calls.length, 1, "not again before its time")
          answer(204)
          yield* TestClock.adjust("2 seconds")
          yield* deliverOnce("flow", noReminders)
          assert.strictEqual(calls.length, 2)
          assert.deepStrictEqual(calls[1], calls[0], "the same alert, the same key")
          assert.containSubset(calls[1]?.body, { kind: "asset", subject: "sDAI", fields: { to: "enabled" } })
          yield* look
          yield* TestClock.adjust("1 hour")
          yield* deliverOnce("flow", noReminders)
          assert.strictEqual(calls.length, 2)
          assert.deepStrictEqual(yield* queue.pending, [])
        },
        { assets: [savings], rules: [news], more: alerts(url), mode: "observe" },
      ),
    ),
  )

  it.effect("is alerted later where the store could not take its alert", () =>
    flow(
      function* (_, sandbox) {
        const sql = yield* SqlClient.SqlClient
        for (let i = 0; i < 6; i++) yield* sandbox.stepBlock
        yield* pollAssets()
        yield* sql`CREATE TRIGGER full BEFORE INSERT ON alerts BEGIN SELECT RAISE(ABORT, 'full'); END`
        yield* Effect.flip(notifyAssets())
        yield* sql`DROP TRIGGER full`
        yield* notifyAssets()
        const due = yield* (yield* AlertQueue).due(10)
        assert.include(
          due.map(({ subject, fields }) => `${subject} ${fields["rule"]}`),
          "sDAI news",
        )
      },
      { assets: [savings], rules: [news], more: alerts("http://127.0.0.1:1/hook"), mode: "observe" },
    ),
  )

  it.effect("raises no alert without a rule, unless its status changes unexpectedly", () =>
    withReceiver((url) =>
      flow(
        function* () {
          const listings = yield* Listings
          const queue = yield* AlertQueue
          const listed = yield* listings.assets
          const source = { kind: "builtin" as const, maxFaucetAmountMint: "1000000000" }
          yield* listings.replace(listed.map((a) => ({ ...a, status: "STATUS_PROPOSED", source })))
          yield* notifyAssets()
          const due = (yield* queue.due(10)).filter((alert) => alert.dedup.startsWith("asset/unexpected/"))
          assert.isAbove(due.length, 0)
          const raised = (yield* queue.due(10)).length
          for (const alert of due) {
            assert.strictEqual(alert.severity, "ticket")
            assert.include(alert.detail, "unexpected change of status: enabled -> proposed")
          }
          yield* notifyAssets()
          assert.strictEqual((yield* queue.due(10)).length, raised)
        },
        { more: alerts(url), mode: "observe" },
      ),
    ),
  )
})
