import { Clock, Effect, Schema } from "effect"
import type { BalanceChange } from "../../domain/Balance.ts"
import { Big, rowsOf } from "../database/columns.ts"
import type { Sql } from "../database/Sql.ts"
import type { Journal } from "../journal/Journal.ts"
import type { makeStoreRows } from "./storeRows.ts"

/** A range of past balances that is read in the background. Times are Unix nanoseconds. */
const BackfillRow = Schema.Struct({
  seq: Schema.Int,
  since: Big,
  /** Exclusive. */
  until: Big,
  /** Every row below it is stored. */
  next: Big,
  /** Unix milliseconds of our clock at which `next` last moved. */
  updatedAt: Schema.Int,
})
export type Backfill = typeof BackfillRow.Type

/** A range whose rows the gateway no longer had when they were read. `seenAt`: Unix milliseconds. */
const GapRow = Schema.Struct({ since: Big, until: Big, cause: Schema.String, seenAt: Schema.Int })
type Gap = typeof GapRow.Type
const TimeRow = Schema.Struct({ at: Schema.NullOr(Big) })

/** Progress of reading past balances: ranges wanted, ranges read, and rows that are lost. */
export const makeBackfills = (sql: Sql, journal: Journal["Service"], rowStore: ReturnType<typeof makeStoreRows>) => {
  const read = rowsOf(BackfillRow, "Observations.backfills")
  /** Start of the rows that are known or requested; undefined before the first reading of balances. */
  const begins = sql`SELECT min(at) AS at FROM (SELECT since AS at FROM backfills
    UNION ALL SELECT timestamp AS at FROM watermarks WHERE name = 'base') AS starts`.pipe(
    rowsOf(TimeRow, "Observations.begins"),
    Effect.map(([row]) => row?.at ?? undefined),
  )
  /** Requests the rows between two times. Undefined if a request that has not begun covers all of them. */
  const between = Effect.fn("Observations.backfillBetween")(function* (since: bigint, until: bigint) {
    if (since >= until) return undefined
    const same = yield* sql`SELECT 1 FROM backfills WHERE next = since AND since <= ${since} AND until >= ${until}`
    if (same.length > 0) return undefined
    const at = yield* Clock.currentTimeMillis
    const rows = yield* sql.write`INSERT INTO backfills ${sql.insert({ since, until, next: since, updated_at: at })}
        RETURNING seq, since, until, next, updated_at AS "updatedAt"`.pipe(read)
    yield* journal.append({ kind: "backfill", subject: "balances", body: { since, until, state: "asked" } })
    return rows[0]
  }, sql.durable("Observations.backfillBetween"))
  return {
    begins,
    backfillBetween: between,
    /**
     * Requests the rows since a time, up to the start of those known. Undefined if they are known or requested already,
     * and before the first reading of balances.
     */
    backfillSince: Effect.fn("Observations.backfillSince")(function* (since: bigint) {
      const until = yield* begins
      return until === undefined ? undefined : yield* between(since, until)
    }),
    /** Ranges not read to their end, oldest request first. */
    backfills: sql`SELECT seq, since, until, next, updated_at AS "updatedAt" FROM backfills
      WHERE next < until ORDER BY seq`.pipe(read),
    /** Stores rows and `next` in one transaction. Latest balances and the watermark stay as they are. */
    advanceBackfill: Effect.fn("Observations.advanceBackfill")(function* (
      { seq, since, until }: Backfill,
      rows: ReadonlyArray<BalanceChange>,
      next: bigint,
    ) {
      yield* rowStore.storePast(rows)
      const at = yield* Clock.currentTimeMillis
      yield* sql.write`UPDATE backfills SET next = ${next}, updated_at = ${at} WHERE seq = ${seq}`
      if (next < until) return
      yield* journal.append({ kind: "backfill", subject: "balances", body: { since, until, state: "done" } })
    }, sql.durable("Observations.advanceBackfill")),
    /** Stores and journals that the rows of a range are lost. */
    noteGap: Effect.fn("Observations.noteGap")(function* (gap: Omit<Gap, "seenAt">) {
      const at = yield* Clock.currentTimeMillis
      yield* sql.write`INSERT INTO gaps ${sql.insert({ ...gap, seen_at: at })}`
      yield* journal.append({ kind: "gap", subject: "balances", body: { ...gap } })
    }, sql.durable("Observations.noteGap")),
    /** Newest first, at most 10. */
    gaps: sql`SELECT since, until, cause, seen_at AS "seenAt" FROM gaps ORDER BY seq DESC LIMIT 10`.pipe(
      rowsOf(GapRow, "Observations.gaps"),
    ),
  }
}
