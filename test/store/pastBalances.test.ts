import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Observations } from "../../src/store/balances/Observations.ts"
import { makePastBalances } from "../../src/store/balances/pastBalances.ts"
import { Sql } from "../../src/store/database/Sql.ts"
import { testStore } from "../support/TestStore.ts"

const [party, asset] = ["b".repeat(64), "aa".repeat(32)]
const hour = 3_600_000_000_000n
const start = 1_800_000_000_000_000_000n
const row = (timestamp: bigint, balance: bigint) => ({
  party,
  asset,
  market: "",
  type: "ACCOUNT_TYPE_GENERAL",
  timestamp,
  balance,
})

/** The same client, and how often it was asked for the last row since the beginning. */
const counted = (sql: Sql) => {
  const searches = { count: 0 }
  const client = new Proxy(sql, {
    apply: (target, self, args) => {
      if (args.includes(-1n) && String(args[0]).includes("FROM changes")) searches.count++
      return Reflect.apply(target, self, args)
    },
  })
  return { client, searches }
}

describe("the history of a general account", () => {
  it.effect("is not crowded out by rows of the party's margin accounts", () => {
    const store = testStore()
    return Effect.gen(function* () {
      const observations = yield* Observations
      const blocks = Array.from({ length: 1_001 }, (_, i) => start + BigInt(i) * 1_000_000_000n)
      const margins = blocks.flatMap((time) =>
        Array.from({ length: 10 }, (_, market) => ({
          ...row(time, BigInt(market) + time),
          market: `${market}`,
          type: "ACCOUNT_TYPE_MARGIN",
        })),
      )
      yield* observations.advance([...margins, row(start, 9n)], { timestamp: blocks.at(-1)! + 1n, height: 1n })
      yield* observations.advance([row(blocks.at(-1)! + 2n, 5n)], { timestamp: start + hour, height: 2n })
      const seen = yield* observations.history(party, asset, start)
      assert.deepStrictEqual(
        seen.filter(({ market }) => market === "").map(({ balance }) => balance),
        [9n, 5n],
      )
    }).pipe(Effect.provide(store.layer()), Effect.ensuring(Effect.sync(store.remove)))
  })
})

describe("balances as they were", () => {
  it.effect("are searched once by each window of an account", () => {
    const store = testStore()
    return Effect.gen(function* () {
      const observations = yield* Observations
      const rows = Array.from({ length: 31 }, (_, i) => row(start + BigInt(i) * hour, BigInt(i)))
      yield* observations.advance(rows, { timestamp: start + 31n * hour, height: 31n })
      const { client, searches } = counted(yield* Sql)
      const past = makePastBalances(client)
      for (let second = 0n; second < 300n; second++) {
        const now = start + 30n * hour - 200_000_000_000n + second * 1_000_000_000n
        const seen = []
        for (const over of [24n, 1n]) {
          const found = yield* past.at(party, asset, now - over * hour, Number(over))
          seen.push(found?.[0]?.balance)
        }
        assert.deepStrictEqual(seen, second < 200n ? [5n, 28n] : [6n, 29n], `after ${second} s`)
      }
      assert.strictEqual(searches.count, 2)
    }).pipe(Effect.provide(store.layer()), Effect.ensuring(Effect.sync(store.remove)))
  })

  it.effect("are those that reading started again with, from then on", () => {
    const store = testStore()
    return Effect.gen(function* () {
      const observations = yield* Observations
      yield* observations.advance([row(start, 100n)], { timestamp: start + hour, height: 1n })
      yield* observations.rebase([row(start + 2n * hour, 5n)], { timestamp: start + 2n * hour + 1n, height: 2n })
      yield* observations.advance([row(start + 4n * hour, 7n)], { timestamp: start + 5n * hour, height: 3n })
      const seen = []
      for (const time of [start + 2n * hour - 1n, start + 2n * hour, start + 2n * hour + 1_000_000_000n]) {
        seen.push((yield* observations.at(party, asset, time, 1))?.[0]?.balance)
      }
      assert.deepStrictEqual(seen, [100n, 5n, 5n])
    }).pipe(Effect.provide(store.layer()), Effect.ensuring(Effect.sync(store.remove)))
  })
})
