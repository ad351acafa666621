import { Context, Effect, Layer, Option, Schema } from "effect"
import { type Attempt, liveAttemptStates } from "../../domain/Attempt.ts"
import { type Intent, isFinalIntent, openIntentStates } from "../../domain/Intent.ts"
import { framings } from "../../tx/Transaction.ts"
import { Big, rowsOf } from "../database/columns.ts"
import { Database, rounded } from "../database/Database.ts"
import { Settings } from "../database/Settings.ts"
import { Sql } from "../database/Sql.ts"
import { Journal } from "../journal/Journal.ts"
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
} from "./outboxRows.ts"
import { makeAttempts, makeIntents } from "./outboxWrites.ts"
import { SpendLog } from "./SpendLog.ts"

export type Evidence = typeof EvidenceRow.Type

const SignedRow = Schema.Struct({ height: Big, n: Schema.Int })
const AcceptanceRow = Schema.Struct({ accepted: Schema.Int, refused: Schema.Int, lost: Schema.Int })
const FormRow = Schema.Struct({ framing: Schema.Literals(framings), undecoded: Schema.Int })
const LastRow = Schema.Struct({ at: Schema.NullOr(Schema.Int) })
const CountRow = Schema.Struct({ state: Schema.String, n: Schema.Int })

const intents = <E>(rows: Effect.Effect<ReadonlyArray<unknown>, E>) =>
  Effect.map(rowsOf(IntentRow, "Outbox.intents")(rows), (all) => all.map(toIntent))
const attempts = <E>(rows: Effect.Effect<ReadonlyArray<unknown>, E>) =>
  Effect.map(rowsOf(AttemptRow, "Outbox.attempts")(rows), (all) => all.map(toAttempt))

/** The reading half of the outbox. */
const makeReads = (sql: Sql, database: Database["Service"]) => {
  const rememberedIntents = database.memoryOf<ReadonlyArray<Intent>>("intents")
  const rememberedAttempts = database.memoryOf<ReadonlyArray<Attempt>>("attempts")
  const rememberedUnmoved = database.memoryOf<ReadonlyArray<Intent>>("intents", "attempts", "watches", "evidence")
  const columns = sql.literal(intentColumns)
  const attemptCols = sql.literal(attemptColumns)
  const quoted = (words: ReadonlyArray<string>) => sql.literal(words.map((word) => `'${word}'`).join(", "))
  const states = quoted(openIntentStates)
  const liveStates = quoted(liveAttemptStates)
  // Read from the watches, which are few: the store keeps every confirmed intent.
  const unmoved = sql.literal(`SELECT w.intent_id FROM watches w WHERE EXISTS (
      SELECT 1 FROM attempts a WHERE a.intent_id = w.intent_id AND a.k = w.k AND a.state = 'confirmed')
    AND NOT EXISTS (
      SELECT 1 FROM evidence e WHERE e.intent_id = w.intent_id AND e.k = w.k AND e.kind = 'moved')`)
  return {
    open: rememberedIntents(
      "open",
      sql`SELECT ${columns} FROM intents WHERE state IN (${states}) ORDER BY created_at, id`.pipe(intents),
    ),
    /** Confirmed intents whose bytes may still execute, with no movement seen: both ends of each stay reserved. */
    unmoved: rememberedUnmoved(
      "unmoved",
      sql`SELECT ${columns} FROM intents WHERE id IN (${unmoved}) ORDER BY created_at, id`.pipe(
        intents,
        Effect.map((some) => some.filter(({ state }) => state === "confirmed")),
      ),
    ),
    byId: (id: string) =>
      rememberedIntents(id, sql`SELECT ${columns} FROM intents WHERE id = ${id}`.pipe(intents)).pipe(
        Effect.map(([intent]) => Option.fromNullishOr(intent)),
      ),
    /** The other payments of the same rule and episode. */
    siblings: ({ id, treasury, rule, episode }: Pick<Intent, "id" | "treasury" | "rule" | "episode">) =>
      sql`SELECT ${columns} FROM intents WHERE treasury = ${treasury} AND rule = ${rule} AND episode = ${episode}
        AND id <> ${id} ORDER BY id`.pipe(intents),
    /** When the last executed payment of a subject was first signed (Unix milliseconds); undefined before the first. */
    lastSigned: ({ treasury, rule, subject }: Pick<Intent, "treasury" | "rule" | "subject">) =>
      sql`SELECT min(a.created_at) AS at FROM attempts a WHERE a.intent_id = (SELECT id FROM intents
        WHERE treasury = ${treasury} AND rule = ${rule} AND subject = ${subject} AND state = 'confirmed'
        ORDER BY episode DESC LIMIT 1)`.pipe(
        rowsOf(LastRow, "Outbox.lastSigned"),
        Effect.map((rows) => rows[0]?.at ?? undefined),
      ),
    /** When the newest unbroken run of decided and dropped payments of a subject began (Unix milliseconds). */
    droppedSince: ({ treasury, rule, subject }: Intent) =>
      sql`SELECT min(created_at) AS at FROM intents
        WHERE treasury = ${treasury} AND rule = ${rule} AND subject = ${subject} AND episode > coalesce((
          SELECT max(episode) FROM intents WHERE treasury = ${treasury} AND rule = ${rule} AND subject = ${subject}
          AND state <> 'cancelled'), -1)`.pipe(
        rowsOf(LastRow, "Outbox.droppedSince"),
        Effect.map((rows) => rows[0]?.at ?? undefined),
      ),
    /** Newest first. */
    recent: (limit: number) =>
      sql`SELECT ${columns} FROM intents ORDER BY created_at DESC, id LIMIT ${limit}`.pipe(intents),
    /** Intents settled after the given Unix milliseconds, oldest first: for cooldowns and for what is not yet seen. */
    settledSince: (millis: number) =>
      rememberedIntents(
        `since ${rounded(millis)}`,
        sql`SELECT ${columns} FROM intents WHERE state NOT IN (${states}) AND updated_at > ${rounded(millis)}
          ORDER BY updated_at, id`.pipe(intents),
      ).pipe(Effect.map((settled) => settled.filter(({ updatedAt }) => updatedAt > millis))),
    /**
     * Intents that may take from the paying key's balance of the asset as of a block time (Unix nanoseconds): open,
     * confirmed with no movement seen, or executed at that time or later, which balances of then lack.
     */
    claims: ({ fromKey, assetId }: Pick<Intent["payment"], "fromKey" | "assetId">, asOf: bigint) =>
      sql`SELECT ${columns} FROM intents WHERE from_key = ${fromKey} AND asset_id = ${assetId} AND id IN (
        SELECT id FROM intents WHERE state IN (${states})
        UNION ALL SELECT id FROM intents WHERE settled_at >= ${asOf}
        UNION ALL ${unmoved}) ORDER BY created_at, id`.pipe(
        intents,
        Effect.map((some) => some.filter(({ state }) => state === "confirmed" || !isFinalIntent(state))),
      ),
    attempts: (intentId: string) =>
      rememberedAttempts(
        intentId,
        sql`SELECT ${attemptCols} FROM attempts WHERE intent_id = ${intentId} ORDER BY k`.pipe(attempts),
      ),
    /** Attempts that may still execute, of all intents. */
    live: rememberedAttempts(
      "live",
      sql`SELECT ${attemptCols} FROM attempts WHERE state IN (${liveStates}) ORDER BY created_at, intent_id`.pipe(
        attempts,
      ),
    ),
    sends: (intentId: string) =>
      sql`SELECT ${sql.literal(sendColumns)} FROM sends WHERE intent_id = ${intentId} ORDER BY seq`.pipe(
        rowsOf(SendRow, "Outbox.sends"),
      ),
    evidence: (intentId: string) =>
      sql`SELECT ${sql.literal(evidenceColumns)} FROM evidence WHERE intent_id = ${intentId} ORDER BY seq`.pipe(
        rowsOf(EvidenceRow, "Outbox.evidence"),
      ),
    /** How many commands of the party were signed on each block from this height on. */
    signedFrom: (party: string, height: bigint) =>
      sql`SELECT anchor_height AS height, count(*) AS n FROM attempts
        WHERE party = ${party} AND anchor_height >= ${height} GROUP BY anchor_height`.pipe(
        rowsOf(SignedRow, "Outbox.signedFrom"),
        Effect.map((rows) => new Map(rows.map((row) => [row.height, row.n]))),
      ),
    /** Definite answers to first sends since the given Unix milliseconds. */
    acceptance: (since: number) =>
      sql`SELECT
        count(*) FILTER (WHERE outcome = 'accepted') AS accepted,
        count(*) FILTER (WHERE outcome = 'refused') AS refused,
        count(*) FILTER (WHERE outcome IN ('ambiguous', 'unreachable')) AS lost
        FROM sends WHERE first = 1 AND started_at > ${since}`.pipe(
        rowsOf(AcceptanceRow, "Outbox.acceptance"),
        Effect.map((rows) => rows[0] ?? { accepted: 0, refused: 0, lost: 0 }),
      ),
    /**
     * Wire forms that mempools could not decode since the given Unix milliseconds, and since they last decoded one or
     * the ledger executed one.
     */
    undecoded: (since: number) =>
      sql`SELECT s.framing, s.outcome IN ('refused', 'framing') AND s.code = 60 AND a.state <> 'confirmed' AS undecoded
        FROM sends s JOIN attempts a ON a.intent_id = s.intent_id AND a.k = s.k
        WHERE s.started_at > ${since} AND s.outcome IN ('accepted', 'duplicate', 'refused', 'framing')
        ORDER BY s.started_at DESC, s.seq DESC`.pipe(
        rowsOf(FormRow, "Outbox.undecoded"),
        Effect.map((rows) => {
          const decoded = rows.findIndex(({ undecoded }) => undecoded === 0)
          return new Set(rows.slice(0, decoded === -1 ? undefined : decoded).map(({ framing }) => framing))
        }),
      ),
    /** Number of intents by state, over all time. */
    counts: sql`SELECT state, count(*) AS n FROM intents GROUP BY state`.pipe(
      rowsOf(CountRow, "Outbox.counts"),
      Effect.map((rows) => new Map(rows.map(({ state, n }) => [state, n]))),
    ),
  }
}

/**
 * Intents and their attempts: what was decided, signed, sent and seen. Each change and its journal entry are one
 * transaction; moves that the diagrams do not have fail, whoever asks for them.
 */
export class Outbox extends Context.Service<Outbox>()("cofferer/store/Outbox", {
  make: Effect.gen(function* () {
    const sql = yield* Sql
    const journal = yield* Journal
    const spends = yield* SpendLog
    const { forgetFraming } = yield* Settings
    return {
      ...makeReads(sql, yield* Database),
      ...makeIntents(sql, journal, spends),
      ...makeAttempts({ sql, journal, spends, forgetFraming }),
    }
  }),
}) {
  static readonly layerNoDeps = Layer.effect(Outbox, Outbox.make).pipe(Layer.provide(SpendLog.layerNoDeps))
}

const AttemptKey = Schema.Struct({ intentId: Schema.String, k: Schema.Int, isTransfer: Schema.Int })

/**
 * The attempt that was sent under a transaction hash, in lower case, or whose transfer id it is. Work that is solved
 * again gives the same attempt another hash: earlier ones are found too.
 */
export const attemptByHash = Effect.fn("Attempts.byHash")(function* (hash: string) {
  const sql = yield* Sql
  const rows = yield* sql`
    SELECT intent_id AS "intentId", k, CASE WHEN transfer_id = ${hash} THEN 1 ELSE 0 END AS "isTransfer" FROM attempts
      WHERE transfer_id = ${hash} OR hash_bare = ${hash} OR hash_prefixed = ${hash}
    UNION SELECT intent_id, k, 0 FROM sends WHERE lower(tx_hash) = ${hash} LIMIT 1`.pipe(
    rowsOf(AttemptKey, "Attempts.byHash"),
  )
  const [found] = rows
  return found === undefined ? undefined : { ...found, isTransfer: found.isTransfer !== 0 }
})
