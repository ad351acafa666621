import { Context, Effect, Layer, Option, Schema } from "effect"
import { type Attempt, type EvidenceKind, liveAttemptStates } from "../../domain/Attempt.ts"
import { type Intent, type IntentState, isFinalIntent, openIntentStates } from "../../domain/Intent.ts"
import { type Framing, framings } from "../../tx/Transaction.ts"
import { Big, rowsOf } from "../database/columns.ts"
import { Database, rounded } from "../database/Database.ts"
import { Settings } from "../database/Settings.ts"
import { Sql } from "../database/Sql.ts"
import type { StoreError } from "../database/StoreError.ts"
import { Journal, type JournalEntry } from "../journal/Journal.ts"
import {
  AttemptRow,
  attemptColumns,
  EvidenceRow,
  evidenceColumns,
  IntentRow,
  intentColumns,
  type SeenEvidence,
  type SendEnd,
  SendRow,
  type SendStart,
  type Settlement,
  type SolvedWork,
  sendColumns,
  toAttempt,
  toIntent,
} from "./outboxRows.ts"
import { makeAttempts, makeIntents } from "./outboxWrites.ts"
import { SpendLog } from "./SpendLog.ts"

export type Send = typeof SendRow.Type
export type Evidence = typeof EvidenceRow.Type

/**
 * Intents and their attempts: what was decided, signed, sent and seen. Each change and its journal entry are one
 * transaction; moves that the diagrams do not have fail, whoever asks for them.
 */
export class Outbox extends Context.Service<
  Outbox,
  {
    /**
     * Stores a decided intent, with more of its journal entries. The same id a second time keeps the first and returns
     * false.
     */
    readonly record: (intent: Intent, ...why: ReadonlyArray<JournalEntry>) => Effect.Effect<boolean, StoreError>
    readonly open: Effect.Effect<ReadonlyArray<Intent>, StoreError>
    readonly byId: (id: string) => Effect.Effect<Option.Option<Intent>, StoreError>
    /** The other payments of the same rule and episode. */
    readonly siblings: (
      intent: Pick<Intent, "id" | "treasury" | "rule" | "episode">,
    ) => Effect.Effect<ReadonlyArray<Intent>, StoreError>
    /** When the last executed payment of a subject was first signed (Unix milliseconds); undefined before the first. */
    readonly lastSigned: (
      of: Pick<Intent, "treasury" | "rule" | "subject">,
    ) => Effect.Effect<number | undefined, StoreError>
    /** When the newest unbroken run of decided and dropped payments of a subject began (Unix milliseconds). */
    readonly droppedSince: (intent: Intent) => Effect.Effect<number | undefined, StoreError>
    /** Newest first. */
    readonly recent: (count: number) => Effect.Effect<ReadonlyArray<Intent>, StoreError>
    /** Confirmed intents whose bytes may still execute, with no movement seen: both ends of each stay reserved. */
    readonly unmoved: Effect.Effect<ReadonlyArray<Intent>, StoreError>
    /** Intents settled after the given Unix milliseconds, oldest first: for cooldowns and for what is not yet seen. */
    readonly settledSince: (millis: number) => Effect.Effect<ReadonlyArray<Intent>, StoreError>
    /**
     * Intents that may take from the paying key's balance of the asset as of a block time (Unix nanoseconds): open,
     * confirmed with no movement seen, or executed at that time or later, which balances of then lack.
     */
    readonly claims: (
      on: Pick<Intent["payment"], "fromKey" | "assetId">,
      asOf: bigint,
    ) => Effect.Effect<ReadonlyArray<Intent>, StoreError>
    /** Moves an intent along its diagram; the same state again only changes the sentence. */
    readonly move: (intent: Intent, to: IntentState, settlement: Settlement) => Effect.Effect<Intent, StoreError>
    /** Makes signed bytes durable and puts the intent in flight: after this, and never before, they may be sent. */
    readonly persist: (intent: Intent, attempt: Attempt) => Effect.Effect<void, StoreError>
    readonly attempts: (intentId: string) => Effect.Effect<ReadonlyArray<Attempt>, StoreError>
    /** Attempts that may still execute, of all intents. */
    readonly live: Effect.Effect<ReadonlyArray<Attempt>, StoreError>
    /** Stores a solution. An attempt that is over keeps what it has. */
    readonly saveWork: (attempt: Attempt, work: SolvedWork) => Effect.Effect<void, StoreError>
    /** Drops a solution that was refused; the signature stays, and an attempt that is over keeps what it has. */
    readonly dropWork: (attempt: Attempt, nextAt: number) => Effect.Effect<void, StoreError>
    /** Notes that a POST is about to begin. Returns its number. */
    readonly beginSend: (start: SendStart) => Effect.Effect<number, StoreError>
    readonly endSend: (end: SendEnd) => Effect.Effect<void, StoreError>
    readonly addEvidence: (attempt: Attempt, kind: EvidenceKind, seen: SeenEvidence) => Effect.Effect<void, StoreError>
    /** A window that the network was seen to have, in blocks: it bounds every attempt that may still execute. */
    readonly noteWindow: (blocks: number) => Effect.Effect<void, StoreError>
    readonly schedule: (attempt: Attempt, nextAt: number, nextHeight: bigint) => Effect.Effect<void, StoreError>
    /**
     * Ends an attempt and moves its intent in one transaction. One that never executed forgets the wire form of its
     * chain: it may have been refused for a form that is remembered wrongly.
     */
    readonly settle: (
      intent: Intent,
      attempt: Attempt,
      to: "confirmed" | "failed" | "expired",
      intentTo: IntentState,
      settlement: Settlement,
    ) => Effect.Effect<void, StoreError>
    readonly sends: (intentId: string) => Effect.Effect<ReadonlyArray<Send>, StoreError>
    readonly evidence: (intentId: string) => Effect.Effect<ReadonlyArray<Evidence>, StoreError>
    /** How many commands of the party were signed on each block from this height on. */
    readonly signedFrom: (party: string, height: bigint) => Effect.Effect<ReadonlyMap<bigint, number>, StoreError>
    /** Definite answers to first sends since the given Unix milliseconds. */
    readonly acceptance: (
      since: number,
    ) => Effect.Effect<{ readonly accepted: number; readonly refused: number; readonly lost: number }, StoreError>
    /**
     * Wire forms that mempools could not decode since the given Unix milliseconds, and since they last decoded one or
     * the ledger executed one.
     */
    readonly undecoded: (since: number) => Effect.Effect<ReadonlySet<Framing>, StoreError>
    /** Number of intents by state, over all time. */
    readonly counts: Effect.Effect<ReadonlyMap<string, number>, StoreError>
  }
>()("cofferer/store/Outbox") {
  static readonly layerNoDeps = Layer.effect(
    Outbox,
    Effect.gen(function* () {
      const sql = yield* Sql
      const journal = yield* Journal
      const spends = yield* SpendLog
      const database = yield* Database
      const { forgetFraming } = yield* Settings
      return Outbox.of({
        ...makeReads(sql, database),
        ...makeIntents(sql, journal, spends),
        ...makeAttempts({ sql, journal, spends, forgetFraming }),
      })
    }),
  ).pipe(Layer.provide(SpendLog.layerNoDeps))
}

const SignedRow = Schema.Struct({ height: Big, n: Schema.Int })
const AcceptanceRow = Schema.Struct({ accepted: Schema.Int, refused: Schema.Int, lost: Schema.Int })
const FormRow = Schema.Struct({ framing: Schema.Literals(framings), undecoded: Schema.Int })
const LastRow = Schema.Struct({ at: Schema.NullOr(Schema.Int) })
const CountRow = Schema.Struct({ state: Schema.String, n: Schema.Int })

/** The reading half of the outbox. */
const makeReads = (sql: Sql, database: Database["Service"]) => {
  const rememberedIntents = database.memoryOf<ReadonlyArray<Intent>>("intents")
  const rememberedAttempts = database.memoryOf<ReadonlyArray<Attempt>>("attempts")
  const rememberedUnmoved = database.memoryOf<ReadonlyArray<Intent>>("intents", "attempts", "watches", "evidence")
  const intents = rowsOf(IntentRow, "Outbox.intents")
  const columns = sql.literal(intentColumns)
  const toIntents = Effect.map((rows: ReadonlyArray<typeof IntentRow.Type>) => rows.map(toIntent))
  const attempts = rowsOf(AttemptRow, "Outbox.attempts")
  const toAttempts = Effect.map((rows: ReadonlyArray<typeof AttemptRow.Type>) => rows.map(toAttempt))
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
      sql`SELECT ${columns} FROM intents WHERE state IN (${states}) ORDER BY created_at, id`.pipe(intents, toIntents),
    ),
    unmoved: rememberedUnmoved(
      "unmoved",
      sql`SELECT ${columns} FROM intents WHERE id IN (${unmoved}) ORDER BY created_at, id`.pipe(
        intents,
        toIntents,
        Effect.map((some) => some.filter(({ state }) => state === "confirmed")),
      ),
    ),
    byId: (id: string) =>
      rememberedIntents(id, sql`SELECT ${columns} FROM intents WHERE id = ${id}`.pipe(intents, toIntents)).pipe(
        Effect.map(([intent]) => Option.fromNullishOr(intent)),
      ),
    siblings: ({ id, treasury, rule, episode }: Pick<Intent, "id" | "treasury" | "rule" | "episode">) =>
      sql`SELECT ${columns} FROM intents WHERE treasury = ${treasury} AND rule = ${rule} AND episode = ${episode}
        AND id <> ${id} ORDER BY id`.pipe(intents, toIntents),
    lastSigned: ({ treasury, rule, subject }: Pick<Intent, "treasury" | "rule" | "subject">) =>
      sql`SELECT min(a.created_at) AS at FROM attempts a WHERE a.intent_id = (SELECT id FROM intents
        WHERE treasury = ${treasury} AND rule = ${rule} AND subject = ${subject} AND state = 'confirmed'
        ORDER BY episode DESC LIMIT 1)`.pipe(
        rowsOf(LastRow, "Outbox.lastSigned"),
        Effect.map((rows) => rows[0]?.at ?? undefined),
      ),
    droppedSince: ({ treasury, rule, subject }: Intent) =>
      sql`SELECT min(created_at) AS at FROM intents
        WHERE treasury = ${treasury} AND rule = ${rule} AND subject = ${subject} AND episode > coalesce((
          SELECT max(episode) FROM intents WHERE treasury = ${treasury} AND rule = ${rule} AND subject = ${subject}
          AND state <> 'cancelled'), -1)`.pipe(
        rowsOf(LastRow, "Outbox.droppedSince"),
        Effect.map((rows) => rows[0]?.at ?? undefined),
      ),
    recent: (limit: number) =>
      sql`SELECT ${columns} FROM intents ORDER BY created_at DESC, id LIMIT ${limit}`.pipe(intents, toIntents),
    settledSince: (millis: number) =>
      rememberedIntents(
        `since ${rounded(millis)}`,
        sql`SELECT ${columns} FROM intents WHERE state NOT IN (${states}) AND updated_at > ${rounded(millis)}
          ORDER BY updated_at, id`.pipe(intents, toIntents),
      ).pipe(Effect.map((settled) => settled.filter(({ updatedAt }) => updatedAt > millis))),
    claims: ({ fromKey, assetId }: Pick<Intent["payment"], "fromKey" | "assetId">, asOf: bigint) =>
      sql`SELECT ${columns} FROM intents WHERE from_key = ${fromKey} AND asset_id = ${assetId} AND id IN (
        SELECT id FROM intents WHERE state IN (${states})
        UNION ALL SELECT id FROM intents WHERE settled_at >= ${asOf}
        UNION ALL ${unmoved}) ORDER BY created_at, id`.pipe(
        intents,
        toIntents,
        Effect.map((some) => some.filter(({ state }) => state === "confirmed" || !isFinalIntent(state))),
      ),
    attempts: (intentId: string) =>
      rememberedAttempts(
        intentId,
        sql`SELECT ${attemptCols} FROM attempts WHERE intent_id = ${intentId} ORDER BY k`.pipe(attempts, toAttempts),
      ),
    live: rememberedAttempts(
      "live",
      sql`SELECT ${attemptCols} FROM attempts WHERE state IN (${liveStates}) ORDER BY created_at, intent_id`.pipe(
        attempts,
        toAttempts,
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
    signedFrom: (party: string, height: bigint) =>
      sql`SELECT anchor_height AS height, count(*) AS n FROM attempts
        WHERE party = ${party} AND anchor_height >= ${height} GROUP BY anchor_height`.pipe(
        rowsOf(SignedRow, "Outbox.signedFrom"),
        Effect.map((rows) => new Map(rows.map((row) => [row.height, row.n]))),
      ),
    acceptance: (since: number) =>
      sql`SELECT
        count(*) FILTER (WHERE outcome = 'accepted') AS accepted,
        count(*) FILTER (WHERE outcome = 'refused') AS refused,
        count(*) FILTER (WHERE outcome IN ('ambiguous', 'unreachable')) AS lost
        FROM sends WHERE first = 1 AND started_at > ${since}`.pipe(
        rowsOf(AcceptanceRow, "Outbox.acceptance"),
        Effect.map((rows) => rows[0] ?? { accepted: 0, refused: 0, lost: 0 }),
      ),
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
    counts: sql`SELECT state, count(*) AS n FROM intents GROUP BY state`.pipe(
      rowsOf(CountRow, "Outbox.counts"),
      Effect.map((rows) => new Map(rows.map(({ state, n }) => [state, n]))),
    ),
  }
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
