import { Effect, Schema } from "effect"
import { rowsOf } from "../database/columns.ts"
import type { Sql } from "../database/Sql.ts"
import { storeError } from "../database/StoreError.ts"
import { endedByA, keysOfA } from "./endedKeys.ts"

const SeqRow = Schema.Struct({ seq: Schema.Int })
/** Alerts forgotten at once: more would stop everything else for too long. */
const prunedAtOnce = 5_000

/**
 * Deletes alerts that ended, and that every receiver got, before a time (Unix milliseconds). Others stay: their
 * all-clear is to come, or is on its way, and only the row shows to whom they were sent, and by which key. An all-clear
 * stays for as long as what it ended, which may be sent again.
 */
export const pruneAlerts = (sql: Sql) =>
  Effect.fn("AlertQueue.prune")(
    function* (before: number) {
      for (; ; yield* Effect.yieldNow) {
        const old = yield* sql`SELECT seq FROM alerts WHERE ended_at < ${before}
          AND seq NOT IN (SELECT alert FROM deliveries
            WHERE state NOT IN ('delivered', 'silenced') OR updated_at >= ${before})
          AND seq NOT IN (SELECT next_at FROM deliveries WHERE state = 'delivered' AND next_at <> alert)
          AND seq NOT IN (SELECT coalesce(${sql.literal(endedByA)}, 0)
            FROM deliveries d JOIN alerts a ON a.seq = d.alert, ${keysOfA(sql)} WHERE d.state = 'pending')
          AND seq NOT IN (SELECT a.seq FROM alerts a, ${keysOfA(sql)} WHERE ${sql.literal(endedByA)} IS NOT NULL)
          ORDER BY seq LIMIT ${prunedAtOnce}`.pipe(rowsOf(SeqRow, "AlertQueue.prune"))
        if (old.length === 0) return
        const seqs = sql.in(old.map(({ seq }) => seq))
        yield* sql.write`DELETE FROM deliveries WHERE alert IN ${seqs}`.pipe(
          Effect.andThen(sql.write`DELETE FROM alerts WHERE seq IN ${seqs}`),
          sql.withTransaction,
        )
      }
    },
    (effect) => effect.pipe(storeError("AlertQueue.prune")),
  )
