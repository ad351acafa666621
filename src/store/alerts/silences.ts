import { Clock, Effect, Schema } from "effect"
import type { AlertName } from "../../domain/alerts/catalogue.ts"
import { rowsOf } from "../database/columns.ts"
import { Sql } from "../database/Sql.ts"

const SilenceRow = Schema.Struct({
  id: Schema.Int,
  name: Schema.NullOr(Schema.String),
  kind: Schema.NullOr(Schema.String),
  subject: Schema.NullOr(Schema.String),
  author: Schema.String,
  reason: Schema.String,
  at: Schema.Int,
  until: Schema.Int,
})
/** A person's order that alerts of a name, kind and subject (null: any) reach nobody. Times are Unix milliseconds. */
type AlertSilence = typeof SilenceRow.Type

/** Parts of an alert that a silence is compared with. */
type Silenced = Record<"name" | "kind" | "subject", string>

/** No silence covers it: weaker terms come into force unless somebody halts within the hour after this page. */
export const neverSilenced = "terms_changed" satisfies AlertName

/** True if the alert is one of those that the silence names. */
export const isSilencing = ({ name, kind, subject }: AlertSilence, alert: Silenced): boolean =>
  alert.name !== neverSilenced &&
  (name === null || name === alert.name) &&
  (kind === null || kind === alert.kind) &&
  (subject === null || subject === alert.subject)

/**
 * Silences in force at a time (Unix milliseconds), the newest first. One that begins later was written by a clock that
 * was ahead, and does not count: it would last too long by that much.
 */
export const silencesAt = (sql: Sql, now: number) =>
  sql`SELECT * FROM silences WHERE at <= ${now} AND until > ${now} ORDER BY id DESC`.pipe(
    rowsOf(SilenceRow, "Alerts.silences"),
  )

/** Silences in force now. */
export const silencesNow = Effect.flatMap(Sql, (sql) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => silencesAt(sql, now)),
)

/** Forgets silences that begin after a time (Unix milliseconds). */
export const forgetSilencesAfter = Effect.fnUntraced(
  function* (time: number) {
    yield* (yield* Sql).write`DELETE FROM silences WHERE at > ${time}`
  },
  (effect) => Effect.flatMap(Sql, (sql) => sql.change("Alerts.forgetSilences")(effect)),
)

/** Ends a silence now; false if none with this number is in force. */
export const endSilence = Effect.fnUntraced(
  function* (id: number) {
    const sql = yield* Sql
    const now = yield* Clock.currentTimeMillis
    return (
      (yield* sql.write`UPDATE silences SET until = ${now} WHERE id = ${id} AND until > ${now} RETURNING id`).length > 0
    )
  },
  (effect) => Effect.flatMap(Sql, (sql) => sql.change("Alerts.endSilence")(effect)),
)

/** Silences alerts, also those that wait for a receiver. Returns the number of the silence. */
export const addSilence = Effect.fn("Alerts.silence")(
  function* (silence: Omit<AlertSilence, "id" | "at">) {
    const sql = yield* Sql
    const at = yield* Clock.currentTimeMillis
    const [row] = yield* sql.write`INSERT INTO silences ${sql.insert({ ...silence, at })} RETURNING id`
    const { name, kind, subject } = silence
    yield* sql.write`UPDATE deliveries SET state = 'silenced', updated_at = ${at} WHERE state = 'pending' AND alert IN
      (SELECT seq FROM alerts WHERE resolves IS NULL AND name <> ${neverSilenced} AND name = coalesce(${name}, name)
        AND kind = coalesce(${kind}, kind) AND subject = coalesce(${subject}, subject))`
    return Number(row?.["id"])
  },
  (effect) => Effect.flatMap(Sql, (sql) => sql.durable("Alerts.silence")(effect)),
)
