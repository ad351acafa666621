import { Effect, Schema } from "effect"
import { rowsOf } from "../database/columns.ts"
import type { Sql } from "../database/Sql.ts"
import { storeError } from "../database/StoreError.ts"

/** Identity by which a receiver knows a message. */
export const KeyRow = Schema.Struct({
  dedup: Schema.String,
  severity: Schema.Literals(["page", "ticket", "info"]),
  kind: Schema.String,
  subject: Schema.String,
  at: Schema.Int,
})
export type EndedKey = typeof KeyRow.Type
const DedupRow = Schema.Struct({ dedup: Schema.String })
const LeadRow = Schema.Struct({ lead: Schema.Int, own: Schema.Int, alone: Schema.Int })

/** Keys that the all-clear `a` resolves, as rows of `r`. */
export const resolvedKeys = (sql: Sql) =>
  sql.literal(
    sql.onDialectOrElse({
      pg: () => "json_array_elements_text(a.resolves::json) AS r (value)",
      orElse: () => "json_each(a.resolves) AS r",
    }),
  )

/**
 * Number of the alert of such a key, which `a` ended; NULL if none is stored. No join: for each all-clear PostgreSQL
 * would read half of the alerts.
 */
export const resolvedAlert =
  "(SELECT b.seq FROM alerts b WHERE b.dedup = r.value AND b.seq < a.seq AND b.resolves IS NULL)"

/**
 * True of an alert, and of an all-clear before which the receiver of `d` has what it ends: it would think for ever that
 * this fires. One set aside holds it up only where it ends nothing else.
 */
export const isNext = (sql: Sql) => sql`(a.resolves IS NULL OR 1 = (SELECT coalesce(max((SELECT
  CASE WHEN e.state <> 'pending' THEN 1 WHEN e.aside = 0 THEN 2 ELSE 0 END FROM deliveries e
  WHERE e.alert = ${sql.literal(resolvedAlert)} AND e.receiver = d.receiver)), 1) FROM ${resolvedKeys(sql)}))`

/** True of stored alerts with this `dedup`, or with one that begins with it up to a "/". */
export const isUnder = (sql: Sql, dedup: string) =>
  sql`(a.dedup = ${dedup} OR (a.dedup >= ${`${dedup}/`} AND a.dedup < ${`${dedup}0`}))`

/** Alerts that stand, by what an all-clear resolves. */
export const standingDedups = (sql: Sql, resolves: ReadonlyArray<string>) =>
  Effect.map(
    Effect.forEach(resolves, (dedup) =>
      sql`SELECT a.dedup FROM alerts a WHERE a.ended_at IS NULL AND ${isUnder(sql, dedup)} ORDER BY a.seq`.pipe(
        rowsOf(DedupRow, "AlertQueue.standing"),
      ),
    ),
    (rows) => [...new Set(rows.flat().map(({ dedup }) => dedup))],
  )

/** An all-clear by its row. */
interface Over {
  readonly seq: number
  readonly resolves: ReadonlyArray<string> | null
}

/**
 * Numbers of the alerts by whose keys a receiver knows what an all-clear ends: of the one that led its message, and of
 * its own if it may have been sent alone, such as when an answer was lost. An earlier version kept no lead: 0.
 */
const keysOf = (sql: Sql, { seq, resolves }: Over, receiver: string) =>
  Effect.map(
    Effect.forEach(resolves ?? [], (dedup) =>
      sql`SELECT CASE WHEN d.state = 'delivered' AND d.next_at > 0 THEN d.next_at ELSE a.seq END AS lead, a.seq AS own,
        CASE WHEN d.tries > 1 OR d.round > 0 THEN 1 ELSE 0 END AS alone
        FROM alerts a JOIN deliveries d ON d.alert = a.seq WHERE d.receiver = ${receiver} AND a.seq < ${seq}
        AND a.resolves IS NULL AND ${isUnder(sql, dedup)} ORDER BY a.seq`.pipe(rowsOf(LeadRow, "AlertQueue.keysOf")),
    ),
    (rows) => new Set(rows.flat().flatMap(({ lead, own, alone }) => (alone === 1 ? [lead, own] : [lead]))),
  )

/** Identity of a key; undefined while anything stands that its receiver knows by it. */
const endedKey = (sql: Sql, key: number, receiver: string) =>
  Effect.map(
    sql`SELECT k.dedup, k.severity, k.kind, k.subject, k.at FROM alerts k WHERE k.seq = ${key}
      AND k.ended_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM deliveries d JOIN alerts a ON a.seq = d.alert
        WHERE d.state = 'delivered' AND d.next_at = ${key} AND d.receiver = ${receiver} AND a.ended_at IS NULL)`.pipe(
      rowsOf(KeyRow, "AlertQueue.endedKey"),
    ),
    ([found]) => found,
  )

/** How many of these all-clears, from the first one on, a message has that ends at most `max` keys, and these keys. */
export const keysEndedBy = Effect.fnUntraced(function* (
  sql: Sql,
  overs: ReadonlyArray<Over>,
  { receiver, max }: { readonly receiver: string; readonly max: number },
) {
  const known = new Map<number, EndedKey | undefined>()
  const ended = () => [...known.values()].filter((key) => key !== undefined)
  for (const [n, over] of overs.entries()) {
    const before = ended()
    for (const key of yield* keysOf(sql, over, receiver)) {
      if (!known.has(key)) known.set(key, yield* endedKey(sql, key, receiver))
    }
    if (n > 0 && ended().length > max) return { count: n, keys: before }
  }
  return { count: overs.length, keys: ended() }
})

const SeqRow = Schema.Struct({ seq: Schema.Int })
/** Alerts forgotten at once: more would stop everything else for too long. */
const prunedAtOnce = 5_000

/**
 * Deletes alerts that ended, and that every receiver got, before a time (Unix milliseconds). Others stay: their
 * all-clear is to come, or is on its way, and only the row shows to whom they were sent, and by which key. An all-clear
 * stays for as long as what it ended, which may be sent again.
 */
export const pruneAlerts = (sql: Sql) =>
  Effect.fn("AlertQueue.prune")(function* (before: number) {
    for (; ; yield* Effect.yieldNow) {
      const old = yield* sql`SELECT seq FROM alerts WHERE ended_at < ${before}
          AND seq NOT IN (SELECT alert FROM deliveries
            WHERE state NOT IN ('delivered', 'silenced') OR updated_at >= ${before})
          AND seq NOT IN (SELECT next_at FROM deliveries WHERE state = 'delivered' AND next_at <> alert)
          AND seq NOT IN (SELECT coalesce(${sql.literal(resolvedAlert)}, 0)
            FROM deliveries d JOIN alerts a ON a.seq = d.alert, ${resolvedKeys(sql)} WHERE d.state = 'pending')
          AND seq NOT IN (SELECT a.seq FROM alerts a, ${resolvedKeys(sql)} WHERE ${sql.literal(resolvedAlert)} IS NOT NULL)
          ORDER BY seq LIMIT ${prunedAtOnce}`.pipe(rowsOf(SeqRow, "AlertQueue.prune"))
      if (old.length === 0) return
      const seqs = sql.in(old.map(({ seq }) => seq))
      yield* sql.write`DELETE FROM deliveries WHERE alert IN ${seqs}`.pipe(
        Effect.andThen(sql.write`DELETE FROM alerts WHERE seq IN ${seqs}`),
        sql.withTransaction,
      )
    }
  }, storeError("AlertQueue.prune"))
