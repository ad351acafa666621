import { Clock, Context, Effect, Layer, Schema } from "effect"
import { rowsOf } from "../database/columns.ts"
import { Database } from "../database/Database.ts"
import { Sql } from "../database/Sql.ts"
import { Journal } from "../journal/Journal.ts"
import { makeStoredTerms } from "./terms.ts"

/** One operator's signature over a text. Whoever relies on it verifies it: a row proves nothing. */
export const ApprovalRow = Schema.Struct({
  /** Subject of the approval: an intent id, "terms HASH", "resume SEQS". */
  subject: Schema.String,
  /** Name of the operator at that time. */
  operator: Schema.String,
  /** Public key, 64 hex characters. */
  key: Schema.String,
  /** The signed text, to the byte. */
  text: Schema.String,
  signature: Schema.String,
  /** Unix milliseconds. */
  at: Schema.Int,
})
type Approval = typeof ApprovalRow.Type
export const approvalColumns = "subject, operator, key, text, signature, at"

/** Agreements of people: signatures of operators, and the terms in force, with acceptances of weaker ones. */
export class Approvals extends Context.Service<Approvals>()("cofferer/store/Approvals", {
  make: Effect.gen(function* () {
    const sql = yield* Sql
    const journal = yield* Journal
    return {
      ...makeStoredTerms(sql, yield* Database),
      /** Stores a signature, and journals it with its text. False where the key has signed the same text before. */
      give: Effect.fn("Approvals.give")(function* (approval: Omit<Approval, "at">) {
        const row = { ...approval, at: yield* Clock.currentTimeMillis }
        const done = yield* sql.write`INSERT INTO approvals ${sql.insert(row)} ON CONFLICT (key, text) DO NOTHING
            RETURNING seq`
        if (done.length === 0) return false
        const { subject, ...body } = approval
        yield* journal.append({ kind: "approval", subject, body })
        return true
      }, sql.durable("Approvals.give")),
      /** Oldest first. */
      about: (subject: string) =>
        sql`SELECT ${sql.literal(approvalColumns)} FROM approvals WHERE subject = ${subject} ORDER BY seq`.pipe(
          rowsOf(ApprovalRow, "Approvals.about"),
        ),
    }
  }),
}) {
  static readonly layerNoDeps = Layer.effect(Approvals, Approvals.make)
}
