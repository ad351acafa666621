import { assert, describe, it } from "@effect/vitest"
import { TestClock } from "effect/testing"
import { deliverOnce } from "../../src/alerts/AlertLoop.ts"
import { exposeMetrics } from "../../src/http/exposeMetrics.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { raise } from "../../src/store/alerts/raise.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { flow, round, states } from "../support/Flow.ts"
import { noReminders } from "../support/noReminders.ts"

const series = (text: string, name: string): ReadonlyArray<string> =>
  [...text.matchAll(new RegExp(`^cofferer_${name}(?:\\{(.*)\\})? (.*)$`, "gm"))].map(([, labels, value]) =>
    `${(labels ?? "").replace('treasury="flow",', "")} ${value}`.trim(),
  )

describe("what is scraped", () => {
  it.effect("counts a payment with its amount, its fee, its signature and its stages", () =>
    flow(function* (options, sandbox) {
      for (let i = 0; i < 6; i++) yield* round(options, sandbox)
      assert.deepStrictEqual(yield* states, ["confirmed"])
      const text = yield* exposeMetrics(options.treasury)
      assert.include(series(text, "intents_finished_total"), 'outcome="confirmed" 1')
      assert.include(series(text, "paid_amount_total"), 'asset="USDT" 150')
      assert.include(series(text, "fees_paid_total"), 'asset="USDT" 0.15')
      assert.include(series(text, "signer_requests_total"), 'decision="permitted",reason="none" 1')
      assert.deepStrictEqual(series(text, "stage_duration_seconds_count"), [
        'stage="sign" 1',
        'stage="include" 1',
        'stage="total" 1',
      ])
    }),
  )

  it.effect("shows the band of an account, and for how long it is left", () =>
    flow(function* (options, sandbox) {
      yield* round(options, sandbox, new Set(["decide"]))
      const text = yield* exposeMetrics(options.treasury)
      const levels = series(text, "account_level").filter((line) => line.includes('party="bob"'))
      assert.deepStrictEqual(levels, [
        'party="bob",asset="USDT",level="below",rule="keep-bob" 100',
        'party="bob",asset="USDT",level="target",rule="keep-bob" 200',
      ])
      assert.isTrue(series(text, "account_out_of_band_seconds").includes('party="bob",asset="USDT" 0'))
      assert.include(series(text, "assets"), 'status="rejected" 0')
    }),
  )

  it.effect("forgets a receiver that the file no longer names, once nothing waits for it", () =>
    flow(function* (options) {
      yield* raise("test", { treasury: "flow", author: "ana", at: 0 }, ["gone"])
      yield* TestClock.adjust("10 minutes")
      const waiting = yield* exposeMetrics(options.treasury)
      assert.include(series(waiting, "alerts_pending"), 'receiver="gone" 1')
      assert.include(series(waiting, "alert_oldest_pending_seconds"), 'receiver="gone" 600')
      yield* deliverOnce("flow", noReminders)
      const given = yield* exposeMetrics(options.treasury)
      for (const name of ["alerts_pending", "alert_oldest_pending_seconds"])
        assert.deepStrictEqual(series(given, name), ['receiver="log" 0'])
    }),
  )

  it.effect("has no account that a changed file does not name", () =>
    flow(function* (options, sandbox) {
      yield* round(options, sandbox, new Set(["decide"]))
      const parties = new Map([...options.treasury.parties].filter(([name]) => name !== "bob"))
      for (const [treasury, isThere] of [
        [options.treasury, true] as const,
        [{ ...options.treasury, parties }, false] as const,
      ]) {
        const text = yield* exposeMetrics(treasury)
        for (const name of ["account_balance", "observation_age_seconds", "reconcile_drift"]) {
          assert.strictEqual(
            series(text, name).some((line) => line.startsWith('party="bob"')),
            isThere,
            name,
          )
        }
      }
    }),
  )

  it.effect("counts pauses by what they cover, and the age of what no receiver took", () =>
    flow(function* (options) {
      const pause = { reason: "drill", author: "ana", until: undefined }
      yield* (yield* Controls).pause({ scope: "rule:keep-bob", ...pause })
      yield* (yield* Controls).pause({ scope: "all", ...pause })
      const alert = { severity: "ticket", kind: "intent", subject: "a", detail: "b", fields: {} } as const
      yield* (yield* AlertQueue).raise({ dedup: "a", ...alert })
      yield* TestClock.adjust("90 seconds")
      const text = yield* exposeMetrics(options.treasury)
      const pauses = series(text, "pauses").filter((line) => line.endsWith(" 1"))
      assert.deepStrictEqual(pauses, ['scope="all" 1', 'scope="rule" 1'])
      assert.deepStrictEqual(series(text, "alert_oldest_pending_seconds"), ['receiver="log" 90'])
    }),
  )
})
