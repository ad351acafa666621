import { Array as Arr, Clock, Context, Effect, Layer, Schema } from "effect"
import type { Statement } from "effect/sql"
import { type Alert, isFactName } from "../../domain/alerts/Alert.ts"
import { rowsOf } from "../database/columns.ts"
import { Database } from "../database/Database.ts"
import { Sql } from "../database/Sql.ts"
import { storeError } from "../database/StoreError.ts"
import {
  type EndedKey,
  isNext,
  isUnder,
  KeyRow,
  keysEndedBy,
  pruneAlerts,
  resolvedAlert,
  resolvedKeys,
  standingDedups,
} from "./endedKeys.ts"
import { isSilencing, silencesAt } from "./silences.ts"

const AlertRow = Schema.Struct({ at: Schema.Int, subject: Schema.String, detail: Schema.String })

/** The last alert of a notify or alert rule up to a time (Unix milliseconds); undefined if none is stored. */
export const lastAlertOf = Effect.fn("Alerts.lastOf")(function* (
  { kind, name }: { readonly kind: "notify" | "alert"; readonly name: string },
  until: number,
) {
  const sql = yield* Sql
  const prefix = `${kind === "alert" ? "rule" : "asset"}/${name}`
  // "0" follows "/": all names that begin with the rule's, by the index.
  const rows = yield* sql`SELECT at, subject, detail FROM alerts
    WHERE dedup >= ${`${prefix}/`} AND dedup < ${`${prefix}0`} AND at <= ${until} ORDER BY seq DESC LIMIT 1`.pipe(
    rowsOf(AlertRow, "Alerts.lastOf"),
  )
  return rows[0]
})

/** Alerts that a receiver has not taken. */
export interface Pending {
  readonly receiver: string
  readonly n: number
  /** Those that do not wait for their group. */
  readonly due: number
  readonly pages: number
  /** Unix milliseconds at which the oldest was raised. */
  readonly oldest: number
  /** Why the last try failed; null where none did. */
  readonly error: string | null
}

/** One alert on its way to one receiver. */
export interface Delivery extends Omit<Alert, "resolves" | "to" | "name" | "repeats"> {
  readonly seq: number
  readonly name: string
  /** How often it was repeated to this receiver: each repetition is a message of its own. */
  readonly round: number
  /** Later alerts that go with it as one message; none where it goes alone. */
  readonly group: ReadonlyArray<typeof MemberRow.Type>
  readonly receiver: string
  readonly tries: number
  /** Unix milliseconds at which it was raised. */
  readonly at: number
  /** It failed where others did not: it waits by itself, and nothing waits for it. */
  readonly aside: boolean
  /** Keys that an all-clear ends at this receiver; none while others still hold them, undefined for an alert. */
  readonly resolves: ReadonlyArray<EndedKey> | undefined
}

const Resolves = Schema.NullOr(Schema.fromJsonString(Schema.Array(Schema.String)))
const MemberRow = Schema.Struct({
  seq: Schema.Int,
  subject: Schema.String,
  detail: Schema.String,
  resolves: Resolves,
})
const DeliveryRow = Schema.Struct({
  ...KeyRow.fields,
  seq: Schema.Int,
  receiver: Schema.String,
  tries: Schema.Int,
  aside: Schema.Int,
  name: Schema.String,
  round: Schema.Int,
  detail: Schema.String,
  fields: Schema.fromJsonString(
    Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Finite, Schema.Boolean])),
  ),
  resolves: Resolves,
})
/** Change of a delivery's row after one try. */
interface Outcome {
  readonly state: "delivered" | "pending" | "dead_letter"
  /** Unix milliseconds of the next try; in state `delivered` the number of the alert that led its message. */
  readonly next_at: number
  readonly error?: string | null
}

const FirstRow = Schema.Struct({ at: Schema.NullOr(Schema.Int), written: Schema.NullOr(Schema.Int) })
const noDelivery = { at: null, written: null }
const PendingRow = Schema.Struct({
  receiver: Schema.String,
  n: Schema.Int,
  due: Schema.Int,
  pages: Schema.Int,
  oldest: Schema.Int,
  error: Schema.NullOr(Schema.String),
})
const ReceiverRow = Schema.Struct({ receiver: Schema.String, silenced: Schema.Int })

/** Fewer events than this go one by one; more are one message. */
const groupMin = 5
const groupMax = 2_000
/** Ends that are one message: alone, each would name the key that all of them end. */
const endsMin = 2
/** Keys that a message ends, about: PagerDuty gets a request for each, and refuses more than some at once. */
const keysMax = 20

/** How events of one name are collected. Milliseconds. */
interface Grouping {
  /** After the first. */
  readonly waitMillis: number
  /** After the last message of the name. */
  readonly intervalMillis: number
}

const isEnd = (sql: Sql, isOver: boolean) => sql.literal(`a.resolves IS ${isOver ? "NOT NULL" : "NULL"}`)

const groupAt = Effect.fnUntraced(function* (
  sql: Sql,
  {
    name,
    receiver,
    at,
    isOver,
    waitMillis,
    intervalMillis,
  }: Grouping & Record<"name" | "receiver", string> & { readonly at: number; readonly isOver: boolean },
) {
  if (intervalMillis === 0) return at + waitMillis
  const rows = yield* sql`SELECT max(d.updated_at) AS at, NULL AS written FROM deliveries d JOIN alerts a
    ON a.seq = d.alert WHERE a.name = ${name} AND d.receiver = ${receiver} AND d.state = 'delivered'
    AND ${isEnd(sql, isOver)}`.pipe(rowsOf(FirstRow, "AlertQueue.groupAt"))
  const last = rows[0]?.at ?? undefined
  return Math.max(at + waitMillis, last === undefined || last > at ? at : last + intervalMillis)
})

/** Receivers of stored alerts, by what an all-clear resolves. */
const receiversOf = (sql: Sql, resolves: ReadonlyArray<string>) =>
  Effect.map(
    Effect.forEach(resolves, (dedup) =>
      sql`SELECT DISTINCT d.receiver,
        CASE WHEN d.state = 'silenced' AND d.round = 0 AND d.tries = 0 THEN 1 ELSE 0 END AS silenced
        FROM deliveries d JOIN alerts a ON a.seq = d.alert WHERE ${isUnder(sql, dedup)}`.pipe(
        rowsOf(ReceiverRow, "AlertQueue.receiversOf"),
      ),
    ),
    (rows) => {
      const all = rows.flat()
      const heard = all.filter(({ silenced }) => silenced === 0).map(({ receiver }) => receiver)
      return { heard, isSilenced: all.length > 0 && heard.length === 0 }
    },
  )

/** Notes how a delivery, and all that went with it, ended or goes on. */
const makeEnd = (sql: Sql) =>
  Effect.fnUntraced(
    function* ({ seq, receiver, group, resolves }: Delivery, { state, ...how }: Outcome, tried: 0 | 1 = 0) {
      const updated_at = yield* Clock.currentTimeMillis
      const seqs = sql.in([seq, ...group.map((member) => member.seq)])
      // A silence that began meanwhile stays.
      const next = state === "delivered" ? `'${state}'` : `CASE state WHEN 'silenced' THEN state ELSE '${state}' END`
      const changed = sql.update({ ...how, updated_at })
      yield* sql.write`UPDATE deliveries SET state = ${sql.literal(next)}, tries = tries + ${tried}, ${changed}
        WHERE receiver = ${receiver} AND alert IN ${seqs}`
      if (resolves === undefined || state !== "delivered") return
      // Sent after its all-clear, an alert would fire for ever.
      yield* sql.write`UPDATE deliveries SET state = 'dead_letter' WHERE receiver = ${receiver} AND state = 'pending'
        AND alert IN (SELECT ${sql.literal(resolvedAlert)} FROM alerts a, ${resolvedKeys(sql)} WHERE a.seq IN ${seqs})`
    },
    (effect) => effect.pipe(sql.joinTransaction, storeError("AlertQueue.end")),
  )

/** Deliveries that wait, of those that the condition and its order name. */
const makeWaiting = (sql: Sql) => (which: Statement.Fragment) =>
  sql`SELECT a.seq, d.receiver, d.tries, d.aside, a.dedup, a.severity, a.kind, a.subject, a.detail, a.fields, a.at,
    a.resolves, a.name, d.round FROM deliveries d JOIN alerts a ON a.seq = d.alert
    WHERE d.state = 'pending' AND ${isNext(sql)} AND ${which}`.pipe(
    rowsOf(DeliveryRow, "AlertQueue.waiting"),
    Effect.flatMap((rows) =>
      Effect.forEach(rows, (row) =>
        Effect.map(keysEndedBy(sql, [row], { receiver: row.receiver, max: keysMax }), ({ keys }) => ({
          ...row,
          aside: row.aside === 1,
          group: [],
          resolves: row.resolves === null ? undefined : keys,
        })),
      ),
    ),
  )

interface Receiving {
  /** Receivers of a severity, by the configuration in force. */
  readonly receiversFor: (severity: Alert["severity"]) => ReadonlyArray<string>
  readonly grouping: () => Grouping
}

/** Stores an alert for its receivers; an all-clear of more keys than one message ends is several. */
const makeRaise = (sql: Sql, { receiversFor, grouping }: Receiving) => {
  const raiseOne = Effect.fnUntraced(function* ({
    resolves = [],
    to = [],
    repeats = false,
    name = "",
    ...alert
  }: Alert) {
    const at = yield* Clock.currentTimeMillis
    const isOver = resolves.length > 0
    const rows = yield* sql.write`INSERT INTO alerts ${sql.insert({
      ...alert,
      name,
      repeats: repeats ? 1 : 0,
      fields: JSON.stringify(alert.fields),
      at,
      resolves: isOver ? JSON.stringify(resolves) : null,
      // An all-clear has no end to wait for, nor has information about something that happened once.
      ended_at: isOver || (alert.severity === "info" && !repeats) ? at : null,
    })}
        ON CONFLICT (dedup) DO NOTHING RETURNING seq`
    const seq = rows[0]?.["seq"]
    if (seq === undefined) return false
    for (const dedup of resolves) {
      yield* sql.write`UPDATE alerts AS a SET ended_at = ${at} WHERE ended_at IS NULL AND ${isUnder(sql, dedup)}`
    }
    const { heard, isSilenced } = yield* receiversOf(sql, resolves)
    // Receivers that did not get the alert need no all-clear.
    if (isSilenced) return true
    const named = [...to, ...heard]
    const silences = isOver ? [] : yield* silencesAt(sql, at)
    const state = silences.some((one) => isSilencing(one, { ...alert, name })) ? "silenced" : "pending"
    const waits = isFactName(name) && alert.severity !== "page"
    for (const receiver of new Set(named.length === 0 ? receiversFor(alert.severity) : named)) {
      const next_at = waits ? yield* groupAt(sql, { name, receiver, at, isOver, ...grouping() }) : at
      yield* sql.write`INSERT INTO deliveries ${sql.insert({ alert: seq, receiver, state, next_at, updated_at: at })}`
    }
    return true
  })
  return Effect.fn("AlertQueue.raise")(function* (alert: Alert) {
    const { dedup, resolves = [] } = alert
    const standing = yield* standingDedups(sql, resolves)
    const parts = standing.length === 0 ? [resolves] : Arr.chunksOf(standing, keysMax)
    const isNew = yield* Effect.forEach(parts, (part, n) =>
      raiseOne({ ...alert, dedup: n === 0 ? dedup : `${dedup}/${n}`, resolves: part }),
    )
    return isNew.includes(true)
  }, sql.durable("AlertQueue.raise"))
}

/**
 * Alerts are durable before they are sent, and stay until each receiver has them. One written later than now was
 * written by a wrong clock, and is due.
 */
export class AlertQueue extends Context.Service<AlertQueue>()("cofferer/store/AlertQueue", {
  make: Effect.fnUntraced(function* (receiversFor: Receiving["receiversFor"], grouping: Receiving["grouping"]) {
    const sql = yield* Sql
    const end = makeEnd(sql)
    const waiting = makeWaiting(sql)
    const raise = makeRaise(sql, { receiversFor, grouping })
    // What was never tried may wait for its group.
    const tried = sql.literal("(d.tries > 0 OR d.next_at <= d.updated_at)")
    const { memoryOf } = yield* Database
    const first = memoryOf<ReadonlyArray<typeof FirstRow.Type>>("deliveries")(
      "",
      sql`SELECT min(next_at) AS at, max(updated_at) AS written FROM deliveries WHERE state = 'pending'`.pipe(
        rowsOf(FirstRow, "AlertQueue.first"),
      ),
    )
    return {
      /** Stores an alert for the receivers of its severity; false where the same one is stored already. */
      raise,
      /** Stores an all-clear for the receivers of what it resolves; false if it ends nothing, or is known. */
      allClear: Effect.fn("AlertQueue.allClear")(function* (alert: Alert) {
        return (yield* receiversOf(sql, alert.resolves ?? [])).heard.length > 0 && (yield* raise(alert))
      }, storeError("AlertQueue.allClear")),
      /** At most `count` deliveries due now, to one receiver or to all: pages, the oldest, and last those set aside. */
      due: Effect.fnUntraced(function* (count: number, receiver?: string) {
        const now = yield* Clock.currentTimeMillis
        const { at, written } = (yield* first)[0] ?? noDelivery
        if (at === null || (at > now && (written ?? 0) <= now)) return []
        return yield* waiting(sql`(d.next_at <= ${now} OR d.updated_at > ${now})
          AND d.receiver = coalesce(${receiver ?? null}, d.receiver)
          ORDER BY d.aside, a.severity <> 'page', a.seq, d.receiver LIMIT ${count}`)
      }),
      /** The first page, or else the oldest, that waits for the receiver and is not set aside, due or not. */
      firstOf: (receiver: string) =>
        Effect.map(
          waiting(sql`d.receiver = ${receiver} AND d.aside = 0 AND ${tried}
            ORDER BY a.severity <> 'page', a.seq LIMIT 1`),
          ([first]) => first,
        ),
      /**
       * The delivery with all that may go with it as one message: at least five events of one name, or two ends of such
       * events; never a page, or an alert whose cause ends it.
       */
      grouped: Effect.fn("AlertQueue.grouped")(function* (delivery: Delivery) {
        const { seq, name, severity, receiver, resolves, aside } = delivery
        if (!isFactName(name) || severity === "page" || aside) return delivery
        const isOver = resolves !== undefined
        const all =
          yield* sql`SELECT a.seq, a.subject, a.detail, a.resolves FROM alerts a JOIN deliveries d ON d.alert = a.seq
          WHERE d.state = 'pending' AND d.aside = 0 AND d.receiver = ${receiver} AND a.seq >= ${seq}
          AND a.name = ${name} AND a.severity = ${severity} AND ${isEnd(sql, isOver)} AND ${isNext(sql)}
          ORDER BY a.seq LIMIT ${groupMax}`.pipe(rowsOf(MemberRow, "AlertQueue.grouped"))
        if (all.length < (isOver ? endsMin : groupMin) || all[0]?.seq !== seq) return delivery
        if (!isOver) return { ...delivery, group: all.slice(1) }
        const { count, keys } = yield* keysEndedBy(sql, all, { receiver, max: keysMax })
        return { ...delivery, group: all.slice(1, count), resolves: keys }
      }),
      /** Another than this that waits for its receiver and is not set aside: tried least, the newest of these. */
      another: ({ receiver, seq }: Delivery) =>
        Effect.map(
          waiting(sql`d.receiver = ${receiver} AND d.aside = 0 AND a.seq <> ${seq} AND ${tried}
            ORDER BY d.tries, a.severity <> 'page', a.seq DESC LIMIT 1`),
          ([other]) => other,
        ),
      /** Notes that the receiver takes others: this one waits by itself from now on. */
      setAside: ({ seq, receiver }: Delivery) =>
        sql.write`UPDATE deliveries SET aside = 1 WHERE alert = ${seq} AND receiver = ${receiver}`.pipe(
          Effect.asVoid,
          sql.change("AlertQueue.setAside"),
        ),
      /** Notes that the receiver takes nothing: all that is not set aside waits. */
      postpone: Effect.fnUntraced(function* (receiver: string, next_at: number) {
        const updated_at = yield* Clock.currentTimeMillis
        yield* sql.write`UPDATE deliveries SET ${sql.update({ next_at, updated_at })}
            WHERE state = 'pending' AND aside = 0 AND receiver = ${receiver}`
      }, sql.change("AlertQueue.postpone")),
      /**
       * Notes a try before it is made: while the store takes no writes, no receiver gets the same message repeatedly.
       */
      begin: Effect.fn("AlertQueue.begin")((delivery: Delivery, nextAt: number) =>
        end(delivery, { state: "pending", next_at: nextAt }, 1),
      ),
      /** Notes that the receiver has it; `error` names the addresses that it does not reach. */
      delivered: Effect.fn("AlertQueue.delivered")((delivery: Delivery, error?: string) =>
        end(delivery, { state: "delivered", error: error ?? null, next_at: delivery.seq }),
      ),
      /** Notes that a try failed; `nextAt` undefined gives the delivery up, visibly. */
      failed: Effect.fn("AlertQueue.failed")((delivery: Delivery, error: string, nextAt: number | undefined) =>
        end(delivery, { state: nextAt === undefined ? "dead_letter" : "pending", error, next_at: nextAt ?? 0 }),
      ),
      /** Stored deliveries that wait, by receiver. */
      pending: memoryOf<ReadonlyArray<Pending>>("alerts", "deliveries")(
        "",
        sql`SELECT d.receiver, count(*) AS n, min(a.at) AS oldest,
          sum(CASE WHEN ${tried} THEN 1 ELSE 0 END) AS due,
          sum(CASE WHEN a.severity = 'page' THEN 1 ELSE 0 END) AS pages,
          (SELECT l.error FROM deliveries l WHERE l.receiver = d.receiver AND l.state = 'pending' AND l.error IS NOT NULL
            ORDER BY l.updated_at DESC LIMIT 1) AS error FROM deliveries d
          JOIN alerts a ON a.seq = d.alert WHERE d.state = 'pending' GROUP BY d.receiver`.pipe(
          rowsOf(PendingRow, "AlertQueue.pending"),
        ),
      ),
      /** Forgets alerts that ended, and that every receiver took, before a time (Unix milliseconds). */
      prune: pruneAlerts(sql),
    }
  }),
}) {
  static readonly layer = (
    receiversFor: Receiving["receiversFor"],
    grouping: Receiving["grouping"] = () => ({ waitMillis: 0, intervalMillis: 0 }),
  ) => Layer.effect(AlertQueue, AlertQueue.make(receiversFor, grouping))
}
