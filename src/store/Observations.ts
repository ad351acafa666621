import { Array as Arr, Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { AccountKey, BalanceChange } from "../domain/Balance.ts"
import { Big, Digits, rowsOf } from "./columns.ts"
import { type StoreError, storeError } from "./StoreError.ts"

/** Up to where the rows are known: everything strictly below `timestamp` was read and stored. */
export interface Watermark {
  /** Unix nanoseconds. */
  readonly timestamp: bigint
  /** Height of the newest block below it; 0 where the gateway does not tell heights. */
  readonly height: bigint
  /** Unix milliseconds of our clock. */
  readonly updatedAt: number
}

/** The latest balance of an account, and the block time of the row that it came with. */
export interface AccountBalance extends AccountKey {
  readonly balance: bigint
  readonly timestamp: bigint
}

const AccountRow = Schema.Struct({
  party: Schema.String,
  asset: Schema.String,
  market: Schema.String,
  type: Schema.String,
  balance: Digits,
  timestamp: Big,
})
const WatermarkRow = Schema.Struct({ timestamp: Big, height: Big, updatedAt: Schema.Int })

/** Rows in one statement: SQLite takes 32,766 variables, and six go into a row. */
const rowsPerStatement = 1_000

/** Balance rows exactly once, the latest balance of each account, and how far they reach. */
export class Observations extends Context.Service<
  Observations,
  {
    /**
     * Stores rows and the new watermark together. A row seen before changes nothing, however often it comes. Returns
     * the accounts whose latest balance changed.
     */
    readonly advance: (
      rows: ReadonlyArray<BalanceChange>,
      watermark: { readonly timestamp: bigint; readonly height: bigint },
    ) => Effect.Effect<ReadonlyArray<{ readonly before: bigint | undefined; readonly row: BalanceChange }>, StoreError>
    readonly watermark: Effect.Effect<Watermark | undefined, StoreError>
    /** Forgets rows before a block time (Unix nanoseconds). Latest balances are kept whatever their age. */
    readonly prune: (before: bigint) => Effect.Effect<void, StoreError>
    readonly accounts: Effect.Effect<ReadonlyArray<AccountBalance>, StoreError>
    /** Rows of one party and asset since a block time, oldest first; at most 10,000. */
    readonly history: (
      party: string,
      asset: string,
      since: bigint,
    ) => Effect.Effect<ReadonlyArray<AccountBalance>, StoreError>
  }
>()("cofferer/store/Observations") {
  static readonly layer = Layer.effect(
    Observations,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const accounts = sql`SELECT * FROM accounts`.pipe(rowsOf(AccountRow, "Observations.accounts"))
      const advance = Effect.fn("Observations.advance")(
        function* (
          rows: ReadonlyArray<BalanceChange>,
          watermark: { readonly timestamp: bigint; readonly height: bigint },
        ) {
          for (let i = 0; i < rows.length; i += rowsPerStatement) {
            const slice = rows.slice(i, i + rowsPerStatement).map(column)
            if (!Arr.isArrayNonEmpty(slice)) continue
            yield* sql`INSERT INTO balance_rows ${sql.insert(slice)} ON CONFLICT DO NOTHING`
          }
          const latest = new Map((yield* accounts).map((a) => [keyOf(a), a]))
          const changed = new Map<string, { before: bigint | undefined; row: BalanceChange }>()
          for (const row of [...rows].sort((a, b) => (a.timestamp < b.timestamp ? -1 : 1))) {
            const key = keyOf(row)
            const known = changed.get(key)?.row ?? latest.get(key)
            if (known !== undefined && known.timestamp > row.timestamp) continue
            changed.set(key, { before: latest.get(key)?.balance, row })
          }
          for (const { row } of changed.values()) {
            yield* sql`INSERT INTO accounts ${sql.insert(column(row))}
              ON CONFLICT (party, asset, market, type)
              DO UPDATE SET balance = excluded.balance, timestamp = excluded.timestamp`
          }
          const updatedAt = yield* Clock.currentTimeMillis
          yield* sql`INSERT INTO watermarks ${sql.insert({ name: "balances", ...watermark, updated_at: updatedAt })}
            ON CONFLICT (name) DO UPDATE SET timestamp = excluded.timestamp, height = excluded.height,
            updated_at = excluded.updated_at`
          return [...changed.values()].filter(({ before, row }) => before !== row.balance)
        },
        (effect) => effect.pipe(sql.withTransaction, storeError("Observations.advance")),
      )
      return Observations.of({
        advance,
        accounts,
        prune: Effect.fn("Observations.prune")((before: bigint) =>
          sql`DELETE FROM balance_rows WHERE timestamp < ${before}`.pipe(
            Effect.asVoid,
            storeError("Observations.prune"),
          ),
        ),
        history: Effect.fn("Observations.history")((party: string, asset: string, since: bigint) =>
          sql`SELECT party, asset, market, type, balance, timestamp FROM balance_rows
            WHERE timestamp >= ${since} AND asset = ${asset} AND party = ${party} ORDER BY timestamp LIMIT 10000`.pipe(
            rowsOf(AccountRow, "Observations.history"),
          ),
        ),
        watermark:
          sql`SELECT timestamp, height, updated_at AS "updatedAt" FROM watermarks WHERE name = 'balances'`.pipe(
            rowsOf(WatermarkRow, "Observations.watermark"),
            Effect.map((rows) => rows[0]),
          ),
      })
    }),
  )
}

const keyOf = (key: AccountKey): string => `${key.party}|${key.asset}|${key.market}|${key.type}`

const column = (row: BalanceChange) => ({
  timestamp: row.timestamp,
  asset: row.asset,
  party: row.party,
  market: row.market,
  type: row.type,
  balance: row.balance.toString(),
})
