import { Clock, Effect, Schema } from "effect"
import { overAll, overText, type StoredAlert } from "../../domain/alerts/Alert.ts"
import { type CatalogueEntry, factDays } from "../../domain/alerts/CatalogueEntry.ts"
import { type AlertName, catalogue } from "../../domain/alerts/catalogue.ts"
import { type IntentState, intentStates, isFinalIntent } from "../../domain/Intent.ts"
import { dayMillis, millisOf } from "../../domain/Time.ts"
import { pinScope } from "../../rules/checks/stops.ts"
import { memoryKey } from "../../rules/RuleMemory.ts"
import { Observations } from "../balances/Observations.ts"
import { Controls } from "../controls/Controls.ts"
import { rowsOf } from "../database/columns.ts"
import { Database } from "../database/Database.ts"
import { Signals } from "../database/Signals.ts"
import { Sql } from "../database/Sql.ts"
import { RuleStates } from "../rules/RuleStates.ts"
import { AlertQueue } from "./AlertQueue.ts"

const OpenRow = Schema.Struct({
  dedup: Schema.String,
  name: Schema.String,
  kind: Schema.String,
  subject: Schema.String,
  at: Schema.Int,
  ackedBy: Schema.NullOr(Schema.String),
  ackedReason: Schema.NullOr(Schema.String),
  fields: Schema.fromJsonString(
    Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Finite, Schema.Boolean])),
  ),
  /** These three belong to the payment that the alert names; null if it names none. */
  rule: Schema.NullOr(Schema.String),
  state: Schema.NullOr(Schema.Literals(intentStates)),
  detail: Schema.NullOr(Schema.String),
  isAudited: Schema.Int,
})
type Open = typeof OpenRow.Type

/** True if the configuration in force has the rule and the subject, if one is named, and it may raise the alert. */
export type HasRule = (alert: string, rule: string, subject: string | undefined) => boolean

const unsigned: ReadonlySet<IntentState> = new Set(["proposed", "awaiting_approval", "reserved"])

/** True in the states of a payment in which its alerts still stand. */
const stands: Readonly<Record<string, (state: IntentState) => boolean>> = {
  payment: (state) => !isFinalIntent(state),
  approval: (state) => state === "awaiting_approval",
  signature: (state) => unsigned.has(state),
}

/** Parts of the store that show ends. */
const readCauses = Effect.gen(function* () {
  const controls = yield* Controls
  return {
    halts: yield* controls.halts,
    pauses: yield* controls.pauses,
    read: (yield* (yield* Observations).watermark)?.timestamp ?? 0n,
    memories: (yield* (yield* RuleStates).byKey).memories,
    now: yield* Clock.currentTimeMillis,
  }
})
type Causes = Effect.Success<typeof readCauses>

/** Sentence about the end that a stored alert has come to; undefined while it stands. */
const endOf = (open: Open, { halts, pauses, read, memories, now }: Causes, hasRule: HasRule): string | undefined => {
  const { until, over } = catalogue[open.name as AlertName] as CatalogueEntry
  const { fields, state, rule, detail, at } = open
  const text = (facts: StoredAlert["fields"] = {}) => overText(open, facts)
  switch (until) {
    case undefined: {
      const { rule: name, account } = fields
      if (over === undefined || name === undefined) return undefined
      const isThere = hasRule(open.name, String(name), account === undefined ? undefined : String(account))
      if (!isThere) return `rule ${name} is not configured any more${account === undefined ? "" : ` for ${account}`}`
      const memory = memories.get(memoryKey(String(name), String(account)))
      // A need ends with its all-clear, unless its rule came back or the account of its name became another one.
      const isAsked = memory?.firingSince !== undefined && open.dedup.endsWith(`/${memory.episode}`)
      if (open.name === "request" && memory !== undefined && !isAsked) {
        return `the rule or its account changed: pay nothing for this request of ${account}`
      }
      const { episode = 0 } = memory ?? {}
      // The rule's own all-clear goes by the plan in force, which a reload may have replaced.
      const isConcluded = open.name === "payout_late" && episode * 1_000 >= Date.parse(String(fields["first"]))
      return isConcluded ? text({ words: "the planned time is decided, or its plan was replaced" }) : undefined
    }
    case "halt": {
      if (halts.some(({ seq }) => open.dedup.endsWith(`/${seq}`))) return undefined
      const names = halts.map(({ reason }) => reason).join(", ")
      return text({ left: halts.length === 0 ? "signing goes on where nothing is paused" : `still halted: ${names}` })
    }
    case "pause": {
      // Alerts of earlier versions about a pin name no scope.
      const of = String(fields["scope"] ?? pinScope(open.subject))
      return pauses.some(({ scope, kept }) => [scope, kept].includes(of)) ? undefined : text()
    }
    case "rows":
      // Its id has the time to the nanosecond, at which reading stopped just before it.
      return read < BigInt(open.dedup.slice(open.dedup.lastIndexOf("/") + 1)) ? undefined : text()
    case "audit":
      return open.isAudited === 1 ? undefined : text({ rule: rule ?? "" })
    case "payment":
    case "approval":
    case "signature":
      return state === null || stands[until]?.(state) === true
        ? undefined
        : text({ rule: rule ?? "", state: state.replaceAll("_", " "), detail: detail ?? "" })
    default:
      // By a fast clock alone it would be forgotten unseen.
      return factEnd(open, until, Math.min(now, millisOf(read)) - at)
  }
}

const factEnd = ({ ackedBy, ackedReason }: Open, until: keyof typeof factDays, ageMillis: number) => {
  if (ackedBy !== null) return `acknowledged by ${ackedBy}: ${ackedReason}`
  return ageMillis < factDays[until] * dayMillis
    ? undefined
    : `it was raised a ${until} ago, and nobody acknowledged it`
}

/**
 * Makes what raises the all-clear of each alert whose end the catalogue lets the store show, whoever ended it, and of
 * those about a rule that the configuration no longer has. It goes to those who were alerted, and is no page. Alerts
 * of one kind and subject that end together have one.
 */
export const makeAllClears = Effect.gen(function* () {
  const sql = yield* Sql
  const read = sql`SELECT a.dedup, a.name, a.kind, a.subject, a.at, a.acked_by AS "ackedBy",
    a.acked_reason AS "ackedReason", a.fields, i.rule, i.state, i.detail,
    CASE WHEN EXISTS (SELECT 1 FROM watches w WHERE w.intent_id = i.id) THEN 1 ELSE 0 END AS "isAudited"
    FROM alerts a LEFT JOIN intents i ON i.id = json_extract(a.fields, '$.intent')
    WHERE a.ended_at IS NULL AND ${sql.in("a.name", Object.keys(catalogue))} ORDER BY a.seq`.pipe(
    rowsOf(OpenRow, "Alerts.unended"),
  )
  const database = yield* Database
  const unended = database.memoryOf<ReadonlyArray<Open>>("alerts", "intents", "watches")("", read)
  return Effect.fnUntraced(function* (hasRule: HasRule) {
    const ended = new Map<string, [Open, ...Array<Open>]>()
    const details = new Map<string, string>()
    const all = yield* unended
    if (all.length === 0) return
    // Read after the alerts: none of them is of a cause that begins meanwhile.
    const causes = yield* readCauses
    for (const open of all) {
      const detail = endOf(open, causes, hasRule)
      if (detail === undefined) continue
      const key = JSON.stringify([open.kind, open.subject, detail])
      ended.set(key, [...(ended.get(key) ?? []), open] as [Open, ...Array<Open>])
      details.set(key, detail)
    }
    for (const [key, alerts] of ended) yield* (yield* AlertQueue).raise(overAll(alerts, details.get(key) ?? ""))
    if (ended.size > 0) yield* (yield* Signals).wake("alerts")
  })
})
