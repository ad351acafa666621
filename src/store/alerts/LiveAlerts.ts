import { Clock, Effect, Schema } from "effect"
import { isFactName } from "../../domain/alerts/Alert.ts"
import type { Severity } from "../../domain/alerts/CatalogueEntry.ts"
import { dayMillis, hasElapsed } from "../../domain/Time.ts"
import { rowsOf } from "../database/columns.ts"
import { Database } from "../database/Database.ts"
import { Sql } from "../database/Sql.ts"
import type { HasRule } from "./allClears.ts"
import { isSilencing, silencesAt } from "./silences.ts"

/** When alerts that nobody acknowledged are sent again, and to whom else. Milliseconds after they were raised. */
export interface Reminders {
  /** Undefined: never. */
  readonly repeatMillis: number | undefined
  readonly steps: ReadonlyArray<{
    readonly severities: ReadonlySet<Severity>
    /** Undefined: once a receiver that it went to is not configured any more. */
    readonly afterMillis: number | undefined
    readonly receivers: ReadonlyArray<string>
  }>
  /** Receivers that forget what lasts unless they get it again. */
  readonly forgetful: ReadonlySet<string>
  readonly hasRule: HasRule
}

const OpenRow = Schema.Struct({
  seq: Schema.Int,
  name: Schema.String,
  kind: Schema.String,
  subject: Schema.String,
  severity: Schema.Literals(["page", "ticket", "info"]),
  at: Schema.Int,
  repeats: Schema.Int,
  ackedAt: Schema.NullOr(Schema.Int),
  receiver: Schema.String,
  state: Schema.String,
  updatedAt: Schema.Int,
})
type Open = typeof OpenRow.Type

/**
 * Makes what sends alerts again that last and that nobody acknowledged: to the receivers of the next step of their
 * escalation, or those in place of one that is gone, to everybody after the time of repetition, and those whose
 * silence is over. Forgetful receivers get once a day what lasts, acknowledged or not. Returns true if any is.
 */
export const makeReminders = Effect.gen(function* () {
  const sql = yield* Sql
  const database = yield* Database
  const read = sql`SELECT a.seq, a.name, a.kind, a.subject, a.severity, a.at, a.repeats, a.acked_at AS "ackedAt",
    d.receiver, d.state, d.updated_at AS "updatedAt" FROM alerts a JOIN deliveries d ON d.alert = a.seq
    WHERE a.ended_at IS NULL ORDER BY a.seq`.pipe(rowsOf(OpenRow, "Alerts.open"))
  const open = database.memoryOf<ReadonlyArray<Open>>("alerts", "deliveries")("", read)
  const due = Effect.fnUntraced(function* (reminders: Reminders, now: number) {
    const rows = yield* open
    const all = dueOf(rows, reminders, now)
    if (all.again.length + all.more.length === 0) return all
    const silences = yield* silencesAt(sql, now)
    const isAudible = (row: Open) => !silences.some((silence) => isSilencing(silence, row))
    return dueOf(rows.filter(isAudible), reminders, now)
  })
  const remind = Effect.fnUntraced(function* (reminders: Reminders) {
    const now = yield* Clock.currentTimeMillis
    const { again, more } = yield* due(reminders, now)
    for (const { seq, receiver, state } of again) {
      // What was held back is no repetition, and its tries show that it may have arrived all the same.
      const kept = state === "silenced" ? 1 : 0
      yield* sql.write`UPDATE deliveries SET state = 'pending', tries = tries * ${kept}, aside = 0,
          round = round + 1 - ${kept}, next_at = ${now}, updated_at = ${now}
          WHERE alert = ${seq} AND receiver = ${receiver}`
    }
    for (const { seq, receiver } of more) {
      const row = { alert: seq, receiver, state: "pending", next_at: now, updated_at: now }
      yield* sql.write`INSERT INTO deliveries ${sql.insert(row)} ON CONFLICT DO NOTHING`
    }
    return again.length + more.length > 0
  }, sql.durable("Alerts.remind"))
  // Asked each second where mostly none is: that must not take the write lock.
  return Effect.fnUntraced(function* (reminders: Reminders) {
    const { again, more } = yield* due(reminders, yield* Clock.currentTimeMillis)
    return again.length + more.length > 0 && (yield* remind(reminders))
  })
})

const dueOf = (rows: ReadonlyArray<Open>, reminders: Reminders, now: number) => ({
  again: rows.filter((row) => isDueAgain(row, reminders, now)),
  more: escalations(rows, reminders, now),
})

const isDueAgain = (row: Open, { repeatMillis, forgetful }: Reminders, now: number): boolean => {
  if (row.state !== "delivered") return row.state === "silenced"
  const isPast = (millis: number) => hasElapsed(row.updatedAt, now, millis)
  if (forgetful.has(row.receiver) && !isFactName(row.name) && isPast(dayMillis)) return true
  return row.ackedAt === null && row.repeats === 1 && repeatMillis !== undefined && isPast(repeatMillis)
}

/** Deliveries that the escalation adds. */
const escalations = (rows: ReadonlyArray<Open>, { steps }: Reminders, now: number) =>
  rows.flatMap((row) => {
    if (row.ackedAt !== null) return []
    const isDue = (afterMillis: number | undefined) =>
      afterMillis === undefined ? row.state === "dead_letter" : hasElapsed(row.at, now, afterMillis)
    return steps
      .filter(({ severities, afterMillis }) => severities.has(row.severity) && isDue(afterMillis))
      .flatMap(({ receivers }) => receivers)
      .filter((receiver) => !rows.some((other) => other.seq === row.seq && other.receiver === receiver))
      .map((receiver) => ({ seq: row.seq, receiver }))
  })
