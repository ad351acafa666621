import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { decideOnce } from "../../src/engine/Engine.ts"
import type { DaemonOptions } from "../../src/layers.ts"
import { pruneHourly } from "../../src/poller/BalancePoller.ts"
import { payersOf, pollParameters, pollWorkAndEpoch } from "../../src/poller/pollNetwork.ts"
import type { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { addSilence, silencesNow } from "../../src/store/alerts/silences.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { watchDebits } from "../../src/submitter/audit/watchDebits.ts"
import { alice, flow } from "../support/Flow.ts"
import { halts, rounds, ruleState } from "../support/Intents.ts"
import { life, reborn } from "../support/Lives.ts"
import { head, payment, signed, submit } from "../support/TestClient.ts"
import { one, usdt } from "../support/TestSandbox.ts"

const day = 86_400_000
/** 2027-01-15 08:00:00Z: flows begin here. */
const start = 1_800_000_000_000
const payday = {
  name: "salary",
  payout: { from: "alice", to: "bob", asset: "USDT", amount: "10" },
  schedule: { cron: "0 12 * * *", location: "UTC", missed: "skip" },
}
const salaries = Effect.map(
  Effect.flatMap(Outbox, (outbox) => outbox.recent(100)),
  (all) => all.filter(({ rule }) => rule === "salary").map(({ episode }) => new Date(episode * 1_000).toISOString()),
)

/** Looks of rules and of the hourly pruning while the clock says something else than the blocks. */
const wrongTime = Effect.fnUntraced(function* (options: DaemonOptions, at: number) {
  yield* TestClock.setTime(at)
  for (let i = 0; i < 3; i++) yield* decideOnce()
  yield* pruneHourly(options.treasury)
})

const paysToday = Effect.fnUntraced(function* (options: DaemonOptions, sandbox: Sandbox["Service"]) {
  yield* TestClock.setTime(start + 4 * 3_600_000 + 10_000)
  yield* rounds(options, sandbox, 10)
  assert.deepStrictEqual(yield* salaries, ["2027-01-15T12:00:00.000Z"])
})

describe("a clock that is wrong for a while", () => {
  for (const [how, steps] of [
    ["ahead by days, then right", [3 * day]],
    ["behind by days, then right", [-3 * day]],
    ["behind, then ahead, then right", [-2 * day, 5 * day]],
  ] as const) {
    it.effect(`${how}: no payday is skipped, and no history forgotten`, () =>
      flow(
        function* (options, sandbox) {
          yield* rounds(options, sandbox, 3)
          const before = yield* (yield* Observations).accounts
          for (const step of steps) yield* wrongTime(options, start + step)
          assert.deepStrictEqual(yield* salaries, [])
          assert.deepStrictEqual(yield* (yield* Observations).accounts, before)
          yield* paysToday(options, sandbox)
        },
        { rules: [payday] },
      ),
    )
  }

  it.effect("does not stop the next process from paying if wrong at a start", () =>
    reborn(
      function* (options, sandbox) {
        yield* life(options, rounds(options, sandbox, 3))
        yield* TestClock.setTime(start + 3 * day)
        yield* life(options, wrongTime(options, start + 3 * day))
        yield* TestClock.setTime(start + 20_000)
        yield* life(options, paysToday(options, sandbox))
      },
      { rules: [payday] },
    ),
  )

  it.effect("silences no alert days later, when its time comes", () =>
    flow(function* (options, sandbox) {
      yield* rounds(options, sandbox, 3)
      const silence = {
        name: null,
        kind: "halt",
        subject: null,
        author: "ana",
        reason: "looks",
        until: start + 2 * day,
      }
      yield* wrongTime(options, start + day)
      yield* addSilence(silence)
      yield* TestClock.setTime(start + 3_700_000)
      yield* addSilence({ ...silence, reason: "right" })
      yield* rounds(options, sandbox, 3)
      yield* pruneHourly(options.treasury)
      yield* TestClock.setTime(start + day + 3_600_000)
      assert.deepStrictEqual(
        (yield* silencesNow).map(({ reason }) => reason),
        ["right"],
      )
    }),
  )

  it.effect("keeps no rule from counting as held for long, once it is right", () =>
    flow(
      function* (options, sandbox) {
        yield* rounds(options, sandbox, 3)
        yield* TestClock.setTime(start + day)
        yield* (yield* Controls).pause({ scope: "all", reason: "looks", author: "ana", until: undefined })
        yield* decideOnce()
        yield* TestClock.setTime(start + 60_000)
        yield* rounds(options, sandbox, 3)
        yield* TestClock.adjust("29 minutes")
        yield* rounds(options, sandbox, 3)
        assert.strictEqual((yield* ruleState("held-long"))?.state, "inactive")
        yield* TestClock.adjust("1 minute")
        yield* rounds(options, sandbox, 3)
        assert.strictEqual((yield* ruleState("held-long"))?.state, "acting")
      },
      { rules: [{ name: "held-long", notify: { when: { held: { rule: "keep-bob", longerThan: "30m" } } } }] },
    ),
  )

  it.effect("keeps nothing from being read when it is right again", () =>
    flow(function* ({ treasury }) {
      const settings = yield* Settings
      const readAt = Effect.forEach(["parametersReadAt", "headReadAt", "epochReadAt"], settings.get)
      const read = Effect.andThen(pollWorkAndEpoch(payersOf(treasury.parties.values())), pollParameters())
      yield* TestClock.setTime(start + 3 * day)
      yield* read
      assert.deepStrictEqual(yield* readAt, Array(3).fill(String(start + 3 * day)))
      yield* TestClock.setTime(start + 60_000)
      yield* read
      assert.deepStrictEqual(yield* readAt, Array(3).fill(String(start + 60_000)))
      yield* TestClock.setTime(start + 90_000)
      yield* read
      assert.deepStrictEqual(yield* readAt, Array(3).fill(String(start + 60_000)), "once a minute")
    }),
  )

  // Behind the error an own payment of the last minute may explain as much as it took itself, once.
  const unwatched = [
    ["while it is wrong", 5n, undefined],
    ["at a block with a time to come", 200n, BigInt(start + 30 * day) * 1_000_000n],
  ] as const

  it.effect.each(unwatched)("leaves no key unwatched that began to be watched %s", ([, amount, until]) =>
    flow(function* (options, sandbox, client) {
      const settings = yield* Settings
      const observations = yield* Observations
      yield* rounds(options, sandbox, 3, new Set(["reconcile", "decide"]))
      yield* TestClock.setTime(start + 3 * day)
      yield* watchDebits(alice, yield* observations.accounts)
      yield* TestClock.setTime(start + 30_000)
      yield* rounds(options, sandbox, 12)
      const stored: { readonly until: string } = JSON.parse((yield* settings.get(`debits/${alice}`)) ?? "{}")
      const left = { ...stored, until: String(until ?? stored.until) }
      yield* settings.set(`debits/${alice}`, JSON.stringify(left))
      yield* rounds(options, sandbox, 2)
      const command = payment(client, "eve", amount * one, { asset: usdt })
      yield* submit(client, signed(client, { from: "alice", command, ...(yield* head(client)) }))
      yield* rounds(options, sandbox, 2, new Set(["reconcile"]))
      yield* watchDebits(alice, yield* observations.accounts)
      assert.deepStrictEqual(yield* halts, ["foreign_payment"])
    }),
  )
})
