import { Clock, Context, Effect, Layer, Schema } from "effect"
import { rowsOf } from "../database/columns.ts"
import { Database } from "../database/Database.ts"
import { Sql } from "../database/Sql.ts"
import { type StoreError, storeError } from "../database/StoreError.ts"
import { Journal } from "../journal/Journal.ts"
import { makeStoredTerms, type StoredTerms } from "./terms.ts"

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
export type Approval = typeof ApprovalRow.Type
export const approvalColumns = "subject, operator, key, text, signature, at"

/** Operators' signatures: appended, never changed, and journalled. */
interface Signatures {
  /** Stores a signature, and journals it with its text. False where the key has signed the same text before. */
  readonly give: (approval: Omit<Approval, "at">) => Effect.Effect<boolean, StoreError>
  /** Oldest first. */
  readonly about: (subject: string) => Effect.Effect<ReadonlyArray<Approval>, StoreError>
}

/** Agreements of people: signatures of operators, and the terms in force, with acceptances of weaker ones. */
export class Approvals extends Context.Service<Approvals, Signatures & StoredTerms>()("cofferer/store/Approvals") {
  static readonly layerNoDeps = Layer.effect(
    Approvals,
    Effect.gen(function* () {
      const sql = yield* Sql
      const journal = yield* Journal
      return Approvals.of({
        ...makeStoredTerms(sql, yield* Database),
        give: Effect.fn("Approvals.give")(
          function* (approval) {
            const row = { ...approval, at: yield* Clock.currentTimeMillis }
            const done = yield* sql.write`INSERT INTO approvals ${sql.insert(row)} ON CONFLICT (key, text) DO NOTHING
              RETURNING seq`
            if (done.length === 0) return false
            const { subject, ...body } = approval
            yield* journal.append({ kind: "approval", subject, body })
            return true
          },
          (effect) => effect.pipe(sql.withTransaction, storeError("Approvals.give")),
        ),
        about: (subject) =>
          sql`SELECT ${sql.literal(approvalColumns)} FROM approvals WHERE subject = ${subject} ORDER BY seq`.pipe(
            rowsOf(ApprovalRow, "Approvals.about"),
          ),
      })
    }),
  )
}
