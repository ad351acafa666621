import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { dayOf } from "../../src/engine/snapshot.ts"
import { submitPayment } from "../../src/engine/submitPayment.ts"
import { exposeMetrics } from "../../src/http/exposeMetrics.ts"
import type { DaemonOptions } from "../../src/layers.ts"
import { payersOf, pollWorkAndEpoch } from "../../src/poller/pollNetwork.ts"
import type { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { ChainState } from "../../src/store/network/ChainState.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { alice, flow, round, withdrawing } from "../support/Flow.ts"
import { reasons } from "../support/Intents.ts"
import { intentOf } from "../support/Payments.ts"
import { arm, disarm } from "../support/TestFaults.ts"

const look = ({ treasury }: DaemonOptions) => pollWorkAndEpoch(payersOf(treasury.parties.values()))
const quota = Effect.flatMap(ChainState, (state) => state.quota(alice))
const steps = Effect.fnUntraced(function* (options: DaemonOptions, sandbox: Sandbox["Service"], count: number) {
  for (let i = 0; i < count; i++) {
    yield* look(options)
    yield* round(options, sandbox)
  }
})
const confirmed = Effect.map(
  Effect.flatMap(Outbox, (outbox) => outbox.recent(20)),
  (all) => all.filter((i) => i.state === "confirmed").map((i) => i.rule),
)
const payment = (idempotencyKey: string) => ({
  idempotencyKey,
  transfer: { from: "alice", to: "eve", asset: "USDT", amount: "1" },
})

describe("the network's transfers of an epoch", () => {
  it.effect("are shared by priority, keep some for people, and reset each epoch", () =>
    flow(
      function* (options, sandbox) {
        const submit = (name: string) => submitPayment(options.treasury, "live", payment(name))
        assert.containSubset(yield* quota, { limit: 5, used: 0 })
        yield* submit("first")
        yield* steps(options, sandbox, 9)
        assert.deepStrictEqual((yield* confirmed).toSorted(), ["keep-bob", "keep-eve", "submit"])
        assert.deepStrictEqual(yield* reasons, { "keep-bob": "in_band", "keep-eve": "in_band", skim: "quota" })
        const memory = (yield* (yield* RuleStates).all).find((m) => m.rule === "skim")
        assert.include(memory?.detail ?? "", "alice used 3 of 5 transfers of this epoch, 2 are kept for people")
        assert.containSubset(yield* quota, { limit: 5, used: 3 })
        const metrics = yield* exposeMetrics(options.treasury)
        assert.include(metrics, 'cofferer_epoch_transfers_used{treasury="flow",party="alice"} 3')
        assert.include(metrics, 'cofferer_epoch_transfers_limit{treasury="flow",party="alice"} 5')
        yield* submit("second")
        yield* submit("third")
        yield* TestClock.adjust(1)
        yield* submit("fourth")
        yield* steps(options, sandbox, 6)
        const open = yield* (yield* Outbox).open
        assert.deepStrictEqual(
          open.map(({ subject, state, detail }) => [subject, state, detail]),
          [["fourth", "reserved", "waits: alice used 5 of 5 transfers of this epoch"]],
          "what was kept is used, and one more waits unsigned",
        )
        yield* TestClock.adjust("1 hour")
        yield* steps(options, sandbox, 10)
        assert.deepStrictEqual(yield* (yield* Outbox).open, [])
        assert.deepStrictEqual(yield* reasons, { "keep-bob": "in_band", "keep-eve": "in_band", skim: "in_band" })
        assert.containSubset(yield* quota, { limit: 5, used: 2 })
      },
      {
        scenario: { transfersPerEpoch: 5, epochLength: "1h" },
        alice: { transfersKept: 2 },
        rules: [
          {
            name: "keep-eve",
            topUp: { from: "alice", levels: [{ party: "eve", asset: "USDT", below: "5", target: "20" }] },
            priority: 200,
          },
          {
            name: "skim",
            sweep: { from: "alice", to: "eve", asset: "USDT", above: "700", target: "650" },
            priority: 900,
          },
        ],
        transfersPer24h: 20,
      },
    ),
  )
})

it.effect("the count of an epoch that is over says nothing of the next one", () =>
  flow(
    function* (options, sandbox, client) {
      yield* submitPayment(options.treasury, "live", payment("first"))
      yield* steps(options, sandbox, 8)
      assert.containSubset(yield* quota, { limit: 5, used: 2 })
      yield* arm(client, { operation: "spam", kind: "http_status", status: 503, count: 100_000 })
      yield* TestClock.adjust("1 hour")
      yield* steps(options, sandbox, 3)
      assert.deepStrictEqual((yield* (yield* ChainState).epoch)?.told, {})
      yield* disarm(client)
    },
    { scenario: { transfersPerEpoch: 5, epochLength: "1h" } },
  ),
)

describe("a withdrawal", () => {
  it.effect("is paid where no transfers of the epoch are left", () =>
    flow(
      function* (options, sandbox) {
        yield* steps(options, sandbox, 8)
        assert.deepStrictEqual(yield* reasons, { "to-vault": "in_band", "keep-bob": "quota" })
        assert.deepStrictEqual(yield* confirmed, ["to-vault"])
      },
      { ...withdrawing, scenario: { transfersPerEpoch: 5, epochLength: "1h" }, alice: { transfersKept: 5 } },
    ),
  )
})

it("limits of decisions count 24 hours before the clock or the newest block, whichever is earlier", () => {
  const now = 1_800_000_000_000
  const since = [dayOf([], now, now - 9_000), dayOf([], now - 9_000, now)].map((one) => one.since)
  assert.deepStrictEqual(since, Array(2).fill(now - 9_000 - 86_400_000))
})

it("the signatures of what is reserved again, or is with its approvers again, count once in the limits", () => {
  const open = (["reserved", "awaiting_approval", "in_flight"] as const).map((state) => intentOf(state, { state }))
  const { except } = dayOf(open, 1_800_000_000_000, 1_800_000_000_000)
  assert.deepStrictEqual(
    open.filter(({ id }) => except.has(id)).map(({ state }) => state),
    ["reserved", "awaiting_approval"],
  )
})
