import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { AccountKey, BalanceChange } from "../domain/Balance.ts"
import { type Correction, type Held, makeAccountRows, type Newest } from "./accountRows.ts"
import { BalanceColumns, type Contradiction, columnsOf, readAccounts } from "./balanceRows.ts"
import { Big, rowsOf } from "./columns.ts"
import type { Change } from "./compareRows.ts"
import { Database } from "./Database.ts"
import { makePastBalances } from "./pastBalances.ts"
import { type StoreError, storeError } from "./StoreError.ts"
import { makeStoreRows } from "./storeRows.ts"

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

const WatermarkRow = Schema.Struct({ timestamp: Big, height: Big, updatedAt: Schema.Int })

/** Rows forgotten in one transaction: more would stop everything else for too long. */
const prunedAtOnce = 10_000

type Reached = Pick<Watermark, "timestamp" | "height">

/** Balance rows exactly once, the latest balance of each account, and how far they reach. */
export class Observations extends Context.Service<
  Observations,
  {
    /**
     * Stores rows and the new watermark together. A row seen before changes nothing, however often it comes; one that
     * comes with another balance is not stored, and returned as a contradiction. Returns the accounts whose latest
     * balance changed, too.
     */
    readonly advance: (
      rows: ReadonlyArray<BalanceChange>,
      watermark: Reached,
    ) => Effect.Effect<
      { readonly changes: ReadonlyArray<Change>; readonly contradictions: ReadonlyArray<Contradiction> },
      StoreError
    >
    /**
     * Begins at balances as they are: stores them as the latest, each with the time that it is known for, and the
     * watermark with them. They are no rows of the ledger's history; `history` shows them as opening balances.
     */
    readonly rebase: (
      openings: ReadonlyArray<BalanceChange>,
      watermark: Reached,
    ) => Effect.Effect<ReadonlyArray<Change>, StoreError>
    /**
     * Balances of all accounts of one party and asset at a block time (Unix nanoseconds); undefined where one of them
     * is not known. `window` is how far back one looks (milliseconds): each call for an account goes on from the last
     * one of the same window, so times should grow.
     */
    readonly at: (
      party: string,
      asset: string,
      time: bigint,
      window: number,
    ) => Effect.Effect<ReadonlyArray<AccountBalance> | undefined, StoreError>
    readonly watermark: Effect.Effect<Watermark | undefined, StoreError>
    /** Forgets rows before a block time (Unix nanoseconds). Latest balances are kept whatever their age. */
    readonly prune: (before: bigint) => Effect.Effect<void, StoreError>
    readonly accounts: Effect.Effect<ReadonlyArray<AccountBalance>, StoreError>
    /** Rows of one account since a block time, newest first, `max` at most. */
    readonly rowsOf: (account: AccountKey, since: bigint, max: number) => Effect.Effect<ReadonlyArray<Held>, StoreError>
    /** What an account held by its newest row or opening balance before a block time, if one is known. */
    readonly before: (account: AccountKey, time: bigint) => Effect.Effect<Newest | undefined, StoreError>
    /**
     * Takes rows back that were proven wrong, and stores others in their place; the latest balance is then that of
     * the newest row or opening balance left, and none where none is left. All or none. Twice is once.
     */
    readonly correct: (corrections: ReadonlyArray<Correction>) => Effect.Effect<void, StoreError>
    /** Rows of a part of block time, `end` excluded, in no order. */
    readonly between: (from: bigint, end: bigint) => Effect.Effect<ReadonlyArray<AccountBalance>, StoreError>
    /** Rows and opening balances of one party and asset since a block time, oldest first; at most 10,000. */
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
      const rowStore = makeStoreRows(sql)
      const past = makePastBalances(sql)
      const single = makeAccountRows(sql, rowStore)
      const database = yield* Database
      const accounts = database.memoryOf<ReadonlyArray<AccountBalance>>("balances", "account_names")(
        "",
        sql`SELECT party, asset, market, type, balance, timestamp FROM accounts
          ORDER BY party, asset, market, type`.values.pipe(
          Effect.flatMap((rows) => Effect.fromNullishOr(readAccounts(rows))),
          storeError("Observations.accounts"),
        ),
      )
      const watermarks = database.memoryOf<ReadonlyArray<Watermark>>("watermarks")(
        "",
        sql`SELECT timestamp, height, updated_at AS "updatedAt" FROM watermarks WHERE name = 'balances'`.pipe(
          rowsOf(WatermarkRow, "Observations.watermark"),
        ),
      )
      const moveTo = Effect.fnUntraced(function* (name: string, watermark: Reached) {
        const updatedAt = yield* Clock.currentTimeMillis
        yield* sql`INSERT INTO watermarks ${sql.insert({ name, ...watermark, updated_at: updatedAt })}
          ON CONFLICT (name) DO UPDATE SET timestamp = excluded.timestamp, height = excluded.height,
          updated_at = excluded.updated_at`
      })
      const advance = Effect.fn("Observations.advance")(
        function* (rows: ReadonlyArray<BalanceChange>, watermark: Reached) {
          const stored = yield* rowStore.store(rows)
          yield* moveTo("balances", watermark)
          return stored
        },
        (effect) => effect.pipe(sql.withTransaction, storeError("Observations.advance")),
      )
      const rebase = Effect.fn("Observations.rebase")(
        function* (openings: ReadonlyArray<BalanceChange>, watermark: Reached) {
          for (const row of openings) {
            yield* sql`INSERT INTO openings ${sql.insert(columnsOf(row))} ON CONFLICT DO NOTHING`
          }
          const changes = yield* rowStore.storeLatest(openings)
          yield* moveTo("balances", watermark)
          const base = yield* sql`SELECT name FROM watermarks WHERE name = 'base'`
          if (base.length === 0) yield* moveTo("base", watermark)
          return changes
        },
        (effect) => effect.pipe(sql.withTransaction, storeError("Observations.rebase")),
      )
      return Observations.of({
        advance,
        rebase,
        accounts,
        prune: Effect.fn("Observations.prune")(function* (before: bigint) {
          let isPruned = false
          for (let gone = prunedAtOnce; gone === prunedAtOnce; yield* Effect.yieldNow) {
            gone = (yield* sql`DELETE FROM changes WHERE (timestamp, account) IN (SELECT timestamp, account
              FROM changes WHERE timestamp < ${before} ORDER BY timestamp LIMIT ${prunedAtOnce}) RETURNING 1 AS one`)
              .length
            isPruned ||= gone > 0
          }
          const openings = yield* sql`DELETE FROM openings WHERE timestamp < ${before} RETURNING 1 AS one`
          if (isPruned || openings.length > 0) yield* moveTo("pruned", { timestamp: before, height: 0n })
        }, storeError("Observations.prune")),
        between: Effect.fn("Observations.between")((from: bigint, end: bigint) =>
          sql`SELECT party, asset, market, type, balance, timestamp FROM balance_rows
            WHERE timestamp >= ${from} AND timestamp < ${end}`.pipe(rowsOf(BalanceColumns, "Observations.between")),
        ),
        at: Effect.fn("Observations.at")((party, asset, time, window) =>
          past.at(party, asset, time, window).pipe(storeError("Observations.at")),
        ),
        rowsOf: Effect.fn("Observations.rowsOf")((account: AccountKey, since: bigint, max: number) =>
          single.rows(account, since, max),
        ),
        before: Effect.fn("Observations.before")((account: AccountKey, time: bigint) => single.newest(account, time)),
        correct: Effect.fn("Observations.correct")(
          function* (corrections: ReadonlyArray<Correction>) {
            for (const correction of corrections) yield* single.correct(correction)
            past.forget()
          },
          (effect) => effect.pipe(sql.withTransaction, storeError("Observations.correct")),
        ),
        history: Effect.fn("Observations.history")((party: string, asset: string, since: bigint) =>
          sql`SELECT party, asset, market, type, balance, timestamp FROM balance_rows
            WHERE timestamp >= ${since} AND asset = ${asset} AND party = ${party}
            UNION ALL SELECT party, asset, market, type, balance, timestamp FROM openings
            WHERE timestamp >= ${since} AND asset = ${asset} AND party = ${party}
            ORDER BY timestamp LIMIT 10000`.pipe(rowsOf(BalanceColumns, "Observations.history")),
        ),
        watermark: Effect.map(watermarks, (rows) => rows[0]),
      })
    }),
  )
}
