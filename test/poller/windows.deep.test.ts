import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { BalanceChange } from "../../src/domain/Balance.ts"
import { makePace } from "../../src/poller/askWindow.ts"
import { backfillOnce } from "../../src/poller/Backfill.ts"
import { pollBalances } from "../../src/poller/BalancePoller.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { type Dice, makeDice } from "../support/Dice.ts"
import { type History, newHistory } from "../support/HistoryServer.ts"
import { it } from "../support/it.ts"
import { backfillAll, openPoller, pollAll, pollerOptions, storedRows, textOf } from "../support/Poller.ts"

const second = 1_000_000_000n
const day = 86_400n * second
const startMillis = 1_800_000_000_000
const start = BigInt(startMillis) * 1_000_000n
const parties = ["a".repeat(64), "b".repeat(64), "c".repeat(64)]
const stranger = "f".repeat(64)
const assets = ["1".repeat(64), "2".repeat(64)]
const types = ["ACCOUNT_TYPE_GENERAL", "ACCOUNT_TYPE_MARGIN", "ACCOUNT_TYPE_BOND"]
const markets = Array.from({ length: 4 }, (_, i) => `${i}`.repeat(64))

/** The accounts that rows are of, in an order that looks like chance, as hidden account ids give it. */
const accounts = [...parties, stranger].flatMap((party) =>
  assets.flatMap((asset) =>
    types.flatMap((type) =>
      (type === "ACCOUNT_TYPE_GENERAL" ? [""] : markets).map((market) => ({ party, asset, market, type })),
    ),
  ),
)

const blockRows = (dice: Dice, at: bigint, rowsMax: number): ReadonlyArray<BalanceChange> => {
  const left = [...accounts]
  return Array.from({ length: dice.below(rowsMax + 1) }, () => ({
    ...left.splice(dice.below(left.length), 1)[0]!,
    timestamp: at,
    balance: BigInt(dice.below(1_000)),
  }))
}

/** Blocks of chance, one a second or so, before a time; each with up to 40 rows. */
const chain = (dice: Dice, blocks: number, from: bigint) => {
  const rows: Array<BalanceChange> = []
  const times: Array<bigint> = []
  let at = from
  for (let i = 0; i < blocks; i++) {
    at += 1_000n * BigInt(1 + dice.below(dice.next() < 0.1 ? 2 : 2_000_000))
    times.push(at)
    rows.push(...blockRows(dice, at, dice.next() < 0.3 ? 40 : 3))
  }
  return { rows, times }
}

const nodes = assets.map((id) => ({
  id,
  status: "STATUS_ENABLED",
  details: { name: id, symbol: "T", decimals: "2", quantum: "1", builtinAsset: { maxFaucetAmountMint: "1" } },
}))
const historyOf = (rows: ReadonlyArray<BalanceChange>, more: Partial<History> = {}): History => ({
  ...newHistory(rows),
  assets: nodes,
  now: () => start + day,
  ...more,
})

const stored = Effect.map(storedRows, (rows) => rows.map(textOf).sort())
const own = (rows: ReadonlyArray<BalanceChange>, from: bigint, to = 2n ** 62n) =>
  rows
    .filter(({ timestamp, party }) => timestamp >= from && timestamp < to && party !== stranger)
    .map(textOf)
    .sort()

const clockAt = (nanos: bigint) => TestClock.setTime(Number(nanos / 1_000_000n))

describe("windows of balance changes", () => {
  it.effect("store exactly the ledger's rows, whatever its blocks, its pages and our deaths", () =>
    Effect.forEach(
      Array.from({ length: 20 }, (_, seed) => seed),
      (seed) =>
        Effect.gen(function* () {
          const dice = makeDice(`windows ${seed}`)
          const { rows, times } = chain(dice, 60, start)
          const history = historyOf(rows, { pageMax: 5 + dice.below(40), refusesMore: dice.next() < 0.5 })
          const options = pollerOptions(parties, { pageRows: history.pageMax })
          const { run } = yield* openPoller(history)
          let die = 0
          history.onRequest = () => {
            if (die > 0) die--
          }
          const life = Effect.fnUntraced(function* (work: Effect.Effect<unknown, unknown, never>) {
            die = dice.next() < 0.4 ? 1 + dice.below(6) : 0
            const dies = die > 0
            const fiber = yield* Effect.forkChild(work)
            for (let steps = 0; dies && die > 0 && steps < 2_000; steps++) yield* Effect.yieldNow
            if (dies) yield* Fiber.interrupt(fiber)
            else yield* Fiber.join(fiber)
          })
          let block = 10
          history.begun = { height: 10n, timestamp: times[block]! }
          yield* clockAt(history.begun.timestamp + second)
          yield* run(pollBalances(options))
          const base = history.begun.timestamp
          yield* run(Effect.flatMap(Observations, (one) => one.backfillSince(start)))
          while (block < times.length - 1) {
            block = Math.min(block + 1 + dice.below(12), times.length - 1)
            history.begun = { height: BigInt(block), timestamp: times[block]! }
            yield* clockAt(history.begun.timestamp + second)
            yield* life(run(dice.next() < 0.3 ? backfillOnce(options) : pollAll(options)))
          }
          yield* run(Effect.andThen(backfillAll(options), pollAll(options)))
          assert.deepStrictEqual(yield* run(stored), own(rows, start, times.at(-1)!), `seed ${seed}, base ${base}`)
        }).pipe(Effect.scoped),
      { discard: true },
    ),
  )

  it.effect("of a year with a busy day take few questions, each short", function* () {
    const busy = start - 200n * day
    const rows = Array.from({ length: 5_000 }, (_, i) => ({
      ...accounts[i % 9]!,
      timestamp: busy + BigInt(i) * 17n * second,
      balance: BigInt(i),
    }))
    const quiet = Array.from({ length: 300 }, (_, i) => ({
      ...accounts[0]!,
      timestamp: start - 364n * day + BigInt(i) * day + second,
      balance: 7n,
    }))
    const all = [...rows, ...quiet].sort((a, b) => (a.timestamp < b.timestamp ? -1 : 1))
    const history = historyOf(all, { begun: { height: 9n, timestamp: start } })
    const options = pollerOptions(parties)
    const { run } = yield* openPoller(history)
    yield* clockAt(start)
    yield* run(function* () {
      yield* pollAll(options)
      yield* (yield* Observations).backfillSince(start - 364n * day)
      yield* backfillAll(options, makePace())
      assert.deepStrictEqual(yield* stored, own(all, 0n))
      assert.isUndefined(yield* (yield* Observations).backfillSince(start - 300n * day), "known already")
      assert.deepStrictEqual(yield* (yield* Observations).gaps, [])
    })
    assert.isBelow(history.asked.length, 60)
    for (const query of history.asked) {
      const [from, to] = ["startTimestamp", "endTimestamp"].map((key) => query.get(`dateRange.${key}`))
      assert.isBelow(Number(BigInt(to ?? start) - BigInt(from!)), Number(365n * day))
    }
  })

  it.effect("overlap without block headers, so that late rows are stored once", () =>
    Effect.forEach(
      Array.from({ length: 2 }, (_, seed) => seed),
      (seed) =>
        Effect.gen(function* () {
          const dice = makeDice(`late ${seed}`)
          const { rows } = chain(dice, 80, start)
          const late = new Map(rows.map((row) => [row, BigInt(dice.below(64_000)) * 1_000_000n]))
          let now = start
          const history = historyOf(rows, {
            hasHeaders: false,
            begun: { height: 0n, timestamp: 2n ** 62n },
            isVisible: (row) => row.timestamp + late.get(row)! <= now,
            pageMax: 10 + dice.below(50),
          })
          const options = pollerOptions(parties, { pageRows: history.pageMax })
          const { run } = yield* openPoller(history)
          yield* clockAt(start)
          yield* run(pollAll(options))
          const end = rows.at(-1)!.timestamp + 66n * second
          const paces = new Map()
          while (now < end) {
            now += BigInt(1 + dice.below(4_000)) * 1_000_000n
            yield* clockAt(now)
            yield* run(pollAll(options, paces))
          }
          assert.deepStrictEqual(yield* run(stored), own(rows, start), `seed ${seed}`)
          const alerts = yield* run(Effect.flatMap(AlertQueue, (queue) => queue.due(10)))
          assert.deepStrictEqual(alerts, [])
        }).pipe(Effect.scoped),
      { discard: true },
    ),
  )
})
