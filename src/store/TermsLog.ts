import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type AlertConfig, decodeAlerts, encodeAlerts } from "../config/storedAlerts.ts"
import { decodeTerms, encodeTerms, termsHash } from "../rules/storedTerms.ts"
import type { Terms } from "../rules/weakens.ts"
import { rowsOf } from "./columns.ts"
import { Database } from "./Database.ts"
import { StoreError, storeError } from "./StoreError.ts"

/** Terms that are in force, or were last. */
export interface TermsInForce {
  /** Number of the journal entry that put them in force. */
  readonly seq: number
  readonly hash: string
  readonly terms: Terms
  /** Who was told of what under them. */
  readonly alerts: AlertConfig
  /** Names of the rules of the configuration last in force. */
  readonly rules: ReadonlyArray<string>
}

/** Weaker terms that wait. */
export interface TermsWait {
  readonly id: number
  readonly hash: string
  /** What they permit that those in force do not, in words. */
  readonly weaker: ReadonlyArray<string>
  /** First start with exactly these terms, Unix milliseconds of our clock. */
  readonly since: number
  /** Time of the newest block then, Unix milliseconds; undefined until one is known. */
  readonly blockSince: number | undefined
  /** When people were last told. */
  readonly toldAt: number | undefined
  /** Who objected: these terms come into force by approval alone. */
  readonly objection: { readonly author: string; readonly reason: string; readonly at: number } | undefined
}

const TermsRow = Schema.Struct({
  seq: Schema.Int,
  hash: Schema.String,
  terms: Schema.String,
  alerts: Schema.String,
  rules: Schema.fromJsonString(Schema.Array(Schema.String)),
})
const WaitRow = Schema.Struct({
  id: Schema.Int,
  hash: Schema.String,
  weaker: Schema.fromJsonString(Schema.Array(Schema.String)),
  since: Schema.Int,
  blockSince: Schema.NullOr(Schema.Int),
  toldAt: Schema.NullOr(Schema.Int),
  author: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(Schema.String),
  objectedAt: Schema.NullOr(Schema.Int),
})

/** Objections to terms outlive the wait in which they were raised. */
const waitOf = ({ author, reason, objectedAt, ...row }: typeof WaitRow.Type): TermsWait => ({
  ...row,
  blockSince: row.blockSince ?? undefined,
  toldAt: row.toldAt ?? undefined,
  objection: objectedAt === null ? undefined : { author: author ?? "", reason: reason ?? "", at: objectedAt },
})

const termsIn = ({ terms: text, alerts, ...row }: typeof TermsRow.Type) => {
  const terms = decodeTerms(text)
  if (terms === undefined || termsHash(terms) !== row.hash) {
    return new StoreError({ operation: "TermsLog.inForce", cause: `the terms of entry ${row.seq} cannot be read` })
  }
  return Effect.succeed({ ...row, terms, alerts: decodeAlerts(alerts) } satisfies TermsInForce)
}

/** What bounds the money by the configuration last in force, and what waits to replace it. Outlives every file. */
export class TermsLog extends Context.Service<
  TermsLog,
  {
    /** Undefined in a store that has seen none. */
    readonly inForce: Effect.Effect<TermsInForce | undefined, StoreError>
    /** Puts terms in force, in the transaction of the journal entry with this number. */
    readonly put: (next: Omit<TermsInForce, "hash">) => Effect.Effect<void, StoreError>
    /** Notes of the terms in force whom their configuration tells now, and which rules it has. */
    readonly note: (names: Pick<TermsInForce, "alerts" | "rules">) => Effect.Effect<void, StoreError>
    readonly waiting: Effect.Effect<TermsWait | undefined, StoreError>
    /** Begins to wait with these terms, from now on; what was raised against them before still holds. */
    readonly begin: (hash: string, weaker: ReadonlyArray<string>) => Effect.Effect<void, StoreError>
    /** Begins the time of the wait anew, or notes the block from which it counts. */
    readonly count: (id: number, since: number, blockSince: number | undefined) => Effect.Effect<void, StoreError>
    readonly told: (id: number, at: number) => Effect.Effect<void, StoreError>
    readonly object: (id: number, author: string, reason: string) => Effect.Effect<void, StoreError>
    /** Ends the wait: the terms came into force, or are not those of the file any more. */
    readonly end: (id: number) => Effect.Effect<void, StoreError>
  }
>()("cofferer/store/TermsLog") {
  static readonly layer = Layer.effect(
    TermsLog,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const database = yield* Database
      const write = <A, E>(name: string, effect: Effect.Effect<A, E>) =>
        effect.pipe(Effect.asVoid, storeError(name), Effect.withSpan(name))
      const inForce = database.memoryOf<TermsInForce | undefined>("terms")(
        "",
        sql`SELECT seq, hash, terms, alerts, rules FROM terms ORDER BY seq DESC LIMIT 1`.pipe(
          rowsOf(TermsRow, "TermsLog.inForce"),
          Effect.flatMap(([row]) => (row === undefined ? Effect.undefined : termsIn(row))),
        ),
      )
      const waiting = database.memoryOf<TermsWait | undefined>("terms_waits")(
        "",
        sql`SELECT w.id, w.hash, w.weaker, w.since, w.block_since AS "blockSince", w.told_at AS "toldAt",
          o.objected_by AS author, o.objection AS reason, o.objected_at AS "objectedAt"
          FROM terms_waits w LEFT JOIN terms_waits o ON o.hash = w.hash AND o.objected_at IS NOT NULL
          WHERE w.ended_at IS NULL ORDER BY o.id DESC LIMIT 1`.pipe(
          rowsOf(WaitRow, "TermsLog.waiting"),
          Effect.map(([row]) => (row === undefined ? undefined : waitOf(row))),
        ),
      )
      const now = Clock.currentTimeMillis
      return TermsLog.of({
        inForce,
        waiting,
        put: ({ seq, terms, alerts, rules }) =>
          write(
            "TermsLog.put",
            Effect.flatMap(
              now,
              (at) =>
                sql`INSERT INTO terms ${sql.insert({
                  seq,
                  hash: termsHash(terms),
                  terms: encodeTerms(terms),
                  alerts: encodeAlerts(alerts),
                  rules: JSON.stringify(rules),
                  at,
                })}`,
            ),
          ),
        note: ({ alerts, rules }) =>
          write(
            "TermsLog.note",
            sql`UPDATE terms SET alerts = ${encodeAlerts(alerts)}, rules = ${JSON.stringify(rules)}
              WHERE seq = (SELECT max(seq) FROM terms)`,
          ),
        begin: (hash, weaker) =>
          write(
            "TermsLog.begin",
            Effect.flatMap(
              now,
              (since) => sql`INSERT INTO terms_waits ${sql.insert({ hash, weaker: JSON.stringify(weaker), since })}`,
            ),
          ),
        count: (id, since, blockSince) =>
          write(
            "TermsLog.count",
            sql`UPDATE terms_waits SET since = ${since}, block_since = ${blockSince ?? null} WHERE id = ${id}`,
          ),
        told: (id, at) => write("TermsLog.told", sql`UPDATE terms_waits SET told_at = ${at} WHERE id = ${id}`),
        object: (id, author, reason) =>
          write(
            "TermsLog.object",
            Effect.flatMap(
              now,
              (at) => sql`UPDATE terms_waits SET objected_by = ${author}, objection = ${reason}, objected_at = ${at}
                WHERE id = ${id}`,
            ),
          ),
        end: (id) =>
          write(
            "TermsLog.end",
            Effect.flatMap(now, (at) => sql`UPDATE terms_waits SET ended_at = ${at} WHERE id = ${id}`),
          ),
      })
    }),
  )
}
