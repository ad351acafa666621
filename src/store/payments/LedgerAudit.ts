import { Array as Arr, Clock, Context, Effect, Layer, Schema } from "effect"
import type { Attempt } from "../../domain/Attempt.ts"
import { type Intent, type IntentCommand, intentCommands } from "../../domain/Intent.ts"
import { readReference } from "../../domain/Reference.ts"
import { Big, Digits, rowsOf } from "../database/columns.ts"
import { Database } from "../database/Database.ts"
import { Sql } from "../database/Sql.ts"
import { Journal } from "../journal/Journal.ts"
import { AttemptRow, attemptColumns, toAttempt } from "./outboxRows.ts"

/** A transfer as the ledger lists it, as far as it is kept. */
export interface ListedTransfer {
  readonly id: string
  readonly from: string
  readonly to: string
  readonly asset: string
  readonly amount: bigint
  readonly reference: string
  readonly status: string
  /** Block time of its latest version, Unix nanoseconds. */
  readonly timestamp: bigint
  /** True if a quorum of several gateways reports its ends, amount and reference: they replace what fewer reported. */
  readonly isAgreed?: boolean
}

/** A transfer of our key that no attempt explains. */
export interface UnrecognizedTransfer extends ListedTransfer {
  /** True if its reference carries this installation's tag: another copy of this store signed it. */
  readonly own: boolean
}

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

/** Result of one reading of a party's listing. */
interface SeenListing {
  readonly party: string
  readonly cursor: string | undefined
  readonly transfers: ReadonlyArray<ListedTransfer>
  readonly isOwn: (reference: string) => boolean
}

const CursorRow = Schema.Struct({ cursor: Schema.String })
const IdRow = Schema.Struct({ id: Schema.String })
const CountRow = Schema.Struct({ n: Schema.Int })
const ListedRow = Schema.Struct({
  id: Schema.String,
  from: Schema.String,
  to: Schema.String,
  asset: Schema.String,
  amount: Digits,
  reference: Schema.String,
  status: Schema.String,
  timestamp: Big,
  own: Schema.Int,
})
const OldestRow = Schema.Struct({ party: Schema.String, oldest: Big })
const listedColumns = 'id, party AS "from", receiver AS "to", asset, amount, reference, status, timestamp, own'
const DuplicateRow = Schema.Struct({ intentId: Schema.String, n: Schema.Int })

/** Ids in one statement. */
const idsMax = 500

/** Stores a listed transfer, or its new status. True if it is new, or if a quorum corrects one not yet acknowledged. */
const insertListed = Effect.fnUntraced(function* (sql: Sql, listed: UnrecognizedTransfer, knownAs: "ours" | undefined) {
  const { id, from, to, asset, reference, status, timestamp } = listed
  const at = yield* Clock.currentTimeMillis
  const own = listed.own ? 1 : 0
  const tag = readReference(reference)?.tag ?? null
  const rows = yield* sql.write`INSERT INTO listed_transfers ${sql.insert({
    id,
    party: from,
    receiver: to,
    asset,
    amount: listed.amount.toString(),
    reference,
    tag,
    status,
    timestamp,
    own,
    seen_at: at,
    known_as: knownAs ?? null,
    known_at: knownAs === undefined ? null : at,
  })} ON CONFLICT (id) DO NOTHING RETURNING id`
  if (rows.length > 0) return true
  yield* sql.write`UPDATE listed_transfers SET status = ${status}, timestamp = ${timestamp}
    WHERE id = ${id} AND (status <> ${status} OR timestamp <> ${timestamp})`
  if (to === "") return false
  // A movement has no receiver and no reference: without the tag of the listing, the payment would be made again.
  yield* sql.write`UPDATE listed_transfers SET receiver = ${to}, reference = ${reference}, tag = ${tag}, own = ${own}
    WHERE id = ${id} AND receiver = ''`
  if (listed.isAgreed !== true) return false
  // A single gateway may have left out the tag: the answer of a quorum replaces its own.
  const amount = listed.amount.toString()
  const mended = yield* sql.write`UPDATE listed_transfers SET receiver = ${to}, asset = ${asset}, amount = ${amount},
    reference = ${reference}, tag = ${tag}, own = ${own} WHERE id = ${id} AND (receiver <> ${to} OR asset <> ${asset}
    OR amount <> ${amount} OR reference <> ${reference}) RETURNING known_as AS "knownAs"`
  return mended.some(({ knownAs }) => knownAs === null)
})

/** Stores an unrecognized transfer and its journal entry; false if it is stored already. */
const insertUnrecognized = Effect.fnUntraced(function* (
  sql: Sql,
  journal: Journal["Service"],
  transfer: UnrecognizedTransfer,
) {
  const { id, from, to, asset, amount, reference, status, timestamp } = transfer
  if (!(yield* insertListed(sql, transfer, undefined))) return false
  const own = transfer.own ? 1 : 0
  yield* journal.append({
    kind: "stranger",
    subject: id,
    body: { from, to, asset, amount, reference, status, timestamp, own },
  })
  return true
})

const insertExecution = Effect.fnUntraced(function* (sql: Sql, transferId: string, timestamp: bigint) {
  const at = yield* Clock.currentTimeMillis
  yield* sql.write`INSERT INTO executions ${sql.insert({ transfer_id: transferId, timestamp, seen_at: at })}
    ON CONFLICT DO NOTHING`
})

const attemptsOf = Effect.fnUntraced(function* (sql: Sql, transfers: ReadonlyArray<ListedTransfer>) {
  const found = new Map<string, Attempt>()
  const ids = transfers.map(({ id }) => id)
  for (const part of Arr.chunksOf(ids, idsMax)) {
    const rows =
      yield* sql`SELECT ${sql.literal(attemptColumns)} FROM attempts WHERE transfer_id IN ${sql.in(part)}`.pipe(
        rowsOf(AttemptRow, "LedgerAudit.note"),
      )
    for (const row of rows) found.set(row.transferId, toAttempt(row))
  }
  return found
})

const note = Effect.fnUntraced(function* (
  sql: Sql,
  journal: Journal["Service"],
  { party, cursor, transfers, isOwn }: SeenListing,
) {
  const known = yield* attemptsOf(sql, transfers)
  /** Unrecognized transfers that were not seen before. */
  const unrecognized: Array<UnrecognizedTransfer> = []
  /** Attempts of ours that the listing shows as done. */
  const done: Array<Attempt> = []
  for (const transfer of transfers) {
    const attempt = known.get(transfer.id)
    const listed = { ...transfer, own: isOwn(transfer.reference) }
    if (attempt === undefined) {
      if (yield* insertUnrecognized(sql, journal, listed)) unrecognized.push(listed)
      continue
    }
    yield* insertListed(sql, listed, "ours")
    if (transfer.status !== "done") continue
    yield* insertExecution(sql, transfer.id, transfer.timestamp)
    done.push(attempt)
  }
  if (cursor !== undefined) {
    const at = yield* Clock.currentTimeMillis
    yield* sql.write`INSERT INTO transfer_cursors ${sql.insert({ party, cursor, read_at: at })}
      ON CONFLICT (party) DO UPDATE SET cursor = excluded.cursor, read_at = excluded.read_at`
  }
  return { unrecognized, done }
})

const toListed = (rows: ReadonlyArray<typeof ListedRow.Type>): ReadonlyArray<UnrecognizedTransfer> =>
  rows.map((row) => ({ ...row, own: row.own === 1 }))

const makeListings = (
  sql: Sql,
  journal: Journal["Service"],
  { memoryOf }: Database["Service"],
  rememberedOldest = memoryOf<ReadonlyMap<string, bigint>>("listed_transfers"),
  rememberedExecutions = memoryOf<number>("executions"),
  rememberedTags = memoryOf<ReadonlyArray<UnrecognizedTransfer>>("listed_transfers", "attempts"),
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
  note: (seen: SeenListing) => note(sql, journal, seen).pipe(sql.change("LedgerAudit.note")),
  /** Notes that the attempt was done in the block of this time (Unix nanoseconds); a second time changes nothing. */
  noteExecution: (transferId: string, timestamp: bigint) =>
    insertExecution(sql, transferId, timestamp).pipe(sql.change("LedgerAudit.noteExecution")),
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
