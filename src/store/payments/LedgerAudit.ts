import { Array as Arr, Clock, Context, Effect, Layer, Schema } from "effect"
import type { Attempt } from "../../domain/Attempt.ts"
import { type Intent, type IntentCommand, intentCommands } from "../../domain/Intent.ts"
import { Big, Digits, rowsOf } from "../database/columns.ts"
import { Database } from "../database/Database.ts"
import { Sql } from "../database/Sql.ts"
import { Journal } from "../journal/Journal.ts"
import {
  idsMax,
  ListedRow,
  type ListedTransfer,
  listedColumns,
  makeNote,
  type SeenListing,
  type UnrecognizedTransfer,
} from "./noteListing.ts"
import { AttemptRow, attemptColumns, toAttempt } from "./outboxRows.ts"

/** An attempt that came to an end. */
const EndedRow = Schema.Struct({
  intentId: Schema.String,
  k: Schema.Int,
  command: Schema.Literals(intentCommands),
  transferId: Schema.String,
  state: Schema.String,
  to: Schema.String,
  asset: Schema.String,
  amount: Digits,
})
export type EndedAttempt = typeof EndedRow.Type

const CursorRow = Schema.Struct({ cursor: Schema.String })
const IdRow = Schema.Struct({ id: Schema.String })
const LastRow = Schema.Struct({ id: Schema.String, timestamp: Big, own: Schema.Int })
const CountRow = Schema.Struct({ n: Schema.Int })
const OldestRow = Schema.Struct({ party: Schema.String, oldest: Big })
const DuplicateRow = Schema.Struct({ intentId: Schema.String, n: Schema.Int })

const toListed = (rows: ReadonlyArray<typeof ListedRow.Type>): ReadonlyArray<UnrecognizedTransfer> =>
  rows.map((row) => ({ ...row, own: row.own === 1 }))

const makeListings = (
  sql: Sql,
  journal: Journal["Service"],
  { memoryOf }: Database["Service"],
  rememberedOldest = memoryOf<ReadonlyMap<string, bigint>>("listed_transfers"),
  rememberedExecutions = memoryOf<number>("executions"),
  rememberedTags = memoryOf<ReadonlyArray<UnrecognizedTransfer>>("listed_transfers", "attempts"),
  { note, noteExecution } = makeNote(sql, journal),
) => ({
  /** Where the next reading of the party's listing begins, "": at its beginning; undefined before the first. */
  cursor: (party: string) =>
    sql`SELECT cursor FROM transfer_cursors WHERE party = ${party}`.pipe(
      rowsOf(CursorRow, "LedgerAudit.cursor"),
      Effect.map((rows) => rows[0]?.cursor),
    ),
  /** Every listing is read from its beginning again. */
  rereadAll: sql.write`UPDATE transfer_cursors SET cursor = ''`.pipe(
    Effect.asVoid,
    sql.change("LedgerAudit.rereadAll"),
  ),
  /**
   * Stores the listed transfers with their present status and, if given, the cursor, together. A transfer of an attempt
   * of this store counts as an execution where it is done; any other is unrecognized.
   */
  note: (seen: SeenListing) => note(seen).pipe(sql.change("LedgerAudit.note")),
  /** Notes that the attempt was done in the block of this time (Unix nanoseconds); a second time changes nothing. */
  noteExecution: (transferId: string, timestamp: bigint) =>
    noteExecution(transferId, timestamp).pipe(sql.change("LedgerAudit.noteExecution")),
  /** Number of blocks in which the attempt was seen as done. */
  countExecutions: (transferId: string) =>
    rememberedExecutions(
      transferId,
      sql`SELECT count(*) AS n FROM executions WHERE transfer_id = ${transferId}`.pipe(
        rowsOf(CountRow, "LedgerAudit.countExecutions"),
        Effect.map((rows) => rows[0]?.n ?? 0),
      ),
    ),
  /** Transfer id of our newest listed payment of a kind with a known movement; undefined: none. */
  newestListed: (party: string, command: IntentCommand) =>
    sql`SELECT l.id FROM listed_transfers l JOIN attempts a ON a.transfer_id = l.id
      JOIN intents i ON i.id = a.intent_id JOIN evidence e ON e.intent_id = a.intent_id AND e.k = a.k
      WHERE l.party = ${party} AND i.command = ${command} AND l.status = 'done' AND e.kind = 'moved'
      ORDER BY l.timestamp DESC LIMIT 1`.pipe(
      rowsOf(IdRow, "LedgerAudit.newestListed"),
      Effect.map((rows) => rows[0]?.id),
    ),
  /** Unrecognized transfers that nobody has acknowledged, oldest first. */
  unacknowledged: sql`SELECT ${sql.literal(listedColumns)} FROM listed_transfers WHERE known_as IS NULL
    ORDER BY timestamp, id`.pipe(rowsOf(ListedRow, "LedgerAudit.unacknowledged"), Effect.map(toListed)),
  /** Unrecognized transfers with this tag, acknowledged or not, oldest first. */
  withTag: (party: string, tag: string) =>
    rememberedTags(
      `${party} ${tag}`,
      sql`SELECT ${sql.literal(listedColumns)} FROM listed_transfers WHERE party = ${party} AND tag = ${tag}
        AND NOT EXISTS (SELECT 1 FROM attempts WHERE transfer_id = listed_transfers.id) ORDER BY timestamp, id`.pipe(
        rowsOf(ListedRow, "LedgerAudit.withTag"),
        Effect.map(toListed),
      ),
    ),
  /** Number of unrecognized transfers of the amount after the block time `since` (Unix nanoseconds). */
  countUnrecognized: ({
    party,
    asset,
    amount,
    since,
  }: Pick<ListedTransfer, "asset" | "amount"> & { readonly party: string; readonly since: bigint }) =>
    sql`SELECT count(*) AS n FROM listed_transfers WHERE party = ${party} AND asset = ${asset}
      AND amount = ${amount.toString()} AND timestamp > ${since}
      AND NOT EXISTS (SELECT 1 FROM attempts WHERE transfer_id = listed_transfers.id)`.pipe(
      rowsOf(CountRow, "LedgerAudit.countUnrecognized"),
      Effect.map((rows) => rows[0]?.n ?? 0),
    ),
  /**
   * The newest listed transfer of a key that this installation signed, with its block time; without one, the newest
   * acknowledged transfer or withdrawal.
   */
  lastKnown: (party: string) =>
    sql`SELECT id, timestamp, own FROM listed_transfers WHERE party = ${party} AND known_as IS NOT NULL
      ORDER BY own DESC, timestamp DESC LIMIT 1`.pipe(
      rowsOf(LastRow, "LedgerAudit.lastKnown"),
      Effect.map((rows) => rows[0]),
    ),
  /** Block time (Unix nanoseconds) of the oldest listed transfer, by key. */
  oldestListed: rememberedOldest(
    "oldest",
    sql`SELECT party, min(timestamp) AS oldest FROM listed_transfers GROUP BY party`.pipe(
      rowsOf(OldestRow, "LedgerAudit.oldestListed"),
      Effect.map((rows) => new Map(rows.map(({ party, oldest }) => [party, oldest]))),
    ),
  ),
  /** `as`: the verb by which people acknowledged them. */
  acknowledge: (ids: ReadonlyArray<string>, as: "adopted" | "recovered") =>
    Effect.flatMap(Clock.currentTimeMillis, (at) =>
      Effect.forEach(
        Arr.chunksOf(ids, idsMax),
        (part) => sql.write`UPDATE listed_transfers SET known_as = ${as}, known_at = ${at} WHERE id IN ${sql.in(part)}`,
        { discard: true },
      ),
    ).pipe(sql.change("LedgerAudit.acknowledge")),
})

const makeDuplicates = (sql: Sql, journal: Journal["Service"]) => ({
  /** Notes that an intent executed `count` times, at least twice; false if that is noted already. */
  noteDuplicate: Effect.fnUntraced(function* (intentId: string, count: number, detail: string) {
    const at = yield* Clock.currentTimeMillis
    let fresh = false
    for (let n = 2; n <= count; n++) {
      const rows =
        yield* sql.write`INSERT INTO duplicates ${sql.insert({ intent_id: intentId, n, detail, seen_at: at })}
          ON CONFLICT (intent_id, n) DO NOTHING RETURNING n`
      if (rows.length === 0) continue
      fresh = true
      yield* journal.append({ kind: "duplicate", subject: intentId, body: { n, detail } })
    }
    return fresh
  }, sql.change("LedgerAudit.noteDuplicate")),
  /** Executions beyond the first that no person has acknowledged; a resume of everything does. */
  duplicates: sql`SELECT intent_id AS "intentId", n FROM duplicates WHERE acknowledged_at IS NULL
    ORDER BY seen_at, intent_id, n`.pipe(rowsOf(DuplicateRow, "LedgerAudit.duplicates")),
})

const makeWatches = (sql: Sql, { memoryOf }: Database["Service"]) => {
  const columns = sql.literal(attemptColumns)
  const remembered = memoryOf<ReadonlyArray<Attempt>>("attempts", "watches")
  return {
    /** Attempts whose bytes have left and whose window is not yet compared with the ledger to its end, oldest first. */
    watched: remembered(
      "watched",
      sql`SELECT ${columns} FROM attempts WHERE (intent_id, k) IN (SELECT intent_id, k FROM watches)
        ORDER BY created_at, intent_id, k`.pipe(
        rowsOf(AttemptRow, "LedgerAudit.watched"),
        Effect.map((rows) => rows.map(toAttempt)),
      ),
    ),
    /** Watches an attempt again: there is a doubt about how often it executed. */
    watch: (attempt: Attempt) =>
      sql.write`INSERT INTO watches ${sql.insert({ intent_id: attempt.intentId, k: attempt.k })} ON CONFLICT DO NOTHING`.pipe(
        Effect.asVoid,
        sql.change("LedgerAudit.watch"),
      ),
    /** As `watch`, by transfer id; an id without an attempt changes nothing. */
    watchTransfers: (ids: ReadonlyArray<string>) =>
      sql.write`INSERT INTO watches (intent_id, k) SELECT intent_id, k FROM attempts WHERE transfer_id IN ${sql.in(ids)}
        ON CONFLICT DO NOTHING`.pipe(Effect.asVoid, sql.change("LedgerAudit.watchTransfers")),
    /** Attempts of a key that came to an end, with what their payments move, oldest first. */
    endedAttempts: (party: string) =>
      sql`SELECT intent_id AS "intentId", k, command, transfer_id AS "transferId", attempts.state AS state, to_key AS "to",
        asset_id AS asset, amount FROM attempts JOIN intents ON intents.id = attempts.intent_id
        WHERE attempts.party = ${party} AND attempts.state IN ('confirmed', 'failed', 'expired')
        ORDER BY attempts.created_at, intent_id, k`.pipe(rowsOf(EndedRow, "LedgerAudit.endedAttempts")),
    endWatch: (attempt: Attempt) =>
      sql.write`DELETE FROM watches WHERE intent_id = ${attempt.intentId} AND k = ${attempt.k}`.pipe(
        Effect.asVoid,
        sql.change("LedgerAudit.endWatch"),
      ),
  }
}

/** Results of comparing the ledger with the journal, and how far the comparison has come. */
export class LedgerAudit extends Context.Service<LedgerAudit>()("cofferer/store/LedgerAudit", {
  make: Effect.gen(function* () {
    const sql = yield* Sql
    const journal = yield* Journal
    const database = yield* Database
    return {
      ...makeListings(sql, journal, database),
      ...makeDuplicates(sql, journal),
      ...makeWatches(sql, database),
    }
  }),
}) {
  static readonly layerNoDeps = Layer.effect(LedgerAudit, LedgerAudit.make)
}

/** Tags by which payments are recognized on the ledger. */
export class Tags extends Context.Service<
  Tags,
  {
    /** 16 hex characters, equal for every store of the paying key; undefined where that key is not held here. */
    readonly of: (party: string, intentId: string) => string | undefined
  }
>()("cofferer/store/Tags") {}

/**
 * Listed transfers with the payment's tag that are no attempt of this store: another copy of the store paid it, or
 * tried to. Oldest first. A withdrawal has no tag.
 */
export const listedBefore = Effect.fnUntraced(function* ({
  id,
  command,
  payment: { fromKey },
}: Pick<Intent, "id" | "command"> & { readonly payment: Pick<Intent["payment"], "fromKey"> }) {
  const tag = command === "transfer" ? (yield* Tags).of(fromKey, id) : undefined
  return tag === undefined ? [] : yield* (yield* LedgerAudit).withTag(fromKey, tag)
})
