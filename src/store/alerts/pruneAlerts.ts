import { Effect, Schema } from "effect"
import { rowsOf } from "../database/columns.ts"
import type { Sql } from "../database/Sql.ts"
import { storeError } from "../database/StoreError.ts"

const SeqRow = Schema.Struct({ seq: Schema.Int })
/** Alerts forgotten at once: more would stop everything else for too long. */
const prunedAtOnce = 5_000

/**
 * Deletes alerts that ended, and that every receiver got, before a time (Unix milliseconds). Others stay: their
 * all-clear is to come, or is on its way, and only the row shows to whom they were sent, and by which key.
 */
export const pruneAlerts = (sql: Sql) =>
  Effect.fn("AlertQueue.prune")(
    function* (before: number) {
      for (let gone = prunedAtOnce; gone === prunedAtOnce; yield* Effect.yieldNow) {
        const old = yield* sql`SELECT seq FROM alerts AS a
          WHERE ended_at < ${before} AND NOT EXISTS (SELECT 1 FROM deliveries
            WHERE alert = a.seq AND (state NOT IN ('delivered', 'silenced') OR updated_at >= ${before}))
          AND NOT EXISTS (SELECT 1 FROM deliveries WHERE state = 'delivered' AND next_at = a.seq AND alert <> a.seq)
          AND NOT EXISTS (SELECT 1 FROM deliveries AS d JOIN alerts AS o ON o.seq = d.alert WHERE d.state = 'pending'
            AND o.resolves IS NOT NULL AND o.kind = a.kind AND o.subject = a.subject AND o.at = a.ended_at)
          ORDER BY seq LIMIT ${prunedAtOnce}`.pipe(rowsOf(SeqRow, "AlertQueue.prune"))
        gone = old.length
        if (gone === 0) return
        const seqs = sql.in(old.map(({ seq }) => seq))
        yield* sql.write`DELETE FROM deliveries WHERE alert IN ${seqs}`.pipe(
          Effect.andThen(sql.write`DELETE FROM alerts WHERE seq IN ${seqs}`),
          sql.withTransaction,
        )
      }
    },
    (effect) => effect.pipe(storeError("AlertQueue.prune")),
  )
