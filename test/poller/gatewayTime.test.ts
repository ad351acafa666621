import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { BalanceChange } from "../../src/domain/Balance.ts"
import type { Paces } from "../../src/poller/askWindow.ts"
import { Reconciliation, reconcileBalances } from "../../src/poller/Reconciliation.ts"
import { readNewest } from "../../src/poller/readBase.ts"
import { Drifts } from "../../src/store/balances/Drifts.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { type History, newHistory } from "../support/HistoryServer.ts"
import { it } from "../support/it.ts"
import { openPoller, pollAll, pollerOptions, storedRows } from "../support/Poller.ts"

const second = 1_000_000_000n
const startMillis = 1_800_000_000_000
const start = BigInt(startMillis) * 1_000_000n
const alice = "a".repeat(64)
const options = pollerOptions([alice])

const row = (at: number, balance: bigint): BalanceChange => ({
  timestamp: start + BigInt(at) * second,
  party: alice,
  asset: "1".repeat(64),
  market: "",
  type: "ACCOUNT_TYPE_GENERAL",
  balance,
})

/** A gateway that names no blocks, at a second of its time; our clock is ahead of it by so many. */
const untimed = Effect.fnUntraced(function* (rows: ReadonlyArray<BalanceChange>, ahead = 0) {
  let at = 0
  const history: History = { ...newHistory(rows), hasHeaders: false, date: () => start + BigInt(at) * second }
  const { run } = yield* openPoller(history)
  const pass = Effect.fnUntraced(function* (to: number) {
    at = to
    history.begun = { height: BigInt(to + 2), timestamp: start + BigInt(to) * second + 1_000n }
    yield* TestClock.setTime(startMillis + (to + ahead) * 1_000 + 1)
  })
  return { history, run, pass }
})

const balance = Effect.map(
  Effect.flatMap(Observations, (observations) => observations.accounts),
  ([account]) => account?.balance,
)
const newest = Effect.map(readNewest(alice, start + 20n * second), (base) =>
  typeof base === "object" ? base.openings[0]?.balance : undefined,
)

describe("a gateway that names no blocks", () => {
  it.effect("shows what came after the first balances, where our clock is ahead", function* () {
    const { run, pass } = yield* untimed([row(-9, 100n), row(4, 90n)], 20)
    yield* run(function* () {
      const paces: Paces = new Map()
      for (const at of [0, 4, 12, 30]) {
        yield* pass(at)
        yield* pollAll(options, paces)
      }
      assert.strictEqual(yield* balance, 90n)
    })
  })

  it.effect("is not begun with where its own time is ahead of our clock", function* () {
    const { run, pass } = yield* untimed([row(-9, 100n)], -40)
    yield* run(function* () {
      yield* pass(0)
      yield* pollAll(options)
      assert.isUndefined(yield* (yield* Observations).watermark)
    })
  })

  it.effect("gives no newest rows that may still change, where our clock is ahead", function* () {
    const { run, pass } = yield* untimed([row(-9, 100n), row(-1, 90n)], 20)
    yield* run(function* () {
      yield* pass(0)
      assert.strictEqual(yield* newest, 100n)
    })
  })

  it.effect.each([0, 5, -5])("agrees with the rows of an account that moves each second, at %i s", function* (ahead) {
    const moves = Array.from({ length: 60 }, (_, at) => row(at, 100n - BigInt(at)))
    const { run, pass } = yield* untimed([row(-9, 100n), ...moves], ahead)
    yield* run(
      Effect.gen(function* () {
        const paces: Paces = new Map()
        for (let at = 0; at < 60; at++) {
          yield* pass(at)
          yield* pollAll(options, paces)
          for (let n = 0; n < 2; n++) yield* reconcileBalances(options)
          const seen = (yield* (yield* Drifts).all).map(({ stored, reported }) => [stored, reported])
          assert.deepStrictEqual(seen, [], `at ${at}`)
        }
        assert.isAtLeast(yield* (yield* Reconciliation).count, 3)
      }).pipe(Effect.provide(Reconciliation.layer)),
    )
  })

  it.effect("loses no row that it shows late, before it names blocks again", function* () {
    const { history, run, pass } = yield* untimed([row(-9, 100n), row(20, 90n)])
    yield* run(function* () {
      const paces: Paces = new Map()
      let isLate = true
      history.isVisible = ({ timestamp }) => !isLate || timestamp < start
      for (const at of [0, 10, 30]) {
        yield* pass(at)
        yield* pollAll(options, paces)
      }
      isLate = false
      history.hasHeaders = true
      for (const at of [31, 32]) {
        yield* pass(at)
        yield* pollAll(options, new Map())
      }
      assert.include(
        (yield* storedRows).map((stored) => stored.balance),
        90n,
      )
    })
  })
})
