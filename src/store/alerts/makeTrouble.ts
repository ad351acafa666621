import { Clock, Effect, Option, Schema } from "effect"
import { paymentFacts } from "../../domain/alerts/Alert.ts"
import { isFinalIntent } from "../../domain/Intent.ts"
import { Observations } from "../balances/Observations.ts"
import { Brake } from "../controls/Brake.ts"
import { rowsOf } from "../database/columns.ts"
import { Database } from "../database/Database.ts"
import { lastly, Settings } from "../database/Settings.ts"
import { Sql } from "../database/Sql.ts"
import type { StoreError } from "../database/StoreError.ts"
import { Outbox } from "../payments/Outbox.ts"
import { raiseOver } from "./raise.ts"

const Stored = Schema.fromJsonString(
  Schema.Struct({ since: Schema.Finite, detail: Schema.String, isTold: Schema.optionalKey(Schema.Boolean) }),
)
const decode = Schema.decodeUnknownOption(Stored)

/** Something that is wrong, with a sentence about it. */
export interface Noted {
  /** Unix milliseconds. */
  readonly since: number
  readonly detail: string
  /** True once it lasted for `tellAfterMillis`: it counts as reported. */
  readonly isTold: boolean
}

/** A lasting trouble, with one text from its beginning to its end. It outlives the process. */
interface Trouble {
  readonly now: Effect.Effect<Noted | undefined, StoreError>
  /**
   * Records the trouble and its start. It counts as reported once it lasts for `tellAfterMillis`. Returns the record if
   * it changed; undefined otherwise.
   */
  readonly note: (detail: string) => Effect.Effect<Noted | undefined, StoreError>
  /** Returns what was noted. */
  readonly end: Effect.Effect<Noted | undefined, StoreError>
}

/** One kept under a key of the settings. */
export const makeTrouble = (
  settings: Settings["Service"],
  key: string,
  tellAfterMillis = Number.POSITIVE_INFINITY,
): Trouble => {
  const read = (text: string): Noted | undefined => {
    const stored = Option.getOrUndefined(decode(text))
    return stored === undefined ? undefined : { ...stored, isTold: stored.isTold === true }
  }
  const now = Effect.map(settings.get(key), lastly(read))
  return {
    now,
    note: Effect.fnUntraced(function* (detail: string) {
      const at = yield* Clock.currentTimeMillis
      const known = yield* now
      // A beginning later than now is of a clock that was wrong: it begins now.
      const since = Math.min(known?.since ?? at, at)
      const isTold = at - since >= tellAfterMillis
      if (known?.detail === detail && known.isTold === isTold && known.since === since) return undefined
      const noted = { since, detail, isTold }
      yield* settings.set(key, JSON.stringify(noted))
      return noted
    }),
    end: Effect.tap(now, (known) => (known === undefined ? Effect.void : settings.set(key, ""))),
  }
}

/** Time during which too few gateways agree on the balances: no money moves. */
export const disagreement = Effect.map(Settings, (settings) => makeTrouble(settings, "disagreement"))

const uncomparedMillisMax = 300_000

/**
 * Since when balances cannot be compared with the gateway's own: after a start no rule pays then. It counts as told
 * once a later comparison fails too: on a quiet chain one waits long for the block that it needs.
 */
export const uncompared = Effect.map(Settings, (settings) => makeTrouble(settings, "uncompared", uncomparedMillisMax))

/** An end longer ago is no news: a store of an earlier version has halts that ended without an all-clear. */
const newsMillis = 86_400_000

const EndedHalt = Schema.Struct({ seq: Schema.Int, reason: Schema.String, endedAt: Schema.Int })
const AboutPayment = Schema.Struct({ dedup: Schema.String })

/** First words of the alerts that call people to a payment; its id follows. */
const callsOf = ["manual", "overdue", "waits"] as const
const overOf = "ended"

const AlertRow = Schema.Struct({ dedup: Schema.String, subject: Schema.String })
const noOver = "NOT EXISTS (SELECT 1 FROM alerts o WHERE o.dedup = a.dedup || '/over')"

/** Reads what ended, of what people were alerted of, and raises no all-clear twice. */
const endings = Effect.gen(function* () {
  const sql = yield* Sql
  const database = yield* Database
  const halts = sql`SELECT h.seq, h.reason, h.ended_at AS "endedAt" FROM halts h
    JOIN alerts a ON a.dedup = 'halt/' || h.reason || '/' || h.seq
    WHERE h.ended_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM alerts o WHERE o.dedup = a.dedup || '/over')
    ORDER BY h.seq`.pipe(rowsOf(EndedHalt, "Alerts.endedHalts"))
  const called = Effect.forEach([...callsOf, overOf], (word) =>
    sql`SELECT dedup FROM alerts WHERE dedup >= ${`${word}/`} AND dedup < ${`${word}0`}`.pipe(
      rowsOf(AboutPayment, "Alerts.called"),
    ),
  ).pipe(Effect.map((rows) => idsOf(rows.flat().map(({ dedup }) => dedup.split("/")))))
  const locks = sql`SELECT dedup, subject FROM alerts a WHERE dedup >= 'lock/' AND dedup < 'lock0'
    AND dedup NOT LIKE '%/over' AND ${sql.literal(noOver)}
    AND NOT EXISTS (SELECT 1 FROM pauses p WHERE p.scope = 'lock:' || a.subject AND p.ended_at IS NULL)
    ORDER BY seq`.pipe(rowsOf(AlertRow, "Alerts.endedLocks"))
  const overflows = sql`SELECT dedup, subject FROM alerts a WHERE dedup >= 'overflow/' AND dedup < 'overflow0'
    AND dedup NOT LIKE '%/over' AND ${sql.literal(noOver)} ORDER BY seq`.pipe(rowsOf(AlertRow, "Alerts.overflows"))
  return {
    locks: database.memoryOf<ReadonlyArray<typeof AlertRow.Type>>("alerts", "pauses")("", locks),
    overflows: database.memoryOf<ReadonlyArray<typeof AlertRow.Type>>("alerts")("", overflows),
    halts: database.memoryOf<ReadonlyArray<typeof EndedHalt.Type>>("halts", "alerts")("", halts),
    payments: database.memoryOf<ReadonlyArray<string>>("alerts")("", called),
  }
})

/** Payments that people were alerted to, without an all-clear. */
const idsOf = (words: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const told = new Set(words.flatMap(([word, id]) => (word === overOf && id !== undefined ? [id] : [])))
  return [...new Set(words.flatMap(([, id]) => (id === undefined || told.has(id) ? [] : [id])))]
}

/**
 * Makes what raises the all-clear of each halt, of each locked rule, of rows that did not fit, and of each payment
 * that people were called to, once it has ended, whoever ended it. It goes to those who were called, and is no page.
 */
export const makeAllClears = Effect.map(endings, ({ halts, payments, locks, overflows }) =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const ended = (yield* halts).filter(({ endedAt }) => now - endedAt < newsMillis)
    const left = ended.length === 0 ? "" : yield* haltsLeft
    for (const { seq, reason } of ended) yield* raiseOver("halt", { reason, seq, left })
    for (const { dedup, subject } of yield* locks) {
      yield* raiseOver("rule_locked", { rule: subject, intent: dedup.slice(dedup.lastIndexOf("/") + 1) })
    }
    for (const { dedup } of yield* overflows) {
      const known = (yield* (yield* Observations).watermark)?.timestamp ?? 0n
      const at = BigInt(dedup.replace("overflow/", ""))
      if (known < at) continue
      yield* raiseOver("balances_overflow", { at: String(at) })
    }
    for (const id of yield* payments) yield* raisePaymentOver(id)
  }),
)

const haltsLeft = Effect.gen(function* () {
  const left = (yield* (yield* Brake).halts).map((halt) => halt.reason)
  return left.length === 0 ? "signing goes on where nothing is paused" : `still halted: ${left.join(", ")}`
})

const raisePaymentOver = Effect.fnUntraced(function* (id: string) {
  const intent = yield* (yield* Outbox).byId(id)
  if (intent._tag === "None" || !isFinalIntent(intent.value.state)) return
  const { rule, detail } = intent.value
  yield* raiseOver("payment_overdue", { ...paymentFacts(intent.value), rule, detail })
})
