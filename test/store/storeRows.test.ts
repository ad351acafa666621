import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { BalanceChange } from "../../src/domain/Balance.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { makeDice } from "../support/Dice.ts"
import { storedRows } from "../support/Poller.ts"
import { testStore } from "../support/TestStore.ts"

const keyOf = (row: Omit<BalanceChange, "timestamp" | "balance">) =>
  [row.party, row.asset, row.market, row.type].join("|")

/** What storing rows means, said as simply as can be: nothing but maps. */
const plainStore = () => {
  const rows = new Map<string, bigint>()
  const latest = new Map<string, { balance: bigint; timestamp: bigint }>()
  return {
    rows,
    latest,
    advance: (batch: ReadonlyArray<BalanceChange>) => {
      const before = new Map(latest)
      for (const row of batch) {
        const key = `${row.timestamp} ${keyOf(row)}`
        const stored = rows.get(key)
        if (stored === undefined) rows.set(key, row.balance)
        else if (stored !== row.balance) continue
        const known = latest.get(keyOf(row))
        if (known === undefined || known.timestamp <= row.timestamp) latest.set(keyOf(row), row)
      }
      const changed = [...latest].filter(([key, { balance }]) => before.get(key)?.balance !== balance)
      return new Map(changed.map(([key, { balance }]) => [key, balance]))
    },
  }
}

const files = testStore()

describe("storing balance rows", () => {
  afterAll(files.remove)

  it.live("matches a store of plain maps in any order and size", () =>
    Effect.gen(function* () {
      const dice = makeDice("rows")
      const plain = plainStore()
      const store = yield* Observations
      const sizes = [0, 1, 2, 3, 127, 128, 129, 255, 300, 5, 40, 40, 40, 40, 40, 1_000]
      for (const size of sizes) {
        const batch = Array.from(
          { length: size },
          (): BalanceChange => ({
            timestamp: 1_795_220_000_000_000_000n + BigInt(dice.below(40)),
            party: `p${dice.below(6)}`,
            asset: `a${dice.below(2)}`,
            market: dice.below(3) === 0 ? "m" : "",
            type: "ACCOUNT_TYPE_GENERAL",
            balance: BigInt(dice.below(3)) * 10n ** 30n,
          }),
        )
        if (dice.below(2) === 0) batch.sort((a, b) => (a.timestamp < b.timestamp ? -1 : 1))
        const expected = plain.advance(batch)
        const changes = yield* store.advance(batch, { timestamp: 1n, height: 1n })
        assert.deepStrictEqual(new Map(changes.map(({ row }) => [keyOf(row), row.balance])), expected)
      }
      const rows = yield* storedRows
      assert.deepStrictEqual(new Map(rows.map((r) => [`${r.timestamp} ${keyOf(r)}`, r.balance])), plain.rows)
      const accounts = yield* store.accounts
      assert.deepStrictEqual(
        new Map(accounts.map((a) => [keyOf(a), a.balance])),
        new Map([...plain.latest].map(([key, { balance }]) => [key, balance])),
      )
      const before = 1_795_220_000_000_000_020n
      yield* store.prune(before)
      const newest = new Map(rows.filter((r) => r.timestamp < before).map((r) => [keyOf(r), r]))
      for (const one of rows) {
        if (one.timestamp < before && one.timestamp > newest.get(keyOf(one))!.timestamp) newest.set(keyOf(one), one)
      }
      const kept = rows.filter((r) => r.timestamp >= before || newest.get(keyOf(r)) === r)
      assert.sameDeepMembers([...(yield* storedRows)], kept)
      assert.lengthOf(yield* store.accounts, accounts.length, "latest balances stay")
    }).pipe(Effect.provide(files.layer())),
  )
})
