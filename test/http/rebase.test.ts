import { execFileSync } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Treasury } from "../../src/config/Treasury.ts"
import { rebaseBalances } from "../../src/http/rebaseBalances.ts"
import { backfillOnce } from "../../src/poller/Backfill.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Drifts } from "../../src/store/balances/Drifts.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { verifyStore } from "../../src/store/journal/verifyStore.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { bob, type FlowSetup, flow, paid, pass, reason, round, states } from "../support/Flow.ts"
import { type Manner, rewritten } from "../support/Fronts.ts"
import { newestIntent } from "../support/Intents.ts"
import { behind, pow } from "../support/LoneLiar.ts"
import { one, usdt } from "../support/TestSandbox.ts"

const setup: FlowSetup = { network: { reconcile: "1s" }, scenario: pow(20) }
const unpaying = new Set(["decide", "submit", "confirm"])
const unconfirmed = new Set(["confirm"])
/** One answer, or more, has a row of bob that is on no ledger: he seems to have plenty. */
const plentyOnce = (assetId: string = usdt, answers = 1): Manner => {
  let told = 0
  return async ({ url }, ask) => {
    const answer = await ask()
    if (told === answers || url.pathname !== "/api/v2/balance/changes") return answer
    told += 1
    const timestamp = url.searchParams.get("dateRange.startTimestamp")
    const account = { partyId: bob, assetId, marketId: "", accountType: "ACCOUNT_TYPE_GENERAL" }
    const page = JSON.parse(answer.text) as { balances: { edges: Array<unknown> } }
    page.balances.edges.push({ cursor: "x", node: { ...account, timestamp, balance: String(5_000n * one) } })
    return { ...answer, text: JSON.stringify(page) }
  }
}
/** Of the rule of every flow, so that bob needs nothing. */
const inBand = { topUp: { from: "alice", levels: [{ party: "bob", asset: "USDT", below: "10", target: "20" }] } }
const words = { party: "bob", asset: "USDT", reason: "the gateway lied", author: "zoe" }
const rebase = (treasury: Treasury, more: Partial<typeof words> = {}) => rebaseBalances(treasury, { ...words, ...more })
const drifts = Effect.flatMap(Drifts, ({ all }) => all)
const heldByBob = Effect.map(
  Effect.flatMap(Observations, ({ accounts }) => accounts),
  (all) => all.find(({ party, asset }) => party === bob && asset === usdt)?.balance,
)

describe("an account's history read anew", () => {
  it.effect("ends what false rows of a lone gateway left, and its rule then pays once", () =>
    behind(setup, function* (liar, _, options, sandbox) {
      const { treasury } = options
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, unpaying)
      liar.manner = plentyOnce()
      for (let i = 0; i < 6; i++) yield* round(options, sandbox, unpaying)
      assert.strictEqual(yield* heldByBob, 5_000n * one)
      yield* pass(sandbox, 120, round(options, sandbox))
      assert.deepStrictEqual([(yield* drifts).length, yield* reason, yield* states], [1, "drift", []])
      const [told] = (yield* (yield* AlertQueue).due(100)).filter(({ kind }) => kind === "drift")
      assert.include(told?.detail, 'run "cofferer balances rebase bob USDT --reason TEXT"')

      const done = yield* rebase(treasury)
      assert.containSubset(done, { rebased: "bob/USDT" })
      assert.strictEqual(yield* heldByBob, 50n * one)
      assert.lengthOf(yield* drifts, 1, "it holds until a later block")
      yield* round(options, sandbox)
      assert.deepStrictEqual([yield* reason, yield* states], ["drift", []])
      while (yield* backfillOnce(treasury)) yield* Effect.yieldNow
      const rows = yield* (yield* Observations).history(bob, usdt, 0n)
      assert.notInclude(
        rows.map(({ balance }) => balance),
        5_000n * one,
      )
      yield* pass(sandbox, 90, round(options, sandbox))
      assert.lengthOf(yield* drifts, 0)
      assert.deepStrictEqual(yield* states, ["confirmed"])
      assert.lengthOf(yield* paid(sandbox), 1)
      const journal = yield* (yield* Journal).about("balances")
      const [entry] = journal.filter(({ kind }) => kind === "rebase")
      assert.containSubset(JSON.parse(entry!.body), { by: "zoe", reason: words.reason, party: bob, asset: usdt })
      assert.isNull((yield* verifyStore()).problem)
    }),
  )

  it.effect("is refused while a payment of the account is open, and for a window after its end", () =>
    flow(function* (options, sandbox) {
      const { treasury } = options
      const tries = (more?: Partial<typeof words>) =>
        Effect.map(rebase(treasury, more), (done) => ("problem" in done ? done.problem : "done"))
      const busy = /^payment \S+ of the account is under way, or was settled less than a window ago$/
      for (let i = 0; i < 20 && (yield* states).length === 0; i++)
        yield* round(options, sandbox, new Set(["submit", "confirm"]))
      assert.deepStrictEqual(yield* states, ["proposed"])
      assert.match(yield* tries(), busy)
      assert.match(yield* tries({ party: "alice" }), busy, "of who pays as well")
      const refused = yield* rebase(treasury)
      const remedy = "remedy" in refused ? refused.remedy : ""
      assert.match(remedy, /^"cofferer intents cancel \w+ --reason TEXT" ends it/, "it may wait for rows that agree")
      const before = yield* heldByBob
      for (let i = 0; i < 20 && (yield* states)[0] !== "in_flight"; i++) yield* round(options, sandbox, unconfirmed)
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, unconfirmed)
      yield* (yield* Outbox).move(yield* newestIntent, "manual", { detail: "nothing shows its end" })
      const manual = yield* rebase(treasury)
      assert.match("remedy" in manual ? manual.remedy : "", /"cofferer intents resolve \w+ --reason TEXT", with --exec/)
      for (let i = 0; i < 20 && (yield* states)[0] !== "confirmed"; i++) yield* round(options, sandbox)
      assert.deepStrictEqual(yield* states, ["confirmed"])
      yield* round(options, sandbox)
      assert.notStrictEqual(yield* heldByBob, before)
      assert.match(yield* tries(), busy)
      for (let i = 0; i < 12 && busy.test(yield* tries()); i++) yield* pass(sandbox, 5, round(options, sandbox))
      assert.strictEqual(yield* tries(), "done")
      assert.strictEqual(yield* tries({ party: "alice" }), "done")
      assert.lengthOf(yield* drifts, 2, "both are held")
      assert.match(yield* tries({ party: "eve", asset: "VEGA" }), /eve has no account of "VEGA"/)
      assert.match(yield* tries({ party: "mallory" }), /no party is named mallory/)
      assert.match(yield* tries({ asset: "GOLD" }), /bob has no account of "GOLD"/)
    }, setup),
  )

  it.effect("raises a mismatch of an account that differs only after it", () =>
    behind({ ...setup, keepBob: inBand }, function* (liar, _, options, sandbox) {
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, unpaying)
      assert.containSubset(yield* rebase(options.treasury), { accounts: [{ stored: 50n * one, reported: 50n * one }] })
      liar.manner = rewritten(
        "balance",
        (old) => (old === String(50n * one) ? String(51n * one) : old),
        "/api/v2/accounts",
      )
      yield* pass(sandbox, 90, round(options, sandbox))
      assert.deepStrictEqual([(yield* drifts).length, yield* reason], [1, "drift"])
      const told = (yield* (yield* AlertQueue).due(100)).filter(({ kind }) => kind === "drift")
      assert.match(told.map(({ detail }) => detail).join(), /^mismatch: our history 50\.00\S*, gateway 51\.00/)
    }),
  )

  it.effect.each([usdt.toUpperCase(), "'; rm -rf ~; --", ""])(
    "ends an account that no ledger has (asset %j)",
    (asset) =>
      behind(setup, function* (liar, _, options, sandbox) {
        for (let i = 0; i < 3; i++) yield* round(options, sandbox, unpaying)
        liar.manner = plentyOnce(asset)
        yield* pass(sandbox, 60, round(options, sandbox, unpaying))
        assert.lengthOf(yield* drifts, 1)
        const [told] = (yield* (yield* AlertQueue).due(100)).filter(({ kind }) => kind === "drift")
        const [, word] = /balances rebase bob (.+) --reason TEXT/s.exec(told?.detail ?? "") ?? []
        assert.strictEqual(execFileSync("sh", ["-c", `printf %s ${word}`]).toString(), asset)
        assert.containSubset(yield* rebase(options.treasury, { asset }), { accounts: [{ reported: 0n }] })
        yield* pass(sandbox, 60, round(options, sandbox, unpaying))
        assert.lengthOf(yield* drifts, 0)
      }),
  )

  it.effect("takes the newest rows where the gateway reports no balances, and waits for a later block", () =>
    behind(
      { ...setup, scenario: { ...setup.scenario, profile: "specification" } },
      function* (liar, _, options, sandbox) {
        const { treasury } = options
        // The second question of a reading goes back a minute there.
        yield* pass(sandbox, 80, round(options, sandbox, unpaying))
        liar.manner = plentyOnce(usdt, 2)
        yield* pass(sandbox, 90, round(options, sandbox))
        assert.strictEqual(yield* heldByBob, 5_000n * one)
        assert.deepStrictEqual([(yield* drifts).length, yield* reason, yield* states], [0, "in_band", []])

        const done = yield* rebase(treasury)
        assert.containSubset(done, { accounts: [{ stored: 5_000n * one, reported: 50n * one }] })
        assert.strictEqual(yield* heldByBob, 50n * one)
        yield* round(options, sandbox, new Set(["poll"]))
        yield* round(options, sandbox, new Set(["poll"]))
        assert.deepStrictEqual([(yield* drifts).length, yield* reason, yield* states], [1, "drift", []])
        yield* pass(sandbox, 90, round(options, sandbox))
        assert.deepStrictEqual([(yield* drifts).length, yield* states], [0, ["confirmed"]])
        assert.lengthOf(yield* paid(sandbox), 1)
        assert.isNull((yield* verifyStore()).problem)
      },
    ),
  )
})
