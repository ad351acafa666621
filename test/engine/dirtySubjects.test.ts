import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { DirtySubjects } from "../../src/engine/DirtySubjects.ts"
import { decideOnce } from "../../src/engine/Engine.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { flow, reason, round, states } from "../support/Flow.ts"
import { rounds, ruleState } from "../support/Intents.ts"
import { wageAt, wages } from "../support/LoneLiar.ts"
import { head, payment, signed, submit } from "../support/TestClient.ts"
import { one, usdt } from "../support/TestSandbox.ts"

const quiet = new Set(["decide", "submit", "confirm"])
const calm = Effect.fnUntraced(function* (options: Parameters<typeof round>[0], sandbox: Parameters<typeof round>[1]) {
  for (let i = 0; i < 7; i++) yield* round(options, sandbox)
  assert.deepStrictEqual([yield* states, yield* reason], [["confirmed"], "in_band"])
})
/** How often the first rule was looked at in one round. */
const looks = Effect.gen(function* () {
  const dirty = yield* DirtySubjects
  let count = 0
  const counting = DirtySubjects.of({
    ...dirty,
    evaluated: (outcomes) => {
      count += outcomes.length
      dirty.evaluated(outcomes)
    },
  })
  yield* decideOnce().pipe(Effect.provideService(DirtySubjects, counting))
  return count
})

describe("a round of decisions", () => {
  it.effect("evaluates no account at rest, and each whose balance changed", () =>
    flow(function* (options, sandbox, client) {
      yield* calm(options, sandbox)
      assert.strictEqual(yield* looks, 0)
      const command = payment(client, "eve", 150n * one, { asset: usdt })
      yield* submit(client, signed(client, { from: "bob", command, ...(yield* head(client)) }))
      for (let i = 0; i < 2; i++) yield* round(options, sandbox, quiet)
      assert.strictEqual(yield* looks, 1)
      assert.strictEqual(yield* looks, 1, "not at rest any more")
      for (let i = 0; i < 5; i++) yield* round(options, sandbox)
      assert.deepStrictEqual(yield* states, ["confirmed", "confirmed"])
    }),
  )

  it.effect("evaluates everything when something stops all rules, and when it ends", () =>
    flow(function* (options, sandbox) {
      yield* calm(options, sandbox)
      const controls = yield* Controls
      yield* controls.pause({ scope: "rule:keep-bob", reason: "audit", author: "ana", until: undefined })
      assert.strictEqual(yield* looks, 1)
      assert.strictEqual(yield* reason, "paused")
      yield* controls.resume({ scope: "rule:keep-bob", reason: "done", author: "ana" })
      assert.strictEqual(yield* looks, 1)
      assert.strictEqual(yield* reason, "in_band")
    }),
  )

  it.effect("evaluates everything once what rules remember was read again", () =>
    flow(function* (options, sandbox) {
      yield* calm(options, sandbox)
      yield* (yield* RuleStates).forget
      assert.strictEqual(yield* looks, 1)
      assert.strictEqual(yield* looks, 0)
    }),
  )

  it.effect("evaluates everything when clock and blocks agree again, also where rules take older balances", () =>
    flow(
      function* (options, sandbox) {
        yield* rounds(options, sandbox, 6, new Set(["decide"]))
        yield* TestClock.adjust("2 minutes")
        yield* decideOnce()
        assert.strictEqual((yield* ruleState("wage"))?.episode, 0, "nothing is concluded by such a clock")
        yield* rounds(options, sandbox, 3)
        assert.isAbove((yield* ruleState("wage"))?.episode ?? 0, 0)
        yield* TestClock.adjust("8 minutes")
        yield* rounds(options, sandbox, 9)
        assert.deepStrictEqual(yield* wages, ["confirmed"])
      },
      { rules: [{ ...wageAt("10 8 15 * *"), maxAge: "1h" }], keepBob: { maxAge: "1h" } },
    ),
  )

  it.effect("forgets what a failed transaction wanted to remember", () =>
    flow(function* (options, sandbox) {
      for (let i = 0; i < 2; i++) yield* round(options, sandbox, quiet)
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TRIGGER full BEFORE INSERT ON decisions BEGIN SELECT RAISE(ABORT, 'full'); END`
      assert.strictEqual((yield* Effect.exit(decideOnce()))._tag, "Failure")
      assert.deepStrictEqual(yield* (yield* RuleStates).all, [])
      yield* sql`DROP TRIGGER full`
      yield* decideOnce()
      assert.strictEqual(yield* reason, "pending")
    }),
  )
})
