import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { viewText } from "../../src/cli/status.ts"
import { decideOnce } from "../../src/engine/Engine.ts"
import { exposeMetrics } from "../../src/http/exposeMetrics.ts"
import { reconcileNow } from "../../src/http/ledgerVerbs.ts"
import { readView } from "../../src/http/StatusView.ts"
import { watchHealth } from "../../src/http/watchHealth.ts"
import { Drifts } from "../../src/store/balances/Drifts.ts"
import { alertRows } from "../support/alertRows.ts"
import { type FlowSetup, flow, reason, round } from "../support/Flow.ts"
import { arm, disarm } from "../support/TestFaults.ts"
import { ticking } from "../support/ticking.ts"

const looking = new Set(["submit", "confirm", "reconcile"])
/** Bob loses one USDT with each block. */
const spending: FlowSetup = {
  network: { reconcile: "1s" },
  scenario: { spenders: [{ from: "bob", to: "eve", asset: "USDT", every: { blocks: 1, amount: "1" } }] },
}
const drifts = Effect.map(
  Effect.flatMap(Drifts, (store) => store.all),
  (all) => all.map(({ stored, reported }) => [stored, reported] as const),
)
const alerts = Effect.map(alertRows, (rows) =>
  rows
    .filter(({ kind }) => kind === "drift")
    .map(({ severity, subject }) => `${severity} ${subject}`)
    .toSorted(),
)

describe("comparing rows with the gateway's own balances", () => {
  it.effect("finds that they agree, while balances move with each block", () =>
    flow(function* (options, sandbox) {
      for (let i = 0; i < 8; i++) yield* round(options, sandbox, looking)
      assert.isTrue(yield* (yield* Drifts).isChecked)
      assert.deepStrictEqual(yield* drifts, [])
      assert.deepStrictEqual(yield* alerts, [])
      assert.notInclude(["catching_up", "drift"], yield* reason)
    }, spending),
  )

  it.effect("says catching up until it was done once since the start", () =>
    flow(function* (options, sandbox) {
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, new Set([...looking, "compare"]))
      assert.strictEqual(yield* reason, "catching_up")
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, looking)
      assert.notStrictEqual(yield* reason, "catching_up")
    }, spending),
  )

  it.effect("alerts once after five minutes of failures, shows it, and reports its return", () =>
    flow(function* (options, sandbox, client) {
      const told = Effect.gen(function* () {
        yield* watchHealth()
        return (yield* alertRows)
          .filter(({ subject }) => subject === "not compared")
          .map((a) => `${a.severity} ${a.detail}`)
      })
      const shown = readView()
      yield* round(options, sandbox, new Set([...looking, "compare"]))
      yield* arm(client, { operation: "accounts", kind: "reorganised_pages" })
      for (let i = 0; i < 8; i++) yield* round(options, sandbox, looking)
      assert.deepStrictEqual([yield* told, (yield* shown).uncompared], [[], null], "not yet")
      yield* TestClock.adjust("5 minutes")
      for (let i = 0; i < 12; i++) yield* round(options, sandbox, looking)
      const [ticket, ...others] = yield* told
      assert.match(ticket ?? "", /^ticket .*the listing has one account twice; no rule pays/)
      assert.deepStrictEqual(others, [])
      const view = yield* shown
      const words = view.conditions.map(({ text }) => text).join()
      assert.include(words, "Balances are not compared with the gateway's own since")
      assert.include(viewText(view), "the listing has one account twice")
      yield* disarm(client)
      for (let i = 0; i < 8; i++) yield* round(options, sandbox, looking)
      assert.match((yield* told).slice(1).join(), /^info over; it began at /)
      assert.isNull((yield* shown).uncompared)
    }, spending),
  )

  it.effect("reports drift after two differences, holds the rules, and ends on agreement", () =>
    flow(function* (options, sandbox, client) {
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, looking)
      yield* arm(client, { operation: "accounts", kind: "stale_read" })
      for (let i = 0; i < 8; i++) yield* round(options, sandbox, looking)
      assert.deepStrictEqual(yield* alerts, ["ticket bob/USDT", "ticket eve/USDT"])
      assert.strictEqual(yield* reason, "drift")
      assert.match(yield* exposeMetrics(options.treasury), /reconcile_drift\{[^}]*party="bob",asset="USDT"\} [1-9]/)
      assert.match(yield* exposeMetrics(options.treasury), /reconcile_drift\{[^}]*party="alice",asset="USDT"\} 0/)
      yield* disarm(client)
      for (let i = 0; i < 6; i++) yield* round(options, sandbox, looking)
      assert.deepStrictEqual(yield* drifts, [])
      assert.strictEqual((yield* alerts).filter((alert) => alert.startsWith("info")).length, 2)
      yield* decideOnce()
      assert.notStrictEqual(yield* reason, "drift")
    }, spending),
  )

  it.effect("holds nothing if the gateway reports no balances", () =>
    flow(
      function* (options, sandbox) {
        // More questions than its limit grants in a second of the test's clock.
        for (let i = 0; i < 12; i++) yield* ticking(round(options, sandbox, looking))
        assert.isTrue(yield* (yield* Drifts).isChecked)
        assert.deepStrictEqual(yield* drifts, [])
      },
      { ...spending, scenario: { ...spending.scenario, profile: "specification" } },
    ),
  )

  it.effect("tells a person who asks what differs, and what was compared", () =>
    flow(function* (options, sandbox, client) {
      const advance = round(options, sandbox, new Set([...looking, "decide", "compare"]))
      yield* advance
      const fine = yield* reconcileNow(options, advance)
      assert.deepStrictEqual(fine, { differences: [], accounts: 3, transfers: 0 })
      yield* arm(client, { operation: "accounts", kind: "stale_read" })
      for (let i = 0; i < 3; i++) yield* advance
      const { differences } = yield* reconcileNow(options, advance)
      assert.deepStrictEqual(differences.map(({ kind, subject }) => `${kind} ${subject}`).toSorted(), [
        "drift bob/USDT",
        "drift eve/USDT",
      ])
    }, spending),
  )
})
