import { Effect, Schema } from "effect"
import { type HoldReason, holdReasons } from "../../domain/Decision.ts"
import { rowsOf } from "../database/columns.ts"
import { Sql } from "../database/Sql.ts"

/** A decision of a subject as it began: later numbers of the same decision are not kept. */
export interface StoredDecision {
  /** Unix milliseconds since which it was in force. */
  readonly at: number
  /** null where it acted. */
  readonly reason: HoldReason | null
  readonly detail: string
}

/** Decisions about a subject around a time. */
interface DecisionsAround {
  /** In force at that time; null where nothing had been decided by then. */
  readonly inForce: StoredDecision | null
  readonly before: StoredDecision | null
  readonly after: StoredDecision | null
}

const DecisionRow = Schema.Struct({
  at: Schema.Int,
  reason: Schema.NullOr(Schema.Literals(holdReasons)),
  detail: Schema.String,
})
const SubjectRow = Schema.Struct({ subject: Schema.String })

/** The decision of the subject in force at a time (Unix milliseconds), the one before it and the one after it. */
export const decisionsAround = Effect.fn("Decisions.around")(function* (
  { rule, subject }: { readonly rule: string; readonly subject: string },
  at: number,
) {
  const sql = yield* Sql
  const past = yield* sql`SELECT at, reason, detail FROM decisions
    WHERE rule = ${rule} AND subject = ${subject} AND at <= ${at} ORDER BY at DESC, seq DESC LIMIT 2`.pipe(
    rowsOf(DecisionRow, "Decisions.around"),
  )
  const later = yield* sql`SELECT at, reason, detail FROM decisions
    WHERE rule = ${rule} AND subject = ${subject} AND at > ${at} ORDER BY at, seq LIMIT 1`.pipe(
    rowsOf(DecisionRow, "Decisions.around"),
  )
  return { inForce: past[0] ?? null, before: past[1] ?? null, after: later[0] ?? null } satisfies DecisionsAround
})

/** Subjects that ever had a decision, also those that the file no longer has. */
export const subjectsDecided = Effect.fn("Decisions.subjects")(function* (rule: string) {
  const sql = yield* Sql
  const rows = yield* sql`SELECT DISTINCT subject FROM decisions WHERE rule = ${rule} ORDER BY subject`.pipe(
    rowsOf(SubjectRow, "Decisions.subjects"),
  )
  return rows.map(({ subject }) => subject)
})
