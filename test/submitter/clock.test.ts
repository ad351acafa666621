import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { treasuryOf } from "../../src/config/Treasury.ts"
import { submitPayment } from "../../src/engine/submitPayment.ts"
import { approve } from "../../src/http/approvals.ts"
import { pauseScope } from "../../src/http/controlVerbs.ts"
import { putInForce, writeAtomically } from "../../src/http/putInForce.ts"
import { readView } from "../../src/http/StatusView.ts"
import { watchHealth } from "../../src/http/watchHealth.ts"
import { approvalOf } from "../../src/payments/approvalOf.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { SpendLog } from "../../src/store/payments/SpendLog.ts"
import { alertOverdue } from "../../src/submitter/Overdue.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { flow, paid, pass, round } from "../support/Flow.ts"
import { rounds } from "../support/Intents.ts"
import { deskFields, operatorSigns } from "../support/Operators.ts"
import { request } from "../support/TestClient.ts"
import { arm, disarm } from "../support/TestFaults.ts"
import { one } from "../support/TestSandbox.ts"

const hour = 3_600_000
/** The clock stands at 08:00 UTC. */
const salary = {
  name: "salary",
  payout: { from: "alice", to: "eve", asset: "USDT", amount: "10" },
  schedule: { cron: "1 8 * * *", location: "UTC", missed: "skip" },
}
const told = Effect.gen(function* () {
  const queue = yield* AlertQueue
  const due = (yield* queue.due(100)).filter(({ subject }) => subject === "stale")
  for (const delivery of due) yield* queue.delivered(delivery)
  return [...new Set(due.map(({ severity, subject }) => `${severity} ${subject}`))]
})
/** The newest block is of this long from now. */
const block = Effect.fnUntraced(function* (fromNow: number) {
  const timestamp = BigInt((yield* Clock.currentTimeMillis) + fromNow) * 1_000_000n
  yield* (yield* Observations).rebase([], { timestamp, height: 9n })
})

describe("a clock that is behind at a reload", () => {
  it.effect("frees nothing of a limit that the reload divides", () =>
    flow(function* (options, sandbox) {
      const transfer = { from: "alice", to: "eve", asset: "USDT", amount: "150" }
      yield* submitPayment(options.treasury, "live", { idempotencyKey: "a", transfer })
      yield* rounds(options, sandbox, 6, new Set(["decide"]))
      const { document } = options.treasury
      const both = JSON.stringify(document.value)
      const [line = ""] = /\{"from":"alice","to":\["bob","eve"\].*?\}/.exec(both) ?? []
      const each = ["bob", "eve"].map((to) => line.replace('["bob","eve"]', `["${to}"]`)).join()
      const treasury = yield* treasuryOf({ ...document, value: JSON.parse(both.replace(line, each)) })
      const now = yield* Clock.currentTimeMillis
      yield* TestClock.setTime(now - 10 * hour)
      yield* writeAtomically(putInForce({ treasury, mode: "live" }, { detail: "divided" }, options.treasury.rules))
      yield* TestClock.setTime(now)
      const { policy } = treasury
      const since = now - 9 * hour
      const used = yield* (yield* SpendLog).usedIn(policy, policy.lines[0]!, { since, except: new Set() })
      assert.strictEqual(used.amount, 150n * one)
    }),
  )
})

describe("a clock that is behind at a pause", () => {
  it.effect("makes none that is over once it is right, and says so", () =>
    flow(function* (options, sandbox) {
      yield* rounds(options, sandbox, 2)
      const { treasury } = options
      const now = yield* Clock.currentTimeMillis
      yield* TestClock.setTime(now - 3 * hour)
      const pausedUntil = (until: number) =>
        pauseScope(treasury, { scope: "all", reason: "looks", author: "ana", until })
      const refused = yield* pausedUntil(now - hour)
      assert.include(JSON.stringify(refused), "this host's clock is behind")
      assert.notProperty(yield* pausedUntil(now + hour), "problem")
      yield* TestClock.setTime(now + 1)
      assert.lengthOf(yield* (yield* Controls).pauses, 1)
    }),
  )
})

describe("a clock that no block agrees with", () => {
  it.effect("raises one alert after a minute without newer blocks, and one when it ends", () =>
    flow(function* (options, sandbox) {
      yield* rounds(options, sandbox, 2)
      yield* watchHealth()
      yield* TestClock.adjust("2 minutes")
      yield* watchHealth()
      assert.deepStrictEqual(yield* told, [], "seen first")
      yield* TestClock.adjust("59 seconds")
      yield* watchHealth()
      assert.deepStrictEqual(yield* told, [])
      yield* TestClock.adjust("1 second")
      yield* watchHealth()
      assert.deepStrictEqual(yield* told, ["page stale"])
      yield* TestClock.adjust("1 hour")
      yield* watchHealth()
      assert.deepStrictEqual(yield* told, [])
      yield* block(0)
      yield* watchHealth()
      assert.deepStrictEqual(yield* told, ["info stale"])
    }),
  )

  it.effect("keeps payments from being signed, in either direction, and each says so", () =>
    flow(function* (options, sandbox) {
      yield* rounds(options, sandbox, 3, new Set(["submit", "confirm"]))
      const outbox = yield* Outbox
      for (const [gap, words] of [
        [-31_000, "behind our clock"],
        [31_000, "ahead of our clock"],
      ] as const) {
        yield* block(gap)
        yield* submitOnce()
        const [intent] = yield* outbox.open
        assert.strictEqual(intent?.detail, `waits: the newest final block is more than 30 s ${words}`)
        assert.deepStrictEqual(yield* outbox.attempts(intent?.id ?? ""), [])
      }
      yield* block(0)
      yield* submitOnce()
      const [intent] = yield* outbox.open
      assert.lengthOf(yield* outbox.attempts(intent?.id ?? ""), 1)
    }),
  )

  it.effect("ends no pause of a payment that is signed: its bytes are sent once the pause is over by blocks too", () =>
    Effect.suspend(() => {
      let ahead = 0
      return flow(
        function* (options, sandbox, client) {
          const outbox = yield* Outbox
          const sends = Effect.gen(function* () {
            const [intent] = yield* outbox.recent(1)
            return (yield* outbox.attempts(intent?.id ?? ""))[0]?.sends
          })
          yield* rounds(options, sandbox, 3, new Set(["submit", "confirm"]))
          yield* arm(client, { operation: "submit", kind: "http_status", status: 503 })
          yield* submitOnce()
          yield* disarm(client)
          assert.strictEqual(yield* sends, 1)
          const until = (yield* Clock.currentTimeMillis) + 20_000
          yield* (yield* Controls).pause({ scope: "party:alice", reason: "looks", author: "ana", until })
          for (let i = 0; i < 8; i++) {
            yield* round(options, sandbox, new Set(["submit"]))
            ahead = 2 * hour
            yield* submitOnce()
            assert.lengthOf((yield* readView()).pauses, 1, "what holds it is shown")
            ahead = 0
          }
          assert.strictEqual(yield* sends, 1)
          assert.deepStrictEqual(yield* paid(sandbox), [])
          for (let i = 0; i < 40 && (yield* paid(sandbox)).length === 0; i++) yield* round(options, sandbox)
          yield* pass(sandbox, 10, round(options, sandbox))
          assert.lengthOf(yield* paid(sandbox), 1)
        },
        {
          clock: (network) => ({
            ...network,
            currentTimeMillisUnsafe: () => network.currentTimeMillisUnsafe() + ahead,
            currentTimeMillis: Effect.map(network.currentTimeMillis, (now) => now + ahead),
          }),
        },
      )
    }),
  )

  it.effect("proves no absence", () =>
    flow(function* (options, sandbox, client) {
      const outbox = yield* Outbox
      const first = Effect.gen(function* () {
        const [intent] = yield* outbox.recent(1)
        return (yield* outbox.attempts(intent?.id ?? ""))[0]?.state
      })
      yield* rounds(options, sandbox, 3, new Set(["submit", "confirm"]))
      const fault = { operation: "submit", kind: "http_status", status: 503 }
      yield* request(client, "/sandbox/faults", { body: JSON.stringify(fault) })
      yield* rounds(options, sandbox, 4, new Set(["decide"]))
      yield* pass(sandbox, 130, round(options, sandbox, new Set(["decide", "poll"])))
      assert.strictEqual(yield* first, "unknown")
      yield* pass(sandbox, 60, round(options, sandbox, new Set(["decide"])))
      assert.strictEqual(yield* first, "expired")
    }),
  )

  for (const [what, setup] of [
    ["planned time that is dropped when it is late", { rules: [salary] }],
    ["time of those who must approve it", { line: { approval: "desk" }, more: deskFields() }],
  ] as const) {
    it.effect(`ends no payment: the ${what} runs on once it is right again`, () =>
      flow(function* (options, sandbox) {
        const outbox = yield* Outbox
        yield* rounds(options, sandbox, 3)
        yield* (yield* Controls).pause({ scope: "all", reason: "looks", author: "ana", until: undefined })
        yield* TestClock.adjust("1 minute")
        yield* (yield* Controls).resume({ scope: "all", reason: "looked", author: "ana" })
        yield* rounds(options, sandbox, 3, new Set(["submit", "confirm"]))
        yield* (yield* Controls).pause({ scope: "all", reason: "looks", author: "ana", until: undefined })
        yield* submitOnce()
        const before = yield* outbox.open
        assert.isNotEmpty(before)
        const now = yield* Clock.currentTimeMillis
        yield* TestClock.setTime(now + 72 * hour)
        for (let i = 0; i < 3; i++) yield* submitOnce()
        assert.deepStrictEqual(
          (yield* outbox.open).map(({ id, state }) => [id, state]),
          before.map(({ id, state }) => [id, state]),
        )
        yield* TestClock.setTime(now + 72 * hour)
        yield* rounds(options, sandbox, 2)
        assert.isEmpty(yield* outbox.open, "with blocks of that time it is over")
      }, setup),
    )
  }

  it.effect("asks the approvers again where a payment was handed in ahead of the right time", () =>
    flow(
      function* (options, sandbox) {
        const now = yield* Clock.currentTimeMillis
        yield* TestClock.setTime(now + 72 * hour)
        const transfer = { from: "alice", to: "eve", asset: "USDT", amount: "150" }
        const body = { idempotencyKey: "a", author: "zoe", transfer }
        const { intentId } = yield* submitPayment(options.treasury, "live", body)
        yield* TestClock.setTime(now)
        yield* rounds(options, sandbox, 4, new Set(["decide"]))
        const intent = Option.getOrThrow(yield* (yield* Outbox).byId(intentId))
        const { text } = approvalOf(options.treasury, intent) ?? assert.fail()
        for (const name of ["ana", "ben"]) {
          yield* approve(options.treasury, intentId, { signature: operatorSigns(name, text) })
        }
        yield* rounds(options, sandbox, 6, new Set(["decide"]))
        assert.lengthOf(yield* paid(sandbox), 1)
      },
      { line: { approval: "desk" }, more: deskFields() },
    ),
  )

  it.effect("calls people in time to a payment that was handed in ahead of the right time, and waits", () =>
    flow(function* (options, sandbox) {
      const now = yield* Clock.currentTimeMillis
      yield* TestClock.setTime(now + 72 * hour)
      const transfer = { from: "alice", to: "eve", asset: "USDT", amount: "150" }
      yield* submitPayment(options.treasury, "live", { idempotencyKey: "a", transfer })
      yield* alertOverdue()
      yield* TestClock.setTime(now)
      yield* (yield* Controls).pause({ scope: "party:alice", reason: "looks", author: "ana", until: undefined })
      const sql = yield* SqlClient.SqlClient
      const called = Effect.map(sql`SELECT severity FROM alerts WHERE kind = 'intent' ORDER BY seq`, (rows) =>
        rows.map(({ severity }) => severity),
      )
      const turn = Effect.andThen(round(options, sandbox, new Set(["decide"])), alertOverdue())
      yield* Effect.repeat(turn, { times: 2 })
      assert.deepStrictEqual(yield* called, [])
      yield* TestClock.adjust("61 minutes")
      yield* Effect.repeat(turn, { times: 2 })
      assert.deepStrictEqual(yield* called, ["ticket"])
      yield* TestClock.adjust("24 hours")
      yield* Effect.repeat(turn, { times: 2 })
      assert.deepStrictEqual(yield* called, ["ticket", "ticket", "page"])
    }),
  )
})
