import { Array as Arr, Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { AccountKey, BalanceChange } from "../domain/Balance.ts"
import { Big, Digits, rowsOf } from "./columns.ts"

/** A row that is stored with one balance, and came again with another. */
export interface Contradiction extends BalanceChange {
  /** The balance that came later, and was not stored. */
  readonly said: bigint
}

export const BalanceColumns = Schema.Struct({
  party: Schema.String,
  asset: Schema.String,
  market: Schema.String,
  type: Schema.String,
  balance: Digits,
  timestamp: Big,
})

/** Rows in one statement: SQLite takes 32,766 variables, and six go into a row. */
const rowsPerStatement = 1_000

export const keyOf = (key: AccountKey): string => `${key.party}|${key.asset}|${key.market}|${key.type}`
const rowKeyOf = (row: BalanceChange): string => `${row.timestamp}|${keyOf(row)}`

export const columnsOf = (row: BalanceChange) => ({
  timestamp: row.timestamp,
  asset: row.asset,
  party: row.party,
  market: row.market,
  type: row.type,
  balance: row.balance.toString(),
})

/**
 * Stores the rows that are not stored yet; a row never changes. Returns the rows that came, each once, without those
 * that contradict a stored row or one before them, and these contradictions. Call it inside a transaction.
 */
export const insertRows = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, rows: ReadonlyArray<BalanceChange>) {
  const contradictions: Array<Contradiction> = []
  if (rows.length === 0) return { rows, contradictions }
  const known = yield* storedBetween(sql, rows)
  const sound = new Map<string, BalanceChange>()
  const fresh: Array<BalanceChange> = []
  for (const row of rows) {
    const key = rowKeyOf(row)
    const stored = known.get(key) ?? sound.get(key)
    if (stored !== undefined && stored.balance !== row.balance) contradictions.push({ ...stored, said: row.balance })
    if (stored === undefined) fresh.push(row)
    if (stored === undefined || stored.balance === row.balance) sound.set(key, row)
  }
  for (let i = 0; i < fresh.length; i += rowsPerStatement) {
    const slice = fresh.slice(i, i + rowsPerStatement).map(columnsOf)
    if (Arr.isArrayNonEmpty(slice)) yield* sql`INSERT INTO balance_rows ${sql.insert(slice)}`
  }
  return { rows: [...sound.values()], contradictions }
})

/** The stored rows of the time that the given ones span: none, unless something is read again. */
const storedBetween = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, rows: ReadonlyArray<BalanceChange>) {
  let from = rows[0]!.timestamp
  let to = from
  for (const { timestamp } of rows) {
    if (timestamp < from) from = timestamp
    if (timestamp > to) to = timestamp
  }
  const stored = yield* sql`SELECT * FROM balance_rows WHERE timestamp >= ${from} AND timestamp <= ${to}`.pipe(
    rowsOf(BalanceColumns, "Observations.stored"),
  )
  return new Map(stored.map((row): [string, BalanceChange] => [rowKeyOf(row), row]))
})
