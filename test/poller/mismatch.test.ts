import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { accountKeyText, type BalanceChange } from "../../src/domain/Balance.ts"
import { Reconciliation, reconcileBalances } from "../../src/poller/Reconciliation.ts"
import { Drifts } from "../../src/store/balances/Drifts.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { alertRows } from "../support/alertRows.ts"
import { type History, newHistory } from "../support/HistoryServer.ts"
import { it } from "../support/it.ts"
import { openPoller, pollAll, pollerOptions, storedRows, textOf } from "../support/Poller.ts"

const second = 1_000_000_000n
const startMillis = 1_800_000_000_000
const start = BigInt(startMillis) * 1_000_000n
const [alice, bob] = ["a".repeat(64), "b".repeat(64)]
const [asset, another] = ["1".repeat(64), "5e".repeat(32)]
const options = pollerOptions([alice, bob])

const row = (at: bigint, party: string, balance: bigint): BalanceChange => ({
  timestamp: start + at * second,
  party,
  asset,
  market: "",
  type: "ACCOUNT_TYPE_GENERAL",
  balance,
})
/** Both have something before the first reading; bob moves at 5 and 6 s, alice at 6 s alone. */
const rows = [row(-9n, alice, 100n), row(-9n, bob, 50n), row(5n, bob, 49n), row(6n, bob, 48n), row(6n, alice, 101n)]

const look = Effect.gen(function* () {
  const drifts = yield* (yield* Drifts).all
  return {
    rows: (yield* storedRows).map(textOf).sort(),
    drifts: drifts.map(({ party, stored, reported }) => `${party.slice(0, 1)} ${stored} ${reported}`).toSorted(),
    agreed: drifts.filter((drift) => drift.agreed !== null).length,
    alerts: (yield* alertRows)
      .filter(({ kind }) => kind === "drift")
      .map(({ severity, detail }) => `${severity} ${detail}`),
  }
})

/** A block each second; what is known after each, by the second. */
const live = (seconds: number, each: (history: History, at: number) => void) =>
  Effect.gen(function* () {
    const history = newHistory(rows)
    const { run } = yield* openPoller(history)
    return yield* run(
      Effect.gen(function* () {
        const seen: Array<Effect.Success<typeof look>> = []
        for (let at = 0; at <= seconds; at++) {
          history.begun = { height: BigInt(at + 2), timestamp: start + BigInt(at) * second + 1_000n }
          each(history, at)
          yield* TestClock.setTime(startMillis + at * 1_000 + 1)
          yield* pollAll(options)
          for (let n = 0; n < 2; n++) yield* reconcileBalances(options)
          seen.push(yield* look)
        }
        return seen
      }).pipe(Effect.provide(Reconciliation.layer)),
    )
  }).pipe(Effect.scoped)

type Shows = History["shows"]
const truth = newHistory().shows

describe("a mismatch", () => {
  it.effect("ends by itself after two comparisons that agree", function* () {
    const more: Shows = (operation, all) =>
      all.map((told) => (operation === "accounts" ? { ...told, balance: told.balance + 1n } : told))
    const seen = yield* live(40, (history, at) => {
      history.shows = at >= 9 && at < 20 ? more : truth
    })
    assert.deepStrictEqual(seen[19]!.drifts, ["a 101 102", "b 48 49"])
    const [first] = seen[19]!.alerts
    assert.match(first!, /^ticket mismatch: our history .+, gateway .+ run "cofferer balances rebase aaaa 1{64} --r/)
    const once = seen.findIndex(({ agreed }) => agreed === 2)
    const over = seen.findIndex(({ drifts }, at) => at > 9 && drifts.length === 0 && seen[at - 1]!.drifts.length > 0)
    assert.isAtLeast(once, 20)
    assert.isAbove(over, once, "one comparison does not end it")
    assert.lengthOf(seen.at(-1)!.alerts, 4, "two begin, two end")
  })

  it.effect("is none where two comparisons find another account each", function* () {
    const differing: Array<string> = []
    const seen = yield* live(40, (history, at) => {
      history.shows = (operation, all) => {
        if (operation !== "accounts" || at < 9) return all
        const one = [alice, bob][differing.length]
        if (one !== undefined) differing.push(one)
        return all.map((told) => (told.party === one ? { ...told, balance: told.balance + 1n } : told))
      }
    })
    assert.deepStrictEqual(differing, [alice, bob])
    assert.isEmpty(seen.flatMap(({ drifts }) => drifts))
  })

  it.effect("does not end by two comparisons with one block, nor by one between two differences", function* () {
    const { run } = yield* openPoller(newHistory())
    yield* run(function* () {
      const drifts = yield* Drifts
      const differing = [{ ...row(0n, alice, 1n), stored: 1n, reported: 2n }]
      const agreeing = new Set(differing.map(accountKeyText))
      const differs = drifts.note({ differing, agreeing: new Set(), listed: 1n, until: 2n })
      const agrees = (listed: bigint, until: bigint) =>
        Effect.map(drifts.note({ differing: [], agreeing, listed, until }), ({ ended }) => ended.length)
      yield* differs
      assert.strictEqual(yield* agrees(3n, 5n), 0)
      assert.strictEqual(yield* agrees(3n, 5n), 0)
      assert.strictEqual(yield* agrees(5n, 6n), 0, "all of that block was known at the first")
      yield* differs
      assert.strictEqual(yield* agrees(7n, 8n), 0)
      assert.strictEqual(yield* agrees(9n, 9n), 1)
    })
  })

  it.effect("stays, with its rows, while these differ from a balance that stands still", function* () {
    const twice: Shows = (operation, all) =>
      operation === "changes" ? all.map((told) => ({ ...told, balance: 7n })) : all
    const seen = yield* live(90, (history, at) => {
      history.shows = at >= 5 && at <= 8 ? twice : truth
    })
    const { drifts, rows: stored } = seen.at(-1)!
    assert.deepStrictEqual(drifts, ["a 7 101", "b 7 48"])
    assert.strictEqual(stored.filter((text) => text.endsWith(" 7")).length, 3)
  })

  it.effect("ends where only the listing named a false account", function* () {
    const seen = yield* live(40, (history, at) => {
      const invents: Shows = (operation, all) =>
        operation === "accounts" ? [...all, { ...row(1n, alice, 7n), asset: another }] : all
      history.shows = at >= 5 && at < 15 ? invents : truth
    })
    assert.deepStrictEqual(seen[14]!.drifts, ["a 0 7"])
    assert.deepStrictEqual(seen.at(-1)!.drifts, [])
  })

  it.effect("is looked for among no more rows than fit", function* () {
    const { run } = yield* openPoller(newHistory())
    yield* run(function* () {
      const many = Array.from({ length: 5 }, (_, n) => row(BigInt(n), alice, 1n))
      yield* (yield* Observations).advance(many, { timestamp: start + 9n * second, height: 1n })
      const between = (max: number) => Effect.flatMap(Drifts, (store) => store.rowsBetween(0n, 2n ** 62n, max))
      assert.lengthOf((yield* between(5)) ?? [], 5)
      assert.isUndefined(yield* between(4))
    })
  })
})
