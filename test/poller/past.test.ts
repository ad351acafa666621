import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { BalanceChange } from "../../src/domain/Balance.ts"
import { backfillOnce } from "../../src/poller/Backfill.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { newHistory } from "../support/HistoryServer.ts"
import { it } from "../support/it.ts"
import { backfillAll, openPoller, pollAll, pollerOptions, storedRows, textOf } from "../support/Poller.ts"

const second = 1_000_000_000n
const hour = 3_600n * second
const day = 24n * hour
const start = 1_800_000_000_000_000_000n
const alice = "a".repeat(64)
const bob = "b".repeat(64)
const asset = "1".repeat(64)

const row = (timestamp: bigint, balance: bigint, party = alice, market = ""): BalanceChange => ({
  timestamp,
  balance,
  party,
  asset,
  market,
  type: "ACCOUNT_TYPE_GENERAL",
})
const options = pollerOptions([alice, bob])
const clockAt = (nanos: bigint) => TestClock.setTime(Number(nanos / 1_000_000n))

const look = Effect.gen(function* () {
  const observations = yield* Observations
  return {
    rows: (yield* storedRows).map(textOf).sort(),
    balances: (yield* observations.accounts).map(({ balance }) => balance),
    gaps: (yield* observations.gaps).map(({ since, until }) => [since, until]),
    open: (yield* observations.backfills).length,
    journal: (yield* (yield* Journal).about("balances")).map(({ kind }) => kind),
    alerts: (yield* (yield* AlertQueue).due(100)).map(
      ({ kind, subject, severity }) => `${kind} ${subject} ${severity}`,
    ),
    watermark: (yield* observations.watermark)?.timestamp,
  }
})

/** A row a minute of each party for ten days, and what its node keeps of them. */
const tenDays = () => {
  const rows: Array<BalanceChange> = []
  for (let i = 0n; i < 480n; i++) rows.push(row(start + (i * day) / 48n, i), row(start + (i * day) / 48n, 2n * i, bob))
  return newHistory(rows)
}

describe("the past", () => {
  it.effect("that a gateway forgot is named, and what is left is read", function* () {
    const history = tenDays()
    const { run } = yield* openPoller(history)
    const at = (nanos: bigint) =>
      Effect.suspend(() => {
        history.begun = { height: nanos / second - start / second, timestamp: nanos }
        history.now = () => nanos
        return clockAt(nanos)
      })
    yield* at(start + day)
    yield* run(pollAll(options))
    yield* at(start + 9n * day + hour)
    history.keptFrom = start + 3n * day
    const before = yield* run(Effect.andThen(pollAll(options), look))
    assert.deepStrictEqual(before.balances, [433n, 866n], "balances are known at once")
    assert.deepStrictEqual(before.watermark, start + 9n * day + hour)
    assert.deepStrictEqual(before.gaps, [[start + day, start + 3n * day]])
    assert.deepStrictEqual(before.journal, ["gap", "backfill"])
    assert.deepStrictEqual(before.alerts, ["balances gap ticket"])
    const after = yield* run(Effect.andThen(backfillAll(options), look))
    const there = history.rows.filter(
      ({ timestamp }) => timestamp >= history.keptFrom && timestamp < history.begun.timestamp,
    )
    assert.deepStrictEqual(after.rows, there.map(textOf).sort())
    assert.deepStrictEqual(after.balances, [433n, 866n])
    assert.deepStrictEqual([after.open, after.journal], [0, ["gap", "backfill", "backfill"]])
    yield* at(start + 9n * day + 2n * hour)
    assert.strictEqual((yield* run(Effect.andThen(pollAll(options), look))).gaps.length, 1, "told once")
  })

  it.effect("that a gateway still has after days of silence is no gap", function* () {
    const history = tenDays()
    const { run } = yield* openPoller(history)
    for (const nanos of [start + day + second, start + 9n * day + second]) {
      history.begun = { height: 9n, timestamp: nanos }
      history.now = () => nanos
      yield* clockAt(nanos)
      yield* run(pollAll(options))
    }
    const { gaps, rows } = yield* run(look)
    assert.deepStrictEqual(gaps, [])
    assert.strictEqual(rows.length, 16 * 48)
  })

  it.effect("is read from the requested start, and reported missing where it is", function* () {
    const history = tenDays()
    history.keptFrom = start + 3n * day
    history.begun = { height: 9n, timestamp: start + 9n * day + second }
    const { run } = yield* openPoller(history)
    yield* clockAt(history.begun.timestamp)
    yield* run(pollAll(options))
    const asked = yield* run(Effect.flatMap(Observations, (one) => one.backfillSince(start - 20n * day)))
    assert.strictEqual(asked?.until, history.begun.timestamp)
    const found = yield* run(Effect.andThen(backfillAll(options), look))
    assert.deepStrictEqual(found.gaps, [[start - 20n * day, history.keptFrom]])
    assert.strictEqual(found.rows.length, 2 * (6 * 48 + 1))
    assert.deepStrictEqual(found.alerts, [], "nobody relied on it")
    assert.isUndefined(yield* run(Effect.flatMap(Observations, (one) => one.backfillSince(start))))
  })

  it.effect("is asked for once more only where what was asked for has begun, or has less", function* () {
    const { run } = yield* openPoller(newHistory())
    yield* run(function* () {
      const observations = yield* Observations
      const first = yield* observations.backfillBetween(start, start + 9n * second)
      assert.isUndefined(yield* observations.backfillBetween(start + second, start + 9n * second))
      assert.isDefined(yield* observations.backfillBetween(start, start + 10n * second), "it has more")
      yield* observations.advanceBackfill(first!, [], start + second)
      assert.isUndefined(yield* observations.backfillBetween(start, start + 9n * second), "the second has it")
      assert.isDefined(yield* observations.backfillBetween(start - second, start + 9n * second))
      assert.lengthOf(yield* observations.backfills, 3)
    })
  })

  it.effect("that is read for days is checked again for what was forgotten meanwhile", function* () {
    const history = tenDays()
    history.pageMax = 50
    const small = { ...options, pageRows: 50 }
    history.begun = { height: 9n, timestamp: start + 2n * day + second }
    history.now = () => history.begun.timestamp
    const { run } = yield* openPoller(history)
    yield* clockAt(history.begun.timestamp)
    yield* run(pollAll(small))
    yield* run(function* () {
      yield* (yield* Observations).backfillSince(start)
      assert.deepStrictEqual((yield* look).open, 1)
    })
    // One window is read, then the process is away while the node forgets the first day and a half.
    assert.isTrue(yield* run(backfillOnce(small)))
    const read = (yield* run(look)).rows.length
    assert.isTrue(read > 0 && read < 100)
    const later = history.begun.timestamp + 2n * day
    yield* clockAt(later)
    history.now = () => later
    history.keptFrom = start + (3n * day) / 2n
    const found = yield* run(Effect.andThen(backfillAll(small), look))
    assert.strictEqual(found.gaps.length, 1)
    assert.strictEqual(found.gaps[0]?.[1], history.keptFrom)
    assert.deepStrictEqual(found.alerts, ["balances gap ticket"])
  })

  it.effect("keeps its first version, whatever balance it comes with later", function* () {
    const history = { ...newHistory([row(start, 5n)]), begun: { height: 9n, timestamp: start + day } }
    const { run } = yield* openPoller(history)
    yield* clockAt(start + day)
    yield* run(pollAll(options))
    yield* run(function* () {
      yield* (yield* Observations).backfillSince(start - second)
      yield* backfillAll(options)
    })
    history.rows = [row(start, 6n)]
    for (let i = 0; i < 2; i++) {
      yield* run(function* () {
        yield* (yield* Observations).backfillBetween(start, start + second)
        yield* backfillAll(options)
      })
    }
    const found = yield* run(look)
    assert.deepStrictEqual(found.rows, [textOf(row(start, 5n))])
  })

  it.effect("stops with a ticket where one block exceeds every page", function* () {
    const many = Array.from({ length: 9 }, (_, i) => row(start + second, BigInt(i), alice, `${i}`.repeat(64)))
    const history = {
      ...newHistory([row(start - second, 1n, bob), ...many, row(start + 2n * second, 7n)]),
      begun: { height: 9n, timestamp: start },
      pageMax: 5,
      assets: [
        {
          id: asset,
          status: "STATUS_ENABLED",
          details: {
            name: "T",
            symbol: "T",
            decimals: "2",
            quantum: "1",
            builtinAsset: { maxFaucetAmountMint: "1" },
          },
        },
      ],
    }
    const { run } = yield* openPoller(history)
    yield* clockAt(start)
    yield* run(pollAll({ ...options, pageRows: 5 }))
    history.begun = { height: 10n, timestamp: start + day }
    yield* clockAt(start + day)
    yield* run(pollAll({ ...options, pageRows: 5 }))
    yield* run(pollAll({ ...options, pageRows: 5 }))
    const stuck = yield* run(look)
    assert.deepStrictEqual([stuck.rows, stuck.watermark], [[], start + second])
    assert.deepStrictEqual(stuck.alerts, ["balances balances ticket"])
    history.pageMax = 5_000
    assert.strictEqual((yield* run(Effect.andThen(pollAll(options), look))).rows.length, 10)
  })
})
