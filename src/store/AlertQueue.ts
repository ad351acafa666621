import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { rowsOf } from "./columns.ts"
import { Database } from "./Database.ts"
import { pruneAlerts } from "./pruneAlerts.ts"
import { type StoreError, storeError } from "./StoreError.ts"

/** Something people should know. */
export interface Alert {
  /** Says what it is about: a second alert with the same text here is the same alert, and is not sent again. */
  readonly dedup: string
  readonly severity: "page" | "ticket" | "info"
  /** Static word: "asset", "intent", "loop" … */
  readonly kind: string
  readonly subject: string
  /** One sentence for a person. */
  readonly detail: string
  readonly fields: Readonly<Record<string, string | number | boolean>>
  /**
   * Of an all-clear: `dedup` of each alert that it ends, or its beginning up to a "/". It goes to their receivers
   * alone, or by its severity where none is stored any more.
   */
  readonly resolves?: ReadonlyArray<string>
  /** Receivers; absent or none: those of its severity. */
  readonly to?: ReadonlyArray<string>
}

/** Alerts that a receiver has not taken. */
export interface Pending {
  readonly receiver: string
  readonly n: number
  readonly pages: number
  /** Unix milliseconds at which the oldest was raised. */
  readonly oldest: number
}

/** One alert on its way to one receiver. */
export interface Delivery extends Alert {
  /** Below 0 for one that the store could not take. */
  readonly seq: number
  readonly receiver: string
  readonly tries: number
  /** Unix milliseconds at which it was raised. */
  readonly at: number
}

const DeliveryRow = Schema.Struct({
  seq: Schema.Int,
  receiver: Schema.String,
  tries: Schema.Int,
  dedup: Schema.String,
  severity: Schema.Literals(["page", "ticket", "info"]),
  kind: Schema.String,
  subject: Schema.String,
  detail: Schema.String,
  fields: Schema.fromJsonString(
    Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Finite, Schema.Boolean])),
  ),
  at: Schema.Int,
})
/** How one try ended, as the row of its delivery says it. */
interface Outcome {
  readonly seq: number
  readonly receiver: string
  readonly tries: number
  readonly state: "delivered" | "pending" | "dead_letter"
  readonly error: string | null
  readonly nextAt: number
  readonly at: number
}

const FirstRow = Schema.Struct({ at: Schema.NullOr(Schema.Int), written: Schema.NullOr(Schema.Int) })
const noDelivery = { at: null, written: null }
/** An alert that the store could not take. `nextAt` is infinite once it was delivered. */
interface Spoken {
  readonly delivery: Delivery
  readonly nextAt: number
  readonly writtenAt: number
}
const PendingRow = Schema.Struct({
  receiver: Schema.String,
  n: Schema.Int,
  pages: Schema.Int,
  oldest: Schema.Int,
})
const ReceiverRow = Schema.Struct({ receiver: Schema.String })

/** Receivers of stored alerts, by what an all-clear resolves. */
const receiversOf = (sql: SqlClient.SqlClient, resolves: ReadonlyArray<string>) =>
  Effect.forEach(resolves, (dedup) =>
    sql`SELECT DISTINCT d.receiver FROM deliveries d JOIN alerts a ON a.seq = d.alert
      WHERE a.dedup = ${dedup} OR (a.dedup >= ${`${dedup}/`} AND a.dedup < ${`${dedup}0`})`.pipe(
      rowsOf(ReceiverRow, "AlertQueue.receiversOf"),
    ),
  ).pipe(Effect.map((rows) => rows.flat().map(({ receiver }) => receiver)))

/**
 * Alerts are durable before anybody is told, and stay until each receiver has taken them. What was written later than
 * now was written while a clock was wrong, and is due.
 */
export class AlertQueue extends Context.Service<
  AlertQueue,
  {
    /**
     * Stores an alert for the receivers of its severity; false where the same one is stored already. Receivers that
     * took it from memory, where it was spoken under another name, are not told again.
     */
    readonly raise: (alert: Alert, spokenAs?: string) => Effect.Effect<boolean, StoreError>
    /**
     * Says that what an alert told is over, once and to who got it. `of` is its `dedup`, or the beginning of several
     * up to a "/"; false where nobody heard of it.
     */
    readonly allClear: (
      of: string,
      alert: Pick<Alert, "kind" | "subject" | "detail" | "fields">,
    ) => Effect.Effect<boolean, StoreError>
    /** Keeps an alert in memory, for as long as this process lives: for when the store takes no writes. */
    readonly speak: (alert: Alert) => Effect.Effect<void>
    /** Forgets an alert in memory, once it is stored. */
    readonly forget: (dedup: string) => Effect.Effect<void>
    /** Deliveries due now, to one receiver or to all: those in memory, then pages, then the oldest, `count` at most. */
    readonly due: (count: number, receiver?: string) => Effect.Effect<ReadonlyArray<Delivery>, StoreError>
    /**
     * Notes that the receiver has it. What the store does not take is kept in memory, and noted once it does: nobody is
     * told twice meanwhile.
     */
    readonly delivered: (delivery: Delivery) => Effect.Effect<void, StoreError>
    /** Notes a failed try, likewise; `nextAt` undefined gives the delivery up, visibly. */
    readonly failed: (delivery: Delivery, error: string, nextAt: number | undefined) => Effect.Effect<void, StoreError>
    /** Stored deliveries that wait, by receiver: how many, how many of them pages, and when the oldest was raised. */
    readonly pending: Effect.Effect<ReadonlyArray<Pending>, StoreError>
    /** Forgets alerts that every receiver took before a time (Unix milliseconds); what was not taken stays. */
    readonly prune: (before: number) => Effect.Effect<void, StoreError>
  }
>()("cofferer/store/AlertQueue") {
  static readonly layer = (receiversFor: (severity: Alert["severity"]) => ReadonlyArray<string>) =>
    Layer.effect(
      AlertQueue,
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const spoken = new Map<string, Spoken>()
        const nameOf = (alert: Alert, receiver: string) => `${receiver} ${alert.dedup}`
        const retell = (delivery: Delivery, nextAt: number | undefined) =>
          Effect.map(Clock.currentTimeMillis, (writtenAt) => {
            const name = nameOf(delivery, delivery.receiver)
            if (nextAt === undefined) spoken.delete(name)
            else spoken.set(name, { delivery: { ...delivery, tries: delivery.tries + 1 }, nextAt, writtenAt })
          })
        const unnoted = new Map<string, Outcome>()
        const note = ({ seq, receiver, tries, state, error, nextAt, at }: Outcome) =>
          sql`UPDATE deliveries SET state = ${state}, tries = ${tries}, error = ${error}, next_at = ${nextAt},
            updated_at = ${at} WHERE alert = ${seq} AND receiver = ${receiver}`.pipe(
            Effect.asVoid,
            storeError("AlertQueue.end"),
          )
        const end = Effect.fnUntraced(function* (
          { seq, receiver, tries }: Delivery,
          how: Pick<Outcome, "state" | "error" | "nextAt">,
        ) {
          const outcome = { seq, receiver, tries: tries + 1, ...how, at: yield* Clock.currentTimeMillis }
          yield* note(outcome).pipe(
            Effect.tapError(() => Effect.sync(() => unnoted.set(`${seq} ${receiver}`, outcome))),
          )
        })
        /** As before where the store still takes nothing. */
        const noteRest = Effect.suspend(() =>
          Effect.forEach(
            [...unnoted],
            ([name, outcome]) => Effect.tap(note(outcome), () => Effect.sync(() => unnoted.delete(name))),
            { discard: true },
          ),
        ).pipe(Effect.catchTag("StoreError", () => Effect.void))
        const hasTaken = (dedup: string | undefined, receiver: string): boolean =>
          spoken.get(`${receiver} ${dedup}`)?.nextAt === Number.POSITIVE_INFINITY
        const first = (yield* Database).memoryOf<ReadonlyArray<typeof FirstRow.Type>>("deliveries")(
          "",
          sql`SELECT min(next_at) AS at, max(updated_at) AS written FROM deliveries WHERE state = 'pending'`.pipe(
            rowsOf(FirstRow, "AlertQueue.first"),
          ),
        )
        const stored = Effect.fnUntraced(function* (now: number, count: number, receiver: string | undefined) {
          const { at, written } = (yield* first)[0] ?? noDelivery
          if (at === null || (at > now && (written ?? 0) <= now)) return []
          const rows = yield* sql`SELECT a.seq, d.receiver, d.tries, a.dedup, a.severity, a.kind, a.subject, a.detail,
            a.fields, a.at FROM deliveries d JOIN alerts a ON a.seq = d.alert
            WHERE d.state = 'pending' AND (d.next_at <= ${now} OR d.updated_at > ${now})
            AND d.receiver = coalesce(${receiver ?? null}, d.receiver)
            ORDER BY a.severity <> 'page', a.seq, d.receiver
            LIMIT ${count + unnoted.size}`.pipe(rowsOf(DeliveryRow, "AlertQueue.due"))
          return rows.flatMap((row) => {
            const known = unnoted.get(`${row.seq} ${row.receiver}`)
            if (known === undefined) return [row]
            const isDue = known.nextAt <= now || known.at > now
            return known.state === "pending" && isDue ? [{ ...row, tries: known.tries }] : []
          })
        })
        const raise: AlertQueue["Service"]["raise"] = Effect.fn("AlertQueue.raise")(
          function* ({ resolves = [], to = [], ...alert }: Alert, spokenAs?: string) {
            const at = yield* Clock.currentTimeMillis
            const rows =
              yield* sql`INSERT INTO alerts ${sql.insert({ ...alert, fields: JSON.stringify(alert.fields), at })}
              ON CONFLICT (dedup) DO NOTHING RETURNING seq`
            const seq = rows[0]?.["seq"]
            if (seq === undefined) return false
            const named = [...to, ...(yield* receiversOf(sql, resolves))]
            for (const receiver of new Set(named.length === 0 ? receiversFor(alert.severity) : named)) {
              yield* sql`INSERT INTO deliveries ${sql.insert({
                alert: seq,
                receiver,
                state: hasTaken(spokenAs, receiver) ? "delivered" : "pending",
                next_at: at,
                updated_at: at,
              })}`
            }
            return true
          },
          (effect) => effect.pipe(sql.withTransaction, storeError("AlertQueue.raise")),
        )
        return AlertQueue.of({
          raise,
          allClear: Effect.fn("AlertQueue.allClear")(
            function* (of: string, alert: Pick<Alert, "kind" | "subject" | "detail" | "fields">) {
              if ((yield* receiversOf(sql, [of])).length === 0) return false
              const fields = { ...alert.fields, over: true }
              return yield* raise({ ...alert, fields, dedup: `${of}/over`, severity: "info", resolves: [of] })
            },
            (effect) => effect.pipe(storeError("AlertQueue.allClear")),
          ),
          speak: (alert) =>
            Effect.map(Clock.currentTimeMillis, (at) => {
              for (const receiver of new Set(receiversFor(alert.severity))) {
                const name = nameOf(alert, receiver)
                const delivery = { ...alert, seq: -1 - spoken.size, receiver, tries: 0, at }
                if (!spoken.has(name)) spoken.set(name, { delivery, nextAt: at, writtenAt: at })
              }
            }),
          forget: (dedup) =>
            Effect.sync(() => {
              for (const [name, { delivery }] of spoken) if (delivery.dedup === dedup) spoken.delete(name)
            }),
          due: Effect.fn("AlertQueue.due")(function* (count: number, receiver?: string) {
            const now = yield* Clock.currentTimeMillis
            if (unnoted.size > 0) yield* noteRest
            const rows: ReadonlyArray<Delivery> = yield* stored(now, count, receiver)
            const told = [...spoken.values()].filter(
              ({ delivery, nextAt, writtenAt }) =>
                (receiver ?? delivery.receiver) === delivery.receiver &&
                (nextAt <= now || (writtenAt > now && nextAt < Infinity)),
            )
            return [...told.map(({ delivery }) => delivery), ...rows]
          }),
          delivered: Effect.fn("AlertQueue.delivered")((delivery: Delivery) =>
            delivery.seq < 0
              ? retell(delivery, Number.POSITIVE_INFINITY)
              : end(delivery, { state: "delivered", error: null, nextAt: 0 }),
          ),
          failed: Effect.fn("AlertQueue.failed")((delivery: Delivery, error: string, nextAt: number | undefined) =>
            delivery.seq < 0
              ? retell(delivery, nextAt)
              : end(delivery, { state: nextAt === undefined ? "dead_letter" : "pending", error, nextAt: nextAt ?? 0 }),
          ),
          pending: sql`SELECT d.receiver, count(*) AS n, min(a.at) AS oldest,
          sum(CASE WHEN a.severity = 'page' THEN 1 ELSE 0 END) AS pages FROM deliveries d
          JOIN alerts a ON a.seq = d.alert WHERE d.state = 'pending' GROUP BY d.receiver`.pipe(
            rowsOf(PendingRow, "AlertQueue.pending"),
          ),
          prune: pruneAlerts(sql),
        })
      }),
    )
}
