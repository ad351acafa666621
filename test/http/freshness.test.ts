import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { decideOnce } from "../../src/engine/Engine.ts"
import { exposeMetrics } from "../../src/http/exposeMetrics.ts"
import { readView } from "../../src/http/StatusView.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { flow, round } from "../support/Flow.ts"
import { it } from "../support/it.ts"

const looking = new Set(["submit", "confirm", "reconcile"])
const reasons = Effect.map(
  Effect.flatMap(RuleStates, (store) => store.all),
  (all) => Object.fromEntries(all.map((m) => [m.rule, m.reason])),
)

describe("how fresh a balance is", () => {
  it.effect("is shown with block and source, and an unseen account is not empty", () =>
    flow(
      function* (options, sandbox) {
        for (let i = 0; i < 3; i++) yield* round(options, sandbox, looking)
        yield* TestClock.adjust("2 seconds")
        const { treasury } = options
        const view = yield* readView()
        const of = (party: string) => view.accounts.find((a) => a.party === party)
        assert.containSubset(of("bob"), { balance: "50.00", observation: { block: view.height, source: "sandbox" } })
        assert.closeTo(of("bob")?.observation?.ageSeconds ?? 0, 2, 0.1)
        assert.containSubset(of("eve"), { balance: "unknown", observation: null })
        assert.strictEqual((yield* reasons)["keep-eve"], "no_data")
        const text = yield* exposeMetrics(treasury)
        assert.match(text, /observation_age_seconds\{treasury="flow",party="bob",asset="USDT"\} (1\.9|2)/)
        assert.match(text, /account_balance\{treasury="flow",party="bob",asset="USDT",kind="observed"\} 50\n/)
        assert.notMatch(text, /(observation_age_seconds|account_balance)\{[^}]*party="eve"/)
      },
      {
        rules: [
          {
            name: "keep-eve",
            topUp: { from: "alice", levels: [{ party: "eve", asset: "USDT", below: "1", target: "2" }] },
          },
        ],
      },
    ),
  )

  it.effect("stops a rule by its own limit before it stops the others", () =>
    flow(
      function* (options, sandbox) {
        for (let i = 0; i < 2; i++) yield* round(options, sandbox, looking)
        yield* TestClock.adjust("5 seconds")
        yield* decideOnce()
        const { "keep-bob": others, "sweep-alice": own } = yield* reasons
        assert.notStrictEqual(others, "stale")
        assert.strictEqual(own, "stale")
      },
      {
        rules: [
          {
            name: "sweep-alice",
            sweep: { from: "alice", to: "bob", asset: "USDT", above: "4_100", target: "4_000" },
            maxAge: "3s",
          },
        ],
      },
    ),
  )
})
