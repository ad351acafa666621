import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { ConfigInForce, CycleConfig } from "../../src/config/ConfigInForce.ts"
import { decideOnce } from "../../src/engine/Engine.ts"
import { submitPayment } from "../../src/engine/submitPayment.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { flow, paid, round, states } from "../support/Flow.ts"
import { reasons } from "../support/Intents.ts"
import { one } from "../support/TestSandbox.ts"

const proposed = new Set(["submit", "confirm"])
const eveRule = (priority: number) => ({
  name: "keep-eve",
  topUp: { from: "alice", levels: [{ party: "eve", asset: "USDT", below: "100", target: "190" }] },
  priority,
})
/** Eve has an account once someone pays her. */
const welcome = (amount: string) => ({
  idempotencyKey: "welcome",
  transfer: { from: "alice", to: "eve", asset: "USDT", amount },
})

describe("deciding", () => {
  for (const [priority, winner, loser] of [
    [1, "keep-eve", "keep-bob"],
    [900, "keep-bob", "keep-eve"],
  ] as const) {
    it.effect(`gives scarce money to the rule whose priority number is lower: ${winner}`, () =>
      flow(
        function* (options, sandbox) {
          yield* submitPayment(options.treasury, "live", welcome("40"))
          for (let i = 0; i < 5; i++) yield* round(options, sandbox, new Set(["decide"]))
          assert.deepStrictEqual(yield* states, ["confirmed"])
          for (let i = 0; i < 3; i++) yield* round(options, sandbox, proposed)
          assert.deepStrictEqual(yield* reasons, { [winner]: "in_flight", [loser]: "yielded" })
          const open = yield* (yield* Outbox).open
          assert.deepStrictEqual(
            open.map((i) => i.rule),
            [winner],
          )
        },
        { alice: { floor: { USDT: "700" } }, rules: [eveRule(priority)] },
      ),
    )
  }

  it.effect("is durable once: an unchanged need pays and writes nothing more", () =>
    flow(function* (options, sandbox) {
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, proposed)
      assert.deepStrictEqual(yield* states, ["proposed"])
      yield* decideOnce()
      const before = (yield* (yield* Journal).head).seq
      for (let i = 0; i < 5; i++) {
        yield* TestClock.adjust("1 second")
        yield* decideOnce()
      }
      assert.deepStrictEqual(yield* states, ["proposed"])
      assert.strictEqual((yield* (yield* Journal).head).seq, before)
      assert.deepStrictEqual(yield* reasons, { "keep-bob": "in_flight" })
    }),
  )

  it.effect("counts each need as its own episode with its own id", () =>
    flow(function* (options, sandbox) {
      for (let i = 0; i < 6; i++) yield* round(options, sandbox)
      assert.deepStrictEqual(yield* states, ["confirmed"])
      const first = (yield* (yield* Outbox).recent(1))[0]
      const [memory] = yield* (yield* RuleStates).all
      assert.strictEqual(memory?.episode, 1)
      assert.strictEqual(first?.episode, 1)
      for (let i = 0; i < 5; i++) yield* round(options, sandbox)
      assert.strictEqual((yield* paid(sandbox)).length, 1, "in band: silent")
      assert.strictEqual(yield* sandbox.ledger.balance("bob", "USDT"), 200n * one)
    }),
  )

  it.effect("pays in live mode what was only rehearsed before", () =>
    flow(
      function* (options, sandbox) {
        for (let i = 0; i < 5; i++) yield* round(options, sandbox, proposed)
        assert.deepStrictEqual(yield* states, ["rehearsed"])
        const live = { ...(yield* CycleConfig), mode: "live" as const }
        yield* (yield* ConfigInForce).replace(live, Effect.void)
        yield* TestClock.adjust("10 minutes")
        for (let i = 0; i < 3; i++) {
          yield* round(options, sandbox, proposed).pipe(Effect.provideService(CycleConfig, live))
        }
        assert.deepStrictEqual(yield* states, ["proposed", "rehearsed"])
      },
      { mode: "observe" },
    ),
  )

  it.effect("accepts a person's key again for the identical payment only", () =>
    flow(function* (options) {
      const transfer = { from: "alice", to: "bob", asset: "USDT", amount: "20" }
      const ask = (change: Partial<typeof transfer>) =>
        submitPayment(options.treasury, "live", { idempotencyKey: "k", transfer: { ...transfer, ...change } })
      yield* ask({})
      for (const change of [{ from: "carol" }, { to: "eve" }, { asset: "VEGA" }, { amount: "20.000001" }]) {
        assert.include((yield* Effect.flip(ask(change))).message, "another payment (20.00 USDT alice -> bob)")
      }
      assert.isFalse((yield* ask({ amount: "20.00" })).created)
    }),
  )

  it.effect("refuses a person's payment below the least that the network transfers", () =>
    flow(function* (options, sandbox) {
      yield* round(options, sandbox, new Set(["decide"]))
      assert.containSubset(yield* Effect.flip(submitPayment(options.treasury, "live", welcome("0.09"))), {
        message: "0.09 USDT is below 0.10 USDT, the least that the network transfers",
        byPolicy: true,
      })
      assert.deepStrictEqual(yield* states, [])
      assert.isTrue((yield* submitPayment(options.treasury, "live", welcome("0.10"))).created)
    }),
  )

  it.effect("names every mistake of a person's payment at once, and what is known instead", () =>
    flow(function* (options) {
      const refused = (transfer: Record<"from" | "to" | "asset" | "amount", string>) =>
        Effect.flip(submitPayment(options.treasury, "live", { idempotencyKey: "k", transfer }))
      const parties = [...options.treasury.parties.keys()].join(", ")
      assert.containSubset(yield* refused({ from: "alic", to: "bobby", asset: "USD", amount: "1.000" }), {
        message: `"alic" is not a party; known: ${parties}\n"bobby" is not a party; known: ${parties}\n"USD" is not pinned`,
        remedy: `known: ${[...options.treasury.assets.keys()].join(", ")}`,
      })
      assert.containSubset(yield* refused({ from: "bob", to: "alice", asset: "USDT", amount: "1.000" }), {
        message: 'bob has no signer; name a party that can pay\n"1.000" may mean 1.000 or 1,000: write "1" or "1_000"',
      })
      assert.containSubset(yield* refused({ from: "alice", to: "alice", asset: "USDT", amount: "1" }), {
        message: "alice would pay itself",
        remedy: "name another party",
      })
    }),
  )

  it.effect("refuses a person's payment without the money for it at once, by fresh balances alone", () =>
    flow(
      function* (options, sandbox) {
        yield* round(options, sandbox, new Set(["decide"]))
        const ask = submitPayment(options.treasury, "live", welcome("101"))
        assert.match(
          (yield* Effect.flip(ask)).message,
          /^alice is short: 1,000\.00 USDT can be spent; the payment needs .* the floor of 900\.00$/,
        )
        assert.deepStrictEqual(yield* states, [])
        yield* TestClock.adjust("10 minutes")
        assert.isTrue((yield* ask).created)
      },
      { alice: { floor: { USDT: "900" } }, rules: [eveRule(1)] },
    ),
  )

  it.effect("stops on knowledge that has grown old, in words that stay true", () =>
    flow(function* (options, sandbox) {
      yield* round(options, sandbox, proposed)
      yield* TestClock.adjust("10 minutes")
      yield* decideOnce()
      const [memory] = yield* (yield* RuleStates).all
      assert.strictEqual(memory?.reason, "stale")
      assert.match(memory?.detail ?? "", /^the newest final block is older than 30\.0 s$/)
      assert.deepStrictEqual(yield* states, [])
    }),
  )
})
