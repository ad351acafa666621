import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Asset } from "../../src/domain/Asset.ts"
import type { BalanceChange } from "../../src/domain/Balance.ts"
import type { RuleMemory } from "../../src/rules/RuleMemory.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { Listings } from "../../src/store/network/Listings.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { restart } from "../support/TestStore.ts"

const row = (timestamp: bigint, balance: bigint, more: Partial<BalanceChange> = {}): BalanceChange => ({
  timestamp,
  balance,
  party: "p",
  asset: "a",
  market: "",
  type: "ACCOUNT_TYPE_GENERAL",
  ...more,
})
const late = 9_007_199_254_740_993_123n

/** What the memory of balances promises. */
describe("observations", () => {
  it.live("keeps each row once however often it comes, exact to the nanosecond, with its watermark", () =>
    restart(
      function* () {
        const store = yield* Observations
        const rows = [row(late, 2n ** 100n), row(late + 1_000n, 5n), row(late, 7n, { asset: "b" })]
        yield* store.advance(rows, { timestamp: late + 2_000n, height: 9n })
        const again = yield* store.advance(rows, { timestamp: late + 2_000n, height: 9n })
        assert.deepStrictEqual(again, [])
      },
      function* () {
        const store = yield* Observations
        assert.deepInclude(yield* store.watermark, { timestamp: late + 2_000n, height: 9n })
        const history = yield* store.history("p", "a", 0n)
        assert.deepStrictEqual(
          history.map((r) => [r.timestamp, r.balance]),
          [
            [late, 2n ** 100n],
            [late + 1_000n, 5n],
          ],
        )
        assert.deepStrictEqual(
          (yield* store.accounts).map((a) => [a.asset, a.balance]),
          [
            ["a", 5n],
            ["b", 7n],
          ],
        )
      },
    ),
  )

  it.live("takes the latest row of an account, in whatever order rows come", () =>
    restart(function* () {
      const store = yield* Observations
      const changes = yield* store.advance([row(20n, 2n), row(10n, 1n)], { timestamp: 30n, height: 1n })
      assert.deepStrictEqual(
        changes.map((c) => [c.before, c.row.balance]),
        [[undefined, 2n]],
      )
      yield* store.advance([row(15n, 9n)], { timestamp: 31n, height: 1n })
      assert.strictEqual((yield* store.accounts)[0]?.balance, 2n, "an older row changes nothing")
      const touched = yield* store.advance([row(32n, 2n)], { timestamp: 33n, height: 1n })
      assert.deepStrictEqual(touched, [], "touched is not changed")
    }),
  )

  it.live("keeps a row as it was first read, whatever balance it comes with later", () =>
    restart(
      function* () {
        const store = yield* Observations
        yield* store.advance([row(10n, 1n)], { timestamp: 30n, height: 1n })
        assert.deepStrictEqual(yield* store.advance([row(10n, 2n)], { timestamp: 31n, height: 1n }), [])
        assert.strictEqual((yield* store.accounts)[0]?.balance, 1n)
        yield* store.advance([row(20n, 5n), row(20n, 6n)], { timestamp: 32n, height: 1n })
        assert.strictEqual((yield* store.accounts)[0]?.balance, 5n, "one answer may contradict itself")
      },
      function* () {
        const store = yield* Observations
        assert.deepStrictEqual(
          (yield* store.history("p", "a", 0n)).map((r) => r.balance),
          [1n, 5n],
        )
      },
    ),
  )

  it.live("shows opening balances in the history without taking them for rows", () =>
    restart(
      function* () {
        const store = yield* Observations
        assert.deepStrictEqual(
          (yield* store.rebase([row(9n, 4n)], { timestamp: 10n, height: 3n })).map((c) => c.before),
          [undefined],
        )
        const later = yield* store.advance([row(10n, 4n), row(11n, 3n)], { timestamp: 30n, height: 4n })
        assert.deepStrictEqual(
          later.map((c) => [c.before, c.row.balance]),
          [[4n, 3n]],
        )
      },
      function* () {
        const store = yield* Observations
        assert.deepStrictEqual(
          (yield* store.history("p", "a", 0n)).map((r) => r.timestamp),
          [9n, 10n, 11n],
        )
        yield* store.prune(11n)
        assert.deepStrictEqual(
          (yield* store.history("p", "a", 0n)).map((r) => r.timestamp),
          [10n, 11n],
        )
      },
    ),
  )

  it.live("begins one account anew, whatever it knew of it since, and leaves others", () =>
    restart(
      function* () {
        const store = yield* Observations
        const rows = [row(10n, 1n), row(20n, 2n), row(29n, 9n), row(29n, 7n, { asset: "b" })]
        yield* store.advance(rows, { timestamp: 30n, height: 1n })
        const anew = { party: "p", asset: "a", since: 15n, openings: [row(28n, 3n)] }
        assert.strictEqual(yield* store.reopen(anew), 2)
      },
      function* () {
        const store = yield* Observations
        const held = (yield* store.accounts).map(({ asset, balance }) => [asset, balance])
        assert.deepStrictEqual(held, [
          ["a", 3n],
          ["b", 7n],
        ])
        const balances = (yield* store.history("p", "a", 0n)).map((r) => r.balance)
        assert.deepStrictEqual(balances, [1n, 3n])
        assert.strictEqual((yield* store.watermark)?.timestamp, 30n)
      },
    ),
  )

  it.live("forgets old rows, and no balance of then or now", () =>
    restart(function* () {
      const store = yield* Observations
      yield* store.rebase([row(5n, 8n, { asset: "b" })], { timestamp: 6n, height: 1n })
      yield* store.rebase([row(7n, 9n, { asset: "b" })], { timestamp: 8n, height: 1n })
      yield* store.advance([row(10n, 1n), row(20n, 2n), row(26n, 3n)], { timestamp: 30n, height: 1n })
      yield* store.prune(25n)
      const times = (asset: string) =>
        Effect.map(store.history("p", asset, 0n), (rows) => rows.map(({ timestamp }) => timestamp))
      assert.deepStrictEqual(yield* times("a"), [20n, 26n])
      assert.deepStrictEqual(yield* times("b"), [7n])
      assert.strictEqual(yield* store.before({ ...row(0n, 0n), asset: "b" }, 25n), 9n)
      assert.deepStrictEqual(
        (yield* store.accounts).map(({ balance }) => balance),
        [3n, 9n],
      )
    }),
  )
})

const asset = (id: string, status: string): Asset => ({
  id,
  name: id,
  symbol: id,
  decimals: 18,
  quantum: 2n ** 80n,
  status,
  source: { kind: "unknown" },
})

/** What the memory of assets promises. */
describe("listings", () => {
  it.live("sees each change of status once, also over a restart; the first listing is no change", () =>
    restart(
      function* () {
        const store = yield* Listings
        assert.deepStrictEqual(yield* store.replace([asset("A", "STATUS_ENABLED")]), [])
        const steps = yield* store.replace([asset("A", "STATUS_ENABLED"), asset("B", "STATUS_PROPOSED")])
        assert.deepStrictEqual(
          steps.map((s) => [s.symbol, s.from, s.to]),
          [["B", undefined, "proposed"]],
        )
      },
      function* () {
        const store = yield* Listings
        assert.deepStrictEqual(yield* store.replace([asset("A", "STATUS_ENABLED"), asset("B", "STATUS_PROPOSED")]), [])
        const [seen] = yield* store.unhandled
        assert.deepInclude(seen, { symbol: "B", from: undefined, to: "proposed" })
        yield* store.markHandled(seen?.seq ?? 0)
        assert.deepStrictEqual(yield* store.unhandled, [])
        yield* store.replace([asset("B", "STATUS_FROM_THE_FUTURE")])
        assert.strictEqual((yield* store.unhandled)[0]?.to, "unspecified")
        assert.strictEqual((yield* store.assets).find((a) => a.id === "B")?.quantum, 2n ** 80n)
      },
    ),
  )
})

const memory: RuleMemory = {
  rule: "r",
  subject: "s",
  episode: 3,
  firingSince: undefined,
  observations: 0,
  lastObservation: late,
  state: "pending",
  reason: "pending",
  detail: "d",
  reasonSince: 1,
  decidedAt: 2,
}

/** What timers and settings promise: they survive. */
describe("rule states and settings", () => {
  it.live("survive a restart as they were", () =>
    restart(
      function* () {
        const states = yield* RuleStates
        const settings = yield* Settings
        yield* states.save(memory, undefined)
        yield* states.save({ ...memory, firingSince: 7, observations: 2 }, memory)
        assert.strictEqual(yield* settings.getOrMake("installation", Effect.succeed("one")), "one")
        yield* settings.rememberFraming("c", "prefixed")
        yield* settings.rememberFraming("c", "bare")
      },
      function* () {
        const settings = yield* Settings
        assert.deepStrictEqual(yield* (yield* RuleStates).all, [{ ...memory, firingSince: 7, observations: 2 }])
        assert.strictEqual(yield* settings.getOrMake("installation", Effect.succeed("two")), "one")
        assert.strictEqual(yield* settings.framing("c"), "bare")
        assert.isUndefined(yield* settings.framing("another chain"))
        yield* settings.forgetFraming("c")
        assert.isUndefined(yield* settings.framing("c"))
      },
    ),
  )
})
