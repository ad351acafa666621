import { Clock, Effect, Schema } from "effect"
import { rowsOf } from "../database/columns.ts"
import { Sql } from "../database/Sql.ts"
import { Journal } from "../journal/Journal.ts"
import { resolvedAlert, resolvedKeys } from "./endedKeys.ts"

const RecordRow = Schema.Struct({
  seq: Schema.Int,
  name: Schema.String,
  severity: Schema.Literals(["page", "ticket", "info"]),
  kind: Schema.String,
  subject: Schema.String,
  detail: Schema.String,
  at: Schema.Int,
  endedAt: Schema.NullOr(Schema.Int),
  ackedAt: Schema.NullOr(Schema.Int),
  ackedBy: Schema.NullOr(Schema.String),
  ackedReason: Schema.NullOr(Schema.String),
  pending: Schema.Int,
  dead: Schema.Int,
  silenced: Schema.Int,
})
const LedRow = Schema.Struct({ alert: Schema.Int, lead: Schema.Int })
const EndedRow = Schema.Struct({ alert: Schema.Int, by: Schema.Int, severity: RecordRow.fields.severity })
const DeliveryRow = Schema.Struct({
  receiver: Schema.String,
  state: Schema.Literals(["pending", "delivered", "dead_letter", "silenced"]),
  tries: Schema.Int,
  round: Schema.Int,
  error: Schema.NullOr(Schema.String),
  updatedAt: Schema.Int,
})

type AlertState = "firing" | "acknowledged" | "resolved"
const stateOf = ({ endedAt, ackedAt }: Pick<typeof RecordRow.Type, "endedAt" | "ackedAt">): AlertState =>
  endedAt !== null ? "resolved" : ackedAt !== null ? "acknowledged" : "firing"

/** Given up, or set aside because its receiver refuses it alone. */
const isStuck = "d.alert = a.seq AND (d.state = 'dead_letter' OR (d.state = 'pending' AND d.aside = 1))"

const columns = `a.seq, a.name, a.severity, a.kind, a.subject, a.detail, a.at, a.ended_at AS "endedAt",
  a.acked_at AS "ackedAt", a.acked_by AS "ackedBy", a.acked_reason AS "ackedReason",
  (SELECT count(*) FROM deliveries d WHERE d.alert = a.seq AND d.state = 'pending' AND d.aside = 0) AS pending,
  (SELECT count(*) FROM deliveries d WHERE ${isStuck}) AS dead,
  (SELECT count(*) FROM deliveries d WHERE d.alert = a.seq AND d.state = 'silenced') AS silenced`

const viewOf = (row: typeof RecordRow.Type) => ({ ...row, state: stateOf(row) })
export type AlertRecord = ReturnType<typeof viewOf>

const which = {
  standing: `a.ended_at IS NULL OR EXISTS (SELECT 1 FROM deliveries d WHERE ${isStuck})`,
  raised: "a.resolves IS NULL",
  all: "1 = 1",
}

/** Alerts that one call shows or sends again. */
export const alertsMax = 10_000

/**
 * The newest alerts, newest first: `standing` those that stand or that a receiver never got, `raised` those that
 * stand or stood, `all` their all-clears too.
 */
export const listAlerts = Effect.fn("Alerts.list")(function* (limit: number, kind: keyof typeof which) {
  const sql = yield* Sql
  const rows = yield* sql`SELECT ${sql.literal(columns)} FROM alerts a WHERE ${sql.literal(which[kind])}
    ORDER BY a.seq DESC LIMIT ${limit}`.pipe(rowsOf(RecordRow, "Alerts.list"))
  return rows.map(viewOf)
})

/** One alert with its deliveries; undefined if there is none of that number. */
export const showAlert = Effect.fn("Alerts.show")(function* (seq: number) {
  const sql = yield* Sql
  const [row] = yield* sql`SELECT ${sql.literal(columns)} FROM alerts a WHERE a.seq = ${seq}`.pipe(
    rowsOf(RecordRow, "Alerts.show"),
  )
  if (row === undefined) return undefined
  const deliveries = yield* sql`SELECT receiver, state, tries, round, error, updated_at AS "updatedAt" FROM deliveries
    WHERE alert = ${seq} ORDER BY receiver`.pipe(rowsOf(DeliveryRow, "Alerts.deliveries"))
  return { ...viewOf(row), deliveries }
})

/** Notes that a person has taken an alert over: it is not repeated, and escalates no further. */
export const acknowledge = Effect.fn("Alerts.acknowledge")(
  function* (seq: number, by: string, reason: string) {
    const sql = yield* Sql
    const at = yield* Clock.currentTimeMillis
    yield* sql.write`UPDATE alerts SET ${sql.update({ acked_at: at, acked_by: by, acked_reason: reason })} WHERE seq = ${seq}`
    yield* (yield* Journal).append({
      kind: "alert",
      subject: String(seq),
      body: { detail: `acknowledged by ${by}: ${reason}` },
    })
  },
  (effect) => Effect.flatMap(Sql, (sql) => sql.durable("Alerts.acknowledge")(effect)),
)

/**
 * Sends alerts once more: one, or all that a receiver never got. `receivers` are those configured; what was for another
 * goes to those of its severity.
 */
export const resend = Effect.fn("Alerts.resend")(
  function* (seq: number | undefined, receiversFor: (severity: AlertRecord["severity"]) => ReadonlyArray<string>) {
    const sql = yield* Sql
    const now = yield* Clock.currentTimeMillis
    const one = seq === undefined ? undefined : yield* showAlert(seq)
    const all =
      seq === undefined ? (yield* listAlerts(alertsMax, "standing")).filter(({ dead }) => dead > 0) : [one ?? []].flat()
    const ended =
      yield* sql`SELECT e.alert, e.by, b.severity FROM (SELECT ${sql.literal(resolvedAlert)} AS alert, a.seq AS by
      FROM alerts a, ${resolvedKeys(sql)}) e JOIN alerts b ON b.seq = e.alert`.pipe(rowsOf(EndedRow, "Alerts.ended"))
    const led =
      yield* sql`SELECT alert, next_at AS lead FROM deliveries WHERE state = 'delivered' AND next_at <> alert`.pipe(
        rowsOf(LedRow, "Alerts.led"),
      )
    for (const alert of all) {
      yield* sql.write`DELETE FROM deliveries WHERE alert = ${alert.seq} AND state = 'dead_letter'`
      // Its all-clear goes with it: who hears of it again would think for ever that it fires. So does that of the alert
      // that led its message, whose key it is no longer known by.
      const leads = led.filter((one) => one.alert === alert.seq)
      const known = new Set([alert.seq, ...leads.map(({ lead }) => lead)])
      const ends = new Set(ended.flatMap((one) => (known.has(one.alert) ? [one.by] : [])))
      // What an all-clear ends went to those of its own severity, who would think for ever that it fires.
      const of = ended.filter(({ by }) => by === alert.seq)
      const receivers = new Set((of.length === 0 ? [alert] : of).flatMap(({ severity }) => receiversFor(severity)))
      const rows = [alert.seq, ...ends].flatMap((seq) => [...receivers].map((receiver) => ({ alert: seq, receiver })))
      for (const own of rows) {
        const row = { ...own, state: "pending", next_at: now, updated_at: now }
        yield* sql.write`INSERT INTO deliveries ${sql.insert(row)} ON CONFLICT (alert, receiver) DO UPDATE
          SET state = 'pending', tries = 0, aside = 0, round = deliveries.round + 1, next_at = ${now}, updated_at = ${now}`
      }
    }
    return all.map((alert) => alert.seq)
  },
  (effect) => Effect.flatMap(Sql, (sql) => sql.durable("Alerts.resend")(effect)),
)
