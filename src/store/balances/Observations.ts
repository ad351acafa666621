import { Clock, Context, Effect, Layer, Schema } from "effect"
import { type AccountKey, type BalanceChange, type BlockMark, general } from "../../domain/Balance.ts"
import { Big, rowsOf } from "../database/columns.ts"
import { Database } from "../database/Database.ts"
import { Sql } from "../database/Sql.ts"
import { type StoreError, storeError } from "../database/StoreError.ts"
import { Journal } from "../journal/Journal.ts"
import { makeBackfills } from "./backfills.ts"
import { makePastBalances } from "./pastBalances.ts"
import { type AccountBalance, BalanceColumns, columnsOf, makeStoreRows, readAccounts } from "./storeRows.ts"

/** Milliseconds of a block before any were measured. */
export const blockMillis = 1_000
/** Bounds of what is believed: a time that a gateway makes up neither refuses ordinary work nor keeps hopeless work. */
const blockMillisMin = 100
const blockMillisMax = 10_000
/** Blocks over which it is measured: at least, and before the older half is forgotten. */
const blocksMin = 5n
const blocksMax = 100n

/**
 * Milliseconds that a block of the chain takes, by the times of the blocks up to which balances are known. Ask in each
 * round: it is measured from one asking to the next.
 */
const makeBlockPace = (
  watermark: Effect.Effect<BlockMark | undefined, StoreError>,
): Effect.Effect<number, StoreError> => {
  let first: BlockMark | undefined
  let middle: BlockMark | undefined
  return Effect.map(watermark, (now) => {
    if (now === undefined || now.height === 0n) return blockMillis
    if (first === undefined || middle === undefined || now.height < middle.height) {
      first = now
      middle = now
    }
    const blocks = now.height - first.height
    if (blocks > blocksMax) {
      first = middle
      middle = now
    } else if (2n * (middle.height - first.height) < blocks) middle = now
    return paceOf(first, now)
  })
}

const paceOf = (from: BlockMark, to: BlockMark): number => {
  const blocks = to.height - from.height
  if (blocks < blocksMin) return blockMillis
  const millis = Number(to.timestamp - from.timestamp) / 1e6 / Number(blocks)
  return Math.min(blockMillisMax, Math.max(blockMillisMin, millis))
}

/** Up to where the rows are known: everything strictly below `timestamp` was read and stored. */
const WatermarkRow = Schema.Struct({
  /** Unix nanoseconds. */
  timestamp: Big,
  /** Height of the newest block below it; 0 if the gateway does not report heights. */
  height: Big,
  /** Unix milliseconds of our clock. */
  updatedAt: Schema.Int,
})
export type Watermark = typeof WatermarkRow.Type

const SliceRow = Schema.Struct({ last: Schema.NullOr(Big) })
/** Rows forgotten in one transaction, about: more would stop everything else for too long. */
const prunedAtOnce = 10_000

type Reached = Pick<Watermark, "timestamp" | "height">

/** Accounts of a party and asset whose rows since a block time give way to opening balances. */
interface Reopening {
  readonly party: string
  readonly asset: string
  readonly since: bigint
  readonly openings: ReadonlyArray<BalanceChange>
}

/**
 * Balances that are known, and the past that is still read: balance rows exactly once, the latest balance of each
 * account, and how far they reach.
 */
export class Observations extends Context.Service<Observations>()("cofferer/store/Observations", {
  make: Effect.gen(function* () {
    const sql = yield* Sql
    const rowStore = makeStoreRows(sql)
    const past = makePastBalances(sql)
    const database = yield* Database
    const accounts = database.memoryOf<ReadonlyArray<AccountBalance>>("balances", "account_names")(
      "",
      sql`SELECT party, asset, market, type, balance, timestamp FROM accounts
        ORDER BY party, asset, market, type`.values.pipe(
        Effect.flatMap((rows) => Effect.fromNullishOr(readAccounts(rows))),
        storeError("Observations.accounts"),
      ),
    )
    const watermark = database
      .memoryOf<ReadonlyArray<Watermark>>("watermarks")(
        "",
        sql`SELECT timestamp, height, updated_at AS "updatedAt" FROM watermarks WHERE name = 'balances'`.pipe(
          rowsOf(WatermarkRow, "Observations.watermark"),
        ),
      )
      .pipe(Effect.map((rows) => rows[0]))
    const moveTo = Effect.fnUntraced(function* (name: string, watermark: Reached) {
      const updatedAt = yield* Clock.currentTimeMillis
      yield* sql.write`INSERT INTO watermarks ${sql.insert({ name, ...watermark, updated_at: updatedAt })}
        ON CONFLICT (name) DO UPDATE SET timestamp = excluded.timestamp, height = excluded.height,
        updated_at = excluded.updated_at`
    })
    const beginAt = Effect.fnUntraced(function* (openings: ReadonlyArray<BalanceChange>) {
      for (const row of openings) {
        yield* sql.write`INSERT INTO openings ${sql.insert(columnsOf(row))} ON CONFLICT DO NOTHING`
      }
      return yield* rowStore.storeLatest(openings)
    })
    return {
      ...makeBackfills(sql, yield* Journal, rowStore),
      /**
       * Stores rows and the new watermark together. A row seen before changes nothing, however often it comes; one that
       * comes with another balance is not stored. Returns the accounts whose latest balance changed.
       */
      advance: Effect.fn("Observations.advance")(function* (rows: ReadonlyArray<BalanceChange>, watermark: Reached) {
        const stored = yield* rowStore.store(rows)
        yield* moveTo("balances", watermark)
        return stored
      }, sql.durable("Observations.advance")),
      /**
       * Begins at balances as they are: stores them as the latest, each with the time that it is known for, and the
       * watermark with them. They are no rows of the ledger's history; `history` shows them as opening balances.
       */
      rebase: Effect.fn("Observations.rebase")(function* (openings: ReadonlyArray<BalanceChange>, watermark: Reached) {
        const changes = yield* beginAt(openings)
        yield* moveTo("balances", watermark)
        const base = yield* sql`SELECT name FROM watermarks WHERE name = 'base'`
        if (base.length === 0) yield* moveTo("base", watermark)
        return changes
      }, sql.durable("Observations.rebase")),
      accounts,
      /**
       * Forgets what is older than a block time (Unix nanoseconds), but the balance of each account then: the first
       * movement after it is seen by comparison. Latest balances are kept whatever their age.
       */
      prune: Effect.fn("Observations.prune")(function* (before: bigint) {
        let isPruned = false
        const [pruned] = yield* sql`SELECT timestamp AS last FROM watermarks WHERE name = 'pruned'`.pipe(
          rowsOf(SliceRow, "Observations.prune"),
        )
        // Of the time before the last pruning each account has one row left at most.
        const since = pruned?.last ?? 0n
        for (let until = since; ; yield* Effect.yieldNow) {
          const [slice] = yield* sql`SELECT max(timestamp) AS last FROM (
            SELECT timestamp FROM changes WHERE timestamp >= ${until} AND timestamp < ${before}
            ORDER BY timestamp LIMIT ${prunedAtOnce}) AS slice`.pipe(rowsOf(SliceRow, "Observations.prune"))
          if (slice === undefined || slice.last === null) break
          until = slice.last + 1n
          const gone = yield* sql.withTransaction(sql.write`DELETE FROM changes WHERE (timestamp, account) IN (
            SELECT old.timestamp, old.account FROM changes AS old JOIN (
              SELECT account, max(timestamp) AS last FROM changes
              WHERE timestamp >= ${since} AND timestamp < ${until} GROUP BY account
            ) AS newest ON newest.account = old.account
            WHERE old.timestamp < ${until} AND old.timestamp < newest.last) RETURNING 1 AS one`)
          isPruned ||= gone.length > 0
        }
        yield* sql.withTransaction(
          Effect.gen(function* () {
            const openings = yield* sql.write`DELETE FROM openings WHERE (timestamp, asset, party, market, type) IN (
              SELECT old.timestamp, old.asset, old.party, old.market, old.type FROM openings AS old JOIN (
                SELECT asset, party, market, type, max(timestamp) AS last FROM (
                  SELECT asset, party, market, type, timestamp FROM openings
                  WHERE timestamp >= ${since} AND timestamp < ${before}
                  UNION ALL SELECT asset, party, market, type, timestamp FROM balance_rows
                  WHERE timestamp >= ${since} AND timestamp < ${before}
                ) AS known GROUP BY asset, party, market, type
              ) AS newest ON newest.asset = old.asset AND newest.party = old.party AND newest.market = old.market
                AND newest.type = old.type
              WHERE old.timestamp < newest.last) RETURNING 1 AS one`
            if (isPruned || openings.length > 0) yield* moveTo("pruned", { timestamp: before, height: 0n })
          }),
        )
      }, storeError("Observations.prune")),
      /**
       * Balances of all accounts of one party and asset at a block time (Unix nanoseconds); undefined where one of them
       * is not known. `window` (milliseconds) bounds the search backwards: each call for an account goes on from the
       * last one of the same window, so times should grow.
       */
      at: Effect.fn("Observations.at")((party: string, asset: string, time: bigint, window: number) =>
        past.at(party, asset, time, window).pipe(storeError("Observations.at")),
      ),
      /** Balance by the newest row or opening balance before a block time, if one is known. */
      before: Effect.fn("Observations.before")((account: AccountKey, time: bigint) =>
        past.before(account, time).pipe(storeError("Observations.before")),
      ),
      /**
       * Deletes rows since a block time of one party's accounts of one asset, which start again at `openings`; the
       * watermark stays. Returns how many rows were deleted.
       */
      reopen: Effect.fn("Observations.reopen")(function* ({ party, asset, since, openings }: Reopening) {
        const gone = yield* sql.write`DELETE FROM changes WHERE timestamp >= ${since} AND account IN (
            SELECT id FROM account_names WHERE party = ${party} AND asset = ${asset}) RETURNING 1 AS one`
        yield* sql.write`DELETE FROM openings WHERE timestamp >= ${since} AND party = ${party} AND asset = ${asset}`
        yield* sql.write`DELETE FROM balances WHERE account IN (
            SELECT id FROM account_names WHERE party = ${party} AND asset = ${asset})`
        yield* beginAt(openings)
        past.forget()
        return gone.length
      }, sql.durable("Observations.reopen")),
      /**
       * Rows and opening balances of a party's general account since a block time, oldest first; at most 10,000. Margin
       * accounts may have as many in minutes.
       */
      history: Effect.fn("Observations.history")((party: string, asset: string, since: bigint) =>
        sql`SELECT party, asset, market, type, balance, timestamp FROM balance_rows
          WHERE timestamp >= ${since} AND asset = ${asset} AND party = ${party} AND market = '' AND type = ${general}
          UNION ALL SELECT party, asset, market, type, balance, timestamp FROM openings
          WHERE timestamp >= ${since} AND asset = ${asset} AND party = ${party} AND market = '' AND type = ${general}
          ORDER BY timestamp LIMIT 10000`.pipe(rowsOf(BalanceColumns, "Observations.history")),
      ),
      watermark,
      /** Milliseconds that a block takes, as measured by watermarks from one asking to the next; within bounds. */
      blockMillis: makeBlockPace(watermark),
    }
  }),
}) {
  static readonly layerNoDeps = Layer.effect(Observations, Observations.make)
}
