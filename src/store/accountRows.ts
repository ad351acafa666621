import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { AccountKey, BalanceChange } from "../domain/Balance.ts"
import { columnsOf } from "./balanceRows.ts"
import { Big, Digits, rowsOf } from "./columns.ts"
import type { StoreRows } from "./storeRows.ts"

/** What an account held from a block time on, Unix nanoseconds. */
export interface Held {
  readonly balance: bigint
  readonly timestamp: bigint
}

/** The newest that is known of an account before a time. */
export interface Newest extends Held {
  /** No row of the ledger: balances began anew with it. */
  readonly isOpening: boolean
}

/** What is stored of an account and was proven wrong, and what takes its place. */
export interface Correction {
  readonly account: AccountKey
  /** Times of rows that are taken back. */
  readonly gone: ReadonlyArray<bigint>
  /** Rows that take their place, or were missed. */
  readonly rows: ReadonlyArray<BalanceChange>
  /** The balance begins anew so; undefined: rows alone tell it. */
  readonly opening: BalanceChange | undefined
}

const HeldRow = Schema.Struct({ balance: Digits, timestamp: Big })
const IdRow = Schema.Struct({ id: Schema.Int })

/** Rows of single accounts, and what takes them back. Call `correct` inside a transaction. */
export const makeAccountRows = (sql: SqlClient.SqlClient, { storePast }: Pick<StoreRows, "storePast">) => {
  const idOf = ({ party, asset, market, type }: AccountKey) =>
    sql`SELECT id FROM account_names WHERE party = ${party} AND asset = ${asset} AND market = ${market}
      AND type = ${type}`.pipe(
      rowsOf(IdRow, "Observations.account"),
      Effect.map((rows) => rows[0]?.id),
    )
  const rowsOfId = (id: number, { since, before, max }: { since: bigint; before: bigint; max: number }) =>
    sql`SELECT balance, timestamp FROM changes WHERE timestamp >= ${since} AND timestamp < ${before}
      AND account = ${id} ORDER BY timestamp DESC LIMIT ${max}`.pipe(rowsOf(HeldRow, "Observations.account"))
  const opening = ({ party, asset, market, type }: AccountKey, before: bigint) =>
    sql`SELECT balance, timestamp FROM openings WHERE party = ${party} AND asset = ${asset} AND market = ${market}
      AND type = ${type} AND timestamp < ${before} ORDER BY timestamp DESC LIMIT 1`.pipe(
      rowsOf(HeldRow, "Observations.account"),
      Effect.map((rows) => rows[0]),
    )
  const newest = Effect.fnUntraced(function* (account: AccountKey, before: bigint) {
    const id = yield* idOf(account)
    const row = id === undefined ? undefined : (yield* rowsOfId(id, { since: -1n, before, max: 1 }))[0]
    const begun = yield* opening(account, before)
    const isOpening = begun !== undefined && (row === undefined || begun.timestamp > row.timestamp)
    const held = isOpening ? begun : row
    return held === undefined ? undefined : ({ ...held, isOpening } satisfies Newest)
  })
  return {
    newest,
    rows: Effect.fnUntraced(function* (account: AccountKey, since: bigint, max: number) {
      const id = yield* idOf(account)
      return id === undefined ? [] : yield* rowsOfId(id, { since, before: 2n ** 63n - 1n, max })
    }),
    correct: Effect.fnUntraced(function* ({ account, gone, rows, opening: begun }: Correction) {
      const id = yield* idOf(account)
      if (id === undefined) return
      for (const timestamp of gone) {
        yield* sql`DELETE FROM changes WHERE timestamp = ${timestamp} AND account = ${id}`
      }
      yield* storePast(rows)
      if (begun !== undefined) yield* sql`INSERT INTO openings ${sql.insert(columnsOf(begun))} ON CONFLICT DO NOTHING`
      const latest = yield* newest(account, 2n ** 63n - 1n)
      // An account that only a lie named is none.
      if (latest === undefined) yield* sql`DELETE FROM balances WHERE account = ${id}`
      else {
        const { balance, timestamp } = latest
        yield* sql`UPDATE balances SET balance = ${balance.toString()}, timestamp = ${timestamp} WHERE account = ${id}`
      }
    }),
  }
}
