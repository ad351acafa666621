import { Clock, Effect, Schema } from "effect"
import { type AlertConfig, decodeAlerts, encodeAlerts } from "../../config/ConfigInForce.ts"
import type { Policy } from "../../rules/policy/Policy.ts"
import { decodeTerms, encodeTerms, termsHash } from "../../rules/policy/storedTerms.ts"
import type { Terms } from "../../rules/policy/weakens.ts"
import { latestTime, rowsOf } from "../database/columns.ts"
import { type Database, rounded } from "../database/Database.ts"
import type { Sql } from "../database/Sql.ts"
import { StoreError } from "../database/StoreError.ts"

/** The terms in force: the last ones of mode live. */
interface TermsInForce {
  /** Number of the journal entry that put them in force. */
  readonly seq: number
  readonly hash: string
  readonly terms: Terms
  /** Receivers and routes of alerts under them. */
  readonly alerts: AlertConfig
}

const TermsRow = Schema.Struct({ seq: Schema.Int, hash: Schema.String, terms: Schema.String, alerts: Schema.String })
/**
 * A person's acceptance of weaker terms without the operators' keys. It puts them in force after an hour, if nothing
 * halts meanwhile (`http/termsApproval.ts`).
 */
const AcceptanceRow = Schema.Struct({
  id: Schema.Int,
  /** SHA-256 of the terms, 64 hex characters. */
  hash: Schema.String,
  author: Schema.String,
  reason: Schema.String,
  /** When it was given, Unix milliseconds. */
  at: Schema.Int,
  /** Start of its hour: when clock and newest block first agree in this process. Unix milliseconds; null before. */
  since: Schema.NullOr(Schema.Int),
  /** When it put the terms in force, Unix milliseconds; null until then. */
  inForceAt: Schema.NullOr(Schema.Int),
})
export type Acceptance = typeof AcceptanceRow.Type

const termsIn = ({ terms: text, alerts, ...row }: typeof TermsRow.Type) => {
  const terms = decodeTerms(text)
  if (terms === undefined || termsHash(terms) !== row.hash) {
    return new StoreError({
      operation: "Approvals.termsInForce",
      cause: `the terms of entry ${row.seq} cannot be read`,
    })
  }
  return Effect.succeed({ ...row, terms, alerts: decodeAlerts(alerts) } satisfies TermsInForce)
}

/** The policies that were in force at any time after `since` (Unix milliseconds). */
export const policiesSince = (sql: Sql, database: Database["Service"]) => {
  const remembered = database.memoryOf<ReadonlyArray<Policy>>("terms")
  return (since: number) =>
    remembered(
      `${rounded(since)}`,
      sql`SELECT seq, hash, terms, alerts FROM terms
        WHERE seq >= coalesce((SELECT max(seq) FROM terms WHERE at <= ${rounded(since)}), 0)`.pipe(
        rowsOf(TermsRow, "Approvals.policiesSince"),
        Effect.flatMap((rows) => Effect.forEach(rows, termsIn)),
        Effect.map((known) => known.map(({ terms }) => terms.policy)),
      ),
    )
}

/** Limits on the money by the last live configuration. A changed or lost treasury file does not change them. */
export const makeStoredTerms = (sql: Sql, database: Database["Service"]) => {
  const write = <A, E, R>(name: string, statement: (at: number) => Effect.Effect<A, E, R>) =>
    Effect.flatMap(Clock.currentTimeMillis, statement).pipe(Effect.asVoid, sql.change(name))
  return {
    /** Undefined in a store that was never live. */
    termsInForce: database.memoryOf<TermsInForce | undefined>("terms")(
      "",
      sql`SELECT seq, hash, terms, alerts FROM terms ORDER BY seq DESC LIMIT 1`.pipe(
        rowsOf(TermsRow, "Approvals.termsInForce"),
        Effect.flatMap(([row]) => (row === undefined ? Effect.undefined : termsIn(row))),
      ),
    ),
    /**
     * Puts terms in force, in the transaction of the journal entry with this number. With the time of a slow clock,
     * `policiesSince` would leave out the terms that these replace.
     */
    putTerms: ({ seq, terms, alerts }: Omit<TermsInForce, "hash">) =>
      Effect.flatMap(latestTime(sql), (at) => {
        const texts = { terms: encodeTerms(terms), alerts: encodeAlerts(alerts) }
        return sql.write`INSERT INTO terms ${sql.insert({ seq, hash: termsHash(terms), ...texts, at })}`
      }).pipe(Effect.asVoid, sql.change("Approvals.putTerms")),
    /** Notes the receivers and routes of today for the terms in force. */
    noteAlerts: (alerts: AlertConfig) =>
      write(
        "Approvals.noteAlerts",
        () => sql.write`UPDATE terms SET alerts = ${encodeAlerts(alerts)} WHERE seq = (SELECT max(seq) FROM terms)`,
      ),
    /** The acceptance whose hour is under way, or the last one that put terms in force. */
    acceptance: sql`SELECT id, hash, author, reason, at, since, in_force_at AS "inForceAt" FROM terms_accepted
      WHERE ended_at IS NULL OR in_force_at IS NOT NULL ORDER BY id DESC LIMIT 1`.pipe(
      rowsOf(AcceptanceRow, "Approvals.acceptance"),
      Effect.map(([row]) => row),
    ),
    acceptTerms: (given: Pick<Acceptance, "hash" | "author" | "reason">) =>
      write("Approvals.acceptTerms", (at) => sql.write`INSERT INTO terms_accepted ${sql.insert({ ...given, at })}`),
    /** Sets the start of the acceptance's hour; null: it has not started. */
    countFrom: (since: number | null) =>
      write("Approvals.countFrom", () => sql.write`UPDATE terms_accepted SET since = ${since} WHERE ended_at IS NULL`),
    /** Ends the acceptance whose hour is under way, if there is one. A halt ends it as well. */
    endHour: (end: "in force" | "void") =>
      write(
        "Approvals.endHour",
        (at) => sql.write`UPDATE terms_accepted SET ended_at = ${at}, in_force_at = ${end === "in force" ? at : null}
          WHERE ended_at IS NULL`,
      ),
  }
}
