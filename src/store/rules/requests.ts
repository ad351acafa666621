import { Clock, Effect, Schema } from "effect"
import type { FundingRequest } from "../../rules/Snapshot.ts"
import { Digits, rowsOf } from "../database/columns.ts"
import { type Database, rounded } from "../database/Database.ts"
import type { Sql } from "../database/Sql.ts"
import type { Journal } from "../journal/Journal.ts"

/** A request to people for a payment. */
interface Ask extends FundingRequest {
  readonly seq: number
  /** Why, for people. */
  readonly detail: string
}

const AskRow = Schema.Struct({
  seq: Schema.Int,
  rule: Schema.String,
  subject: Schema.String,
  episode: Schema.Int,
  from: Schema.String,
  to: Schema.String,
  asset: Schema.String,
  amount: Digits,
  decimals: Schema.Int,
  detail: Schema.String,
  at: Schema.Int,
  endedAt: Schema.NullOr(Schema.Int),
})

/** Funding requests: durable, one at a time for each subject. */
export const makeRequests = (sql: Sql, journal: Journal["Service"], database: Database["Service"]) => {
  const remembered = database.memoryOf<ReadonlyArray<Ask>>("asks")
  const columns = sql.literal(`seq, rule, subject, episode, from_party AS "from", to_party AS "to", asset, amount,
    decimals, detail, at, ended_at AS "endedAt"`)
  const toAsk = (row: typeof AskRow.Type): Ask => ({ ...row, endedAt: row.endedAt ?? undefined })
  /** Open ones, and those that ended at or after `since` (Unix milliseconds), oldest first. */
  const requests = (since: number) =>
    remembered(
      `${rounded(since)}`,
      sql`SELECT ${columns} FROM asks WHERE ended_at IS NULL OR ended_at >= ${rounded(since)} ORDER BY seq`.pipe(
        rowsOf(AskRow, "RuleStates.requests"),
        Effect.map((rows) => rows.map(toAsk)),
      ),
    ).pipe(Effect.map((asks) => asks.filter(({ endedAt }) => endedAt === undefined || endedAt >= since)))
  return {
    /** Call it inside the transaction of the decision. */
    recordRequest: Effect.fnUntraced(function* ({ from, to, ...ask }: Omit<Ask, "seq" | "at" | "endedAt">) {
      const at = yield* Clock.currentTimeMillis
      const row = { ...ask, amount: ask.amount.toString(), from_party: from, to_party: to, at, ended_at: null }
      yield* sql.write`INSERT INTO asks ${sql.insert(row)}`
      const { rule, subject, ...body } = { ...ask, from, to }
      yield* journal.append({ kind: "asked", subject: `${rule} ${subject}`, body })
    }, sql.change("RuleStates.recordRequest")),
    /** Ends the open request of the subject; false where it has none. */
    endRequest: Effect.fnUntraced(function* (rule: string, subject: string, detail: string) {
      const at = yield* Clock.currentTimeMillis
      // A start does this for every rule, and few rules have a request.
      if ((yield* requests(at)).every((ask) => ask.rule !== rule || ask.subject !== subject)) return false
      const [ended] = yield* sql.write`UPDATE asks SET ended_at = ${at} WHERE rule = ${rule} AND subject = ${subject}
          AND ended_at IS NULL RETURNING ${columns}`.pipe(rowsOf(AskRow, "RuleStates.endRequest"))
      if (ended === undefined) return false
      const body = { episode: ended.episode, amount: ended.amount, detail }
      yield* journal.append({ kind: "received", subject: `${rule} ${subject}`, body })
      return true
    }, sql.change("RuleStates.endRequest")),
    requests,
  }
}
