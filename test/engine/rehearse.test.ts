import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { ConfigInForce, CycleConfig } from "../../src/config/ConfigInForce.ts"
import { reportTrials } from "../../src/engine/report.ts"
import { submitPayment } from "../../src/engine/submitPayment.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { bob, flow, paid, round, states } from "../support/Flow.ts"
import { it } from "../support/it.ts"
import { one, usdt } from "../support/TestSandbox.ts"
import { waitUntil } from "../support/until.ts"

/** Everything that was decided, but when. */
const decisions = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<Record<string, string>>`SELECT rule, subject, decision, reason, detail FROM decisions ORDER BY seq`,
)
const details = Effect.map(
  Effect.flatMap(RuleStates, (store) => store.all),
  (all) => Object.fromEntries(all.map((m) => [m.rule, `${m.reason ?? m.state}: ${m.detail}`])),
)

describe("a treasury that rehearses", () => {
  it.effect("counts its rehearsed payment in the balance until there is a new need", () =>
    flow(
      function* (options, sandbox) {
        for (let i = 0; i < 12; i++) yield* round(options, sandbox)
        assert.deepStrictEqual(yield* states, ["rehearsed"])
        assert.deepStrictEqual(yield* details, { "keep-bob": "in_band: 200.00 (trigger 100)" })
        assert.lengthOf(yield* paid(sandbox), 0)
        const [rehearsal] = yield* (yield* RuleStates).trials(["keep-bob"])
        assert.strictEqual(rehearsal?.payments, 1)
        assert.isAbove(Number(rehearsal?.moved.get(`${bob}|${usdt}`) ?? 0n), 0)
      },
      { mode: "shadow" },
    ),
  )

  it.effect("delays no payment by the cooldown of what it rehearsed", () =>
    flow(
      function* (options, sandbox) {
        for (let i = 0; i < 5; i++) yield* round(options, sandbox)
        assert.deepStrictEqual(yield* states, ["rehearsed"])
        const live = { ...(yield* CycleConfig), mode: "live" as const }
        yield* (yield* ConfigInForce).replace(live, Effect.void)
        for (let i = 0; i < 3; i++) {
          yield* round(options, sandbox, new Set(["submit"])).pipe(Effect.provideService(CycleConfig, live))
        }
        assert.deepStrictEqual(yield* states, ["proposed", "rehearsed"])
      },
      { mode: "shadow", keepBob: { cooldown: "1h" } },
    ),
  )

  it.effect("decides the same, byte by byte, in every mode until its first payment", function* () {
    const said: Array<string> = []
    for (const mode of ["live", "shadow", "observe"]) {
      yield* flow(
        function* (options, sandbox) {
          const intents = Effect.flatMap(Outbox, ({ recent }) => recent(1))
          const isDecided = Effect.map(intents, (all) => all.length > 0)
          yield* waitUntil("an intent", isDecided, round(options, sandbox))
          said.push(JSON.stringify(yield* decisions))
        },
        { mode },
      )
    }
    assert.include(said[0], '"act"')
    assert.deepStrictEqual(said, [said[0], said[0], said[0]])
  })
})

describe("a rule on trial", () => {
  const trial = [
    {
      name: "try-eve",
      mode: "shadow",
      topUp: { from: "alice", levels: [{ party: "eve", asset: "USDT", below: "100", target: "190" }] },
    },
    {
      name: "ask-alice",
      mode: "shadow",
      request: { from: "bob", to: "alice", asset: "USDT", below: "100_000", target: "200_000" },
    },
  ]

  it.effect("decides beside those that pay, takes nothing from them, and asks nobody", () =>
    flow(
      function* (options, sandbox) {
        const transfer = { from: "alice", to: "eve", asset: "USDT", amount: "40" }
        yield* submitPayment(options.treasury, "live", { idempotencyKey: "welcome", transfer })
        for (let i = 0; i < 12; i++) yield* round(options, sandbox)
        const intents = yield* (yield* Outbox).recent(9)
        assert.sameDeepMembers(
          intents.map(({ rule, state }) => `${rule} ${state}`),
          ["submit confirmed", "keep-bob confirmed", "try-eve rehearsed"],
        )
        assert.strictEqual(yield* sandbox.ledger.balance("eve", "USDT"), 40n * one)
        assert.include((yield* details)["try-eve"], "in_band: 190.00")
        assert.include((yield* details)["ask-alice"], "acting: ")
        const alerts = (yield* (yield* AlertQueue).due(99)).filter(({ kind }) => kind === "request")
        assert.lengthOf(alerts, 0)
      },
      { rules: trial },
    ),
  )

  it.effect("is reported once a week, with what it would have moved", () =>
    flow(
      function* (options, sandbox) {
        const told = Effect.map(
          Effect.flatMap(AlertQueue, (queue) => queue.due(99)),
          (due) => due.filter(({ kind }) => kind === "trial").map(({ subject, detail }) => `${subject} ${detail}`),
        )
        const transfer = { from: "alice", to: "eve", asset: "USDT", amount: "40" }
        yield* submitPayment(options.treasury, "live", { idempotencyKey: "welcome", transfer })
        yield* reportTrials()
        for (let i = 0; i < 12; i++) yield* round(options, sandbox)
        yield* reportTrials()
        assert.deepStrictEqual(yield* told, [])
        yield* TestClock.adjust("7 days")
        for (let i = 0; i < 2; i++) yield* reportTrials()
        assert.deepStrictEqual(yield* told, [
          "try-eve would have made 1 payment since 2027-01-15: alice -150.15 USDT, eve +150.00 USDT",
          "ask-alice would have paid nothing since 2027-01-15",
        ])
      },
      { rules: trial },
    ),
  )
})
