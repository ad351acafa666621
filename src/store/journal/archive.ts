import { Effect, Schema } from "effect"
import type { Intent } from "../../domain/Intent.ts"
import { ApprovalRow, approvalColumns } from "../controls/Approvals.ts"
import { Digits, rowsOf } from "../database/columns.ts"
import { Sql } from "../database/Sql.ts"
import {
  AttemptRow,
  attemptColumns,
  EvidenceRow,
  evidenceColumns,
  IntentRow,
  intentColumns,
  SendRow,
  sendColumns,
  toAttempt,
  toIntent,
} from "../payments/outboxRows.ts"
import { EntryRow } from "./Journal.ts"

export type StoredEntry = typeof EntryRow.Type

const SpendRow = Schema.Struct({
  intentId: Schema.String,
  k: Schema.Int,
  digest: Schema.String,
  signature: Schema.String,
  amount: Digits,
})

const SubjectRow = Schema.Struct({ subject: Schema.String })
export const LinkRow = Schema.Struct({ seq: Schema.Int, prev: Schema.String, hash: Schema.String })
/** An entry's place in the chain. */
export type Link = typeof LinkRow.Type

/** Unix milliseconds, from inclusive, to exclusive. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** Rows whose time lies in the span; all rows without one. */
const within = (sql: Sql, column: "at" | "created_at", span: Span | undefined) =>
  span === undefined ? sql`1 = 1` : sql`${sql.literal(column)} >= ${span.from} AND ${sql.literal(column)} < ${span.to}`

/** Journal entries after a sequence number, oldest first. */
export const entriesAfter = Effect.fn("Archive.entriesAfter")(function* (seq: number, limit: number, span?: Span) {
  const sql = yield* Sql
  return yield* sql`SELECT * FROM journal WHERE seq > ${seq} AND ${within(sql, "at", span)}
    ORDER BY seq LIMIT ${limit}`.pipe(rowsOf(EntryRow, "Archive.entriesAfter"))
})

/** All entries about any of the subjects, oldest first. */
export const entriesAbout = Effect.fn("Archive.entriesAbout")(function* (subjects: ReadonlyArray<string>) {
  const sql = yield* Sql
  if (subjects.length === 0) return []
  return yield* sql`SELECT * FROM journal WHERE subject IN ${sql.in(subjects)} ORDER BY seq`.pipe(
    rowsOf(EntryRow, "Archive.entriesAbout"),
  )
})

/** The chain from one entry to another, both included. */
export const linksBetween = Effect.fn("Archive.linksBetween")(function* (first: number, last: number) {
  const sql = yield* Sql
  return yield* sql`SELECT seq, prev, hash FROM journal WHERE seq BETWEEN ${first} AND ${last} ORDER BY seq`.pipe(
    rowsOf(LinkRow, "Archive.linksBetween"),
  )
})

/** Intents in the order of their decision, after the given one. */
export const intentsAfter = Effect.fn("Archive.intentsAfter")(function* (
  last: Pick<Intent, "createdAt" | "id"> | undefined,
  limit: number,
  span?: Span,
) {
  const sql = yield* Sql
  // No OR: SQLite would read the table twice.
  const beyond =
    last === undefined
      ? sql`1 = 1`
      : sql`created_at >= ${last.createdAt} AND NOT (created_at = ${last.createdAt} AND id <= ${last.id})`
  const rows = yield* sql`SELECT ${sql.literal(intentColumns)} FROM intents
    WHERE ${beyond} AND ${within(sql, "created_at", span)} ORDER BY created_at, id LIMIT ${limit}`.pipe(
    rowsOf(IntentRow, "Archive.intentsAfter"),
  )
  return rows.map(toIntent)
})

const bySubject = <A>(rows: ReadonlyArray<A>, subject: (row: A) => string) => {
  const groups = Map.groupBy(rows, subject)
  return (key: string): ReadonlyArray<A> => groups.get(key) ?? []
}

/** The attempts of these intents, by intent. */
export const attemptsOf = Effect.fn("Archive.attemptsOf")(function* (intents: ReadonlyArray<Intent>) {
  const sql = yield* Sql
  const ids = sql.in(intents.map(({ id }) => id))
  const attempts = yield* sql`SELECT ${sql.literal(attemptColumns)} FROM attempts WHERE intent_id IN ${ids}
    ORDER BY intent_id, k`.pipe(rowsOf(AttemptRow, "Archive.attempts"))
  return bySubject(attempts.map(toAttempt), (row) => row.intentId)
})

/** Everything kept of these intents. At most a few hundred at once. */
export const keptOf = Effect.fn("Archive.keptOf")(function* (intents: ReadonlyArray<Intent>) {
  const sql = yield* Sql
  if (intents.length === 0) return []
  const ids = sql.in(intents.map(({ id }) => id))
  const attempts = yield* attemptsOf(intents)
  const spends = yield* sql`SELECT intent_id AS "intentId", k, digest, signature, amount FROM spends
    WHERE intent_id IN ${ids} ORDER BY intent_id, k`.pipe(rowsOf(SpendRow, "Archive.spends"))
  const sends = yield* sql`SELECT ${sql.literal(sendColumns)} FROM sends WHERE intent_id IN ${ids} ORDER BY seq`.pipe(
    rowsOf(SendRow, "Archive.sends"),
  )
  const evidence = yield* sql`SELECT ${sql.literal(evidenceColumns)} FROM evidence WHERE intent_id IN ${ids}
    ORDER BY seq`.pipe(rowsOf(EvidenceRow, "Archive.evidence"))
  const approvals = yield* sql`SELECT ${sql.literal(approvalColumns)} FROM approvals WHERE subject IN ${ids}
    ORDER BY seq`.pipe(rowsOf(ApprovalRow, "Archive.approvals"))
  const approvalsOf = bySubject(approvals, (row) => row.subject)
  const spendsOf = bySubject(spends, (row) => row.intentId)
  const sendsOf = bySubject(sends, (row) => row.intentId)
  const evidenceOf = bySubject(evidence, (row) => row.intentId)
  const entriesOf = bySubject(yield* entriesAbout(intents.map(({ id }) => id)), (row) => row.subject)
  return intents.map((intent) => ({
    intent,
    attempts: attempts(intent.id),
    approvals: approvalsOf(intent.id),
    spends: spendsOf(intent.id),
    sends: sendsOf(intent.id),
    evidence: evidenceOf(intent.id),
    entries: entriesOf(intent.id),
  }))
})
/** All rows of one payment, and its journal entries. */
export type Kept = Effect.Success<ReturnType<typeof keptOf>>[number]

/**
 * A payment of the journal or the signer that has no row: neither an intent nor, in a recovered store, a transfer of
 * the ledger whose spend is journalled. Undefined if there is none.
 */
export const lostSubject = Effect.gen(function* () {
  const sql = yield* Sql
  const rows = yield* sql`SELECT subject FROM (
      SELECT subject FROM journal WHERE kind = ${"intent"} UNION SELECT intent_id AS subject FROM spends) AS told
    WHERE NOT EXISTS (SELECT 1 FROM intents WHERE id = told.subject)
    AND NOT EXISTS (SELECT 1 FROM listed_transfers, journal
      WHERE ${"transfer "} || listed_transfers.id = told.subject AND journal.subject = told.subject AND kind = ${"signature"})
    LIMIT 1`.pipe(rowsOf(SubjectRow, "Archive.lostSubject"))
  return rows[0]?.subject
})
