import { Array as Arr, Clock, Effect, Schema } from "effect"
import type { Attempt } from "../../domain/Attempt.ts"
import { readReference } from "../../domain/Reference.ts"
import { Big, Digits, overTuples, rowsOf } from "../database/columns.ts"
import type { Sql } from "../database/Sql.ts"
import type { Journal } from "../journal/Journal.ts"
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

/** Result of one reading of a party's listing. */
export interface SeenListing {
  readonly party: string
  readonly cursor: string | undefined
  readonly transfers: ReadonlyArray<ListedTransfer>
  readonly isOwn: (reference: string) => boolean
}

export const ListedRow = Schema.Struct({
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
export const listedColumns = 'id, party AS "from", receiver AS "to", asset, amount, reference, status, timestamp, own'
const ExecutionRow = Schema.Struct({ id: Schema.String, timestamp: Big })

/** Ids or journal entries in one statement. */
export const idsMax = 500

/** True if `updateListed` would change the stored row. */
const isChanged = (stored: typeof ListedRow.Type, { to, asset, amount, reference, ...listed }: ListedTransfer) => {
  if (stored.status !== listed.status || stored.timestamp !== listed.timestamp) return true
  if (to === "" || stored.to === "") return to !== ""
  const isSame = stored.to === to && stored.asset === asset && stored.amount === amount
  return listed.isAgreed === true && !(isSame && stored.reference === reference)
}

/** Stores a known transfer's new status. True if a quorum corrects one that is not yet acknowledged. */
const updateListed = Effect.fnUntraced(function* (sql: Sql, listed: UnrecognizedTransfer) {
  const { id, to, asset, reference, status, timestamp } = listed
  const own = listed.own ? 1 : 0
  const tag = readReference(reference)?.tag ?? null
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

/**
 * Rows of many ids, read in parts. Each statement is to be run unprepared: a plan that PostgreSQL keeps compares each
 * row with all ids, one by one.
 */
const readParts = <A, E, R>(
  transfers: ReadonlyArray<ListedTransfer>,
  read: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<A>, E, R>,
) => {
  const ids = transfers.map(({ id }) => id)
  return Effect.map(Effect.forEach(Arr.chunksOf(ids, idsMax), read), Arr.flatten)
}

/** Journal entry of an unrecognized transfer. */
const entryOf = ({ id, from, to, asset, amount, reference, status, timestamp, own }: UnrecognizedTransfer) => ({
  kind: "stranger" as const,
  subject: id,
  body: { from, to, asset, amount, reference, status, timestamp, own: own ? 1 : 0 },
})

/**
 * A listing is mostly known: what is stored of it is read in parts, and only rows that are new or differ are written.
 * One statement a transfer would take longer than the lease of a replica lasts.
 */
export const makeNote = (sql: Sql, journal: Journal["Service"]) => {
  const insertListed = overTuples(
    sql,
    sql.writeValues,
    13,
    (tuples) => `INSERT INTO listed_transfers (id, party, receiver, asset, amount, reference, tag, status, timestamp,
      own, seen_at, known_as, known_at) VALUES ${tuples} ON CONFLICT (id) DO NOTHING RETURNING id`,
  )
  const insertExecutions = overTuples(
    sql,
    sql.writeValues,
    3,
    (tuples) => `INSERT INTO executions (transfer_id, timestamp, seen_at) VALUES ${tuples} ON CONFLICT DO NOTHING`,
  )

  /** Stores the transfers, of which some have attempts. Returns the unrecognized ones that are news. */
  const noteTransfers = Effect.fnUntraced(function* (
    transfers: ReadonlyArray<UnrecognizedTransfer>,
    known: ReadonlyMap<string, Attempt>,
  ) {
    const at = yield* Clock.currentTimeMillis
    const rows = yield* readParts(transfers, (ids) =>
      sql`SELECT ${sql.literal(listedColumns)} FROM listed_transfers WHERE id IN ${sql.in(ids)}`.unprepared.pipe(
        rowsOf(ListedRow, "LedgerAudit.note"),
      ),
    )
    const stored = new Map(rows.map((row) => [row.id, row]))
    const fresh: Array<UnrecognizedTransfer> = []
    const changed: Array<UnrecognizedTransfer> = []
    // Of a transfer that is listed twice, the row that was read says nothing of the second.
    const met = new Set<string>()
    for (const listed of transfers) {
      const row = stored.get(listed.id)
      if (met.has(listed.id) || (row !== undefined && isChanged(row, listed))) changed.push(listed)
      else if (row === undefined) fresh.push(listed)
      else continue
      met.add(listed.id)
    }
    const inserted = yield* insertListed(
      fresh.flatMap(({ id, from, to, asset, amount, reference, status, timestamp, own }) => {
        const tag = readReference(reference)?.tag ?? null
        const acknowledged = known.has(id) ? ["ours", at] : [null, null]
        const terms = [id, from, to, asset, amount.toString(), reference, tag, status, timestamp]
        return [...terms, own ? 1 : 0, at, ...acknowledged]
      }),
    )
    const ids = new Set(inserted.map(([id]) => id))
    const news = new Set(fresh.filter(({ id }) => ids.has(id)))
    for (const listed of changed) if (yield* updateListed(sql, listed)) news.add(listed)
    return transfers.filter((listed) => news.has(listed) && !known.has(listed.id))
  })

  /** Stores blocks in which attempts of ours were done. Returns the times of all of them, by transfer id. */
  const noteExecutions = Effect.fnUntraced(function* (done: ReadonlyArray<ListedTransfer>) {
    const at = yield* Clock.currentTimeMillis
    const rows = yield* readParts(done, (ids) =>
      sql`SELECT transfer_id AS id, timestamp FROM executions WHERE transfer_id IN ${sql.in(ids)}`.unprepared.pipe(
        rowsOf(ExecutionRow, "LedgerAudit.note"),
      ),
    )
    const blocks = new Map<string, Set<bigint>>(done.map(({ id }) => [id, new Set()]))
    for (const { id, timestamp } of rows) blocks.get(id)?.add(timestamp)
    const fresh = done.filter(({ id, timestamp }) => blocks.get(id)?.has(timestamp) !== true)
    yield* insertExecutions(fresh.flatMap(({ id, timestamp }) => [id, timestamp, at]))
    for (const { id, timestamp } of fresh) blocks.get(id)?.add(timestamp)
    return blocks
  })

  const note = Effect.fnUntraced(function* ({ party, cursor, transfers, isOwn }: SeenListing) {
    const attempts = yield* readParts(transfers, (ids) =>
      sql`SELECT ${sql.literal(attemptColumns)} FROM attempts WHERE transfer_id IN ${sql.in(ids)}`.unprepared.pipe(
        rowsOf(AttemptRow, "LedgerAudit.note"),
      ),
    )
    const known = new Map<string, Attempt>(attempts.map((row) => [row.transferId, toAttempt(row)]))
    const listed = transfers.map((transfer) => ({ ...transfer, own: isOwn(transfer.reference) }))
    /** Unrecognized transfers that were not seen before. */
    const unrecognized = yield* noteTransfers(listed, known)
    for (const part of Arr.chunksOf(unrecognized, idsMax)) yield* journal.append(...Arr.map(part, entryOf))
    const executed = transfers.filter(({ id, status }) => status === "done" && known.has(id))
    const blocks = yield* noteExecutions(executed)
    /** Attempts of ours that the listing shows as done, and in how many blocks they were seen so. */
    const done = executed.flatMap(({ id }) => {
      const attempt = known.get(id)
      return attempt === undefined ? [] : [{ attempt, executions: blocks.get(id)?.size ?? 0 }]
    })
    if (cursor !== undefined) {
      const at = yield* Clock.currentTimeMillis
      yield* sql.write`INSERT INTO transfer_cursors ${sql.insert({ party, cursor, read_at: at })}
        ON CONFLICT (party) DO UPDATE SET cursor = excluded.cursor, read_at = excluded.read_at`
    }
    return { unrecognized, done }
  })
  const noteExecution = Effect.fnUntraced(function* (transferId: string, timestamp: bigint) {
    yield* insertExecutions([transferId, timestamp, yield* Clock.currentTimeMillis])
  })
  return { note, noteExecution }
}
