import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { rowsOf } from "./columns.ts"
import { storeError } from "./StoreError.ts"

const SeqRow = Schema.Struct({ seq: Schema.Int })
/** Alerts forgotten at once: more would stop everything else for too long. */
const prunedAtOnce = 5_000

/**
 * Forgets alerts that every receiver took before a time (Unix milliseconds). What a receiver did not take stays, and
 * so does what stands until a person acts: it is raised again at each look, and only its row says that it was told.
 */
export const pruneAlerts = (sql: SqlClient.SqlClient) =>
  Effect.fn("AlertQueue.prune")(
    function* (before: number) {
      for (let gone = prunedAtOnce; gone === prunedAtOnce; yield* Effect.yieldNow) {
        const old = yield* sql`SELECT seq FROM alerts AS a
          WHERE at < ${before} AND dedup NOT LIKE 'halt/%' AND dedup NOT LIKE 'overflow/%' AND NOT EXISTS
          (SELECT 1 FROM deliveries WHERE alert = a.seq AND (state <> 'delivered' OR updated_at >= ${before}))
          ORDER BY seq LIMIT ${prunedAtOnce}`.pipe(rowsOf(SeqRow, "AlertQueue.prune"))
        gone = old.length
        if (gone === 0) return
        const seqs = sql.in(old.map(({ seq }) => seq))
        yield* sql`DELETE FROM deliveries WHERE alert IN ${seqs}`.pipe(
          Effect.andThen(sql`DELETE FROM alerts WHERE seq IN ${seqs}`),
          sql.withTransaction,
        )
      }
    },
    (effect) => effect.pipe(storeError("AlertQueue.prune")),
  )
