import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { BalanceChange } from "../domain/Balance.ts"
import {
  type Change,
  changesOf,
  type Grouped,
  groupRows,
  type Known,
  newsOf,
  rowKeyOf,
  sortOut,
} from "./compareRows.ts"
import { overTuples } from "./overTuples.ts"

type Ids = ReadonlyArray<Known | undefined>
type Sent<A> = Effect.Effect<A, SqlError.SqlError>

/** What stores balance rows. Call each inside a transaction. */
interface StoreRows {
  /** Stores rows that are not stored yet, and the latest balance of each account. A row never changes. */
  readonly store: (rows: ReadonlyArray<BalanceChange>) => Sent<ReadonlyArray<Change>>
  /** Stores rows of the past alone: latest balances stay as they are. */
  readonly storePast: (rows: ReadonlyArray<BalanceChange>) => Sent<void>
  /** Stores latest balances alone. */
  readonly storeLatest: (rows: ReadonlyArray<BalanceChange>) => Sent<ReadonlyArray<Change>>
}

/**
 * Stores balance rows under the short ids of their accounts, and the latest balance of each account. An account's name
 * is 150 bytes; written once instead of with every row, it costs a third of the time and of the disk.
 */
export const makeStoreRows = (sql: SqlClient.SqlClient): StoreRows => {
  const find = overTuples(
    sql,
    5,
    (tuples) => `WITH wanted (place, party, asset, market, type) AS (VALUES ${tuples})
      SELECT wanted.place, names.id, balances.balance, balances.timestamp FROM wanted
      CROSS JOIN account_names AS names ON names.party = wanted.party AND names.asset = wanted.asset
        AND names.market = wanted.market AND names.type = wanted.type
      LEFT JOIN balances ON balances.account = names.id`,
  )
  const name = overTuples(sql, 4, (tuples) => `INSERT INTO account_names (party, asset, market, type) VALUES ${tuples}`)
  const keep = overTuples(sql, 3, (tuples) => `INSERT INTO changes (timestamp, account, balance) VALUES ${tuples}`)
  const keepBalances = overTuples(
    sql,
    3,
    (tuples) => `INSERT INTO balances (account, balance, timestamp) VALUES ${tuples}
      ON CONFLICT (account) DO UPDATE SET balance = excluded.balance, timestamp = excluded.timestamp`,
  )

  const lookUp = Effect.fnUntraced(function* (
    newest: ReadonlyArray<BalanceChange>,
    places: Iterable<number>,
    known: Array<Known | undefined>,
  ) {
    const parameters: Array<unknown> = []
    for (const place of places) {
      const { party, asset, market, type } = newest[place]!
      parameters.push(place, party, asset, market, type)
    }
    for (const [place, id, balance, timestamp] of yield* find(parameters)) {
      known[Number(place)] = {
        id: Number(id),
        balance: typeof balance === "string" ? BigInt(balance) : undefined,
        timestamp: typeof timestamp === "bigint" ? timestamp : BigInt(Number(timestamp ?? 0)),
      }
    }
  })

  /** Ids and latest balances of the accounts; one that was never seen gets its id now. */
  const identify = Effect.fnUntraced(function* (newest: ReadonlyArray<BalanceChange>) {
    const known: Array<Known | undefined> = Array(newest.length).fill(undefined)
    yield* lookUp(newest, newest.keys(), known)
    const unseen = [...newest.keys()].filter((place) => known[place] === undefined)
    if (unseen.length === 0) return known
    yield* name(
      unseen.flatMap((place) => {
        const { party, asset, market, type } = newest[place]!
        return [party, asset, market, type]
      }),
    )
    yield* lookUp(newest, unseen, known)
    return known
  })

  /** The stored rows of the time that the given ones span: none, unless something is read again. */
  const storedBetween = Effect.fnUntraced(function* (rows: ReadonlyArray<BalanceChange>) {
    let from = rows[0]!.timestamp
    let to = from
    for (const { timestamp } of rows) {
      if (timestamp < from) from = timestamp
      else if (timestamp > to) to = timestamp
    }
    const stored = yield* sql`SELECT timestamp, account, balance FROM changes
      WHERE timestamp >= ${from} AND timestamp <= ${to}`.values
    return new Map(
      stored.map(([at, id, balance]) => [rowKeyOf(BigInt(at as bigint | number), Number(id)), BigInt(String(balance))]),
    )
  })

  const keepRows = Effect.fnUntraced(function* (rows: ReadonlyArray<BalanceChange>, grouped: Grouped, known: Ids) {
    const parameters: Array<unknown> = []
    for (const [i, row] of rows.entries()) {
      parameters.push(row.timestamp, known[grouped.places[i]!]!.id, row.balance.toString())
    }
    yield* keep(parameters)
  })

  const keepLatest = Effect.fnUntraced(function* (newest: ReadonlyArray<BalanceChange>, known: Ids) {
    const news = newsOf(newest, known)
    const parameters: Array<unknown> = []
    for (const place of news) {
      const row = newest[place]!
      parameters.push(known[place]!.id, row.balance.toString(), row.timestamp)
    }
    yield* keepBalances(parameters)
    return changesOf(newest, known, news)
  })

  /** Rows that were sorted out, with the ids that are known of them. */
  const again = (rows: ReadonlyArray<BalanceChange>, idOf: (row: BalanceChange) => Known | undefined) => {
    const grouped = groupRows(rows)
    return { grouped, known: grouped.newest.map(idOf) }
  }

  const insert = Effect.fnUntraced(function* (rows: ReadonlyArray<BalanceChange>) {
    const grouped = groupRows(rows)
    const known = yield* identify(grouped.newest)
    const stored = yield* storedBetween(rows)
    if (stored.size === 0 && grouped.inOrder) {
      yield* keepRows(rows, grouped, known)
      return { newest: grouped.newest, known }
    }
    const knownOf = new Map(rows.map((row, i) => [row, known[grouped.places[i]!]]))
    const sorted = sortOut(rows, (i) => known[grouped.places[i]!]!.id, stored)
    const fresh = again(sorted.fresh, (row) => knownOf.get(row))
    yield* keepRows(sorted.fresh, fresh.grouped, fresh.known)
    const sound = again(sorted.sound, (row) => knownOf.get(row))
    return { newest: sound.grouped.newest, known: sound.known }
  })

  return {
    store: Effect.fnUntraced(function* (rows) {
      if (rows.length === 0) return []
      const { newest, known } = yield* insert(rows)
      return yield* keepLatest(newest, known)
    }),
    storePast: Effect.fnUntraced(function* (rows) {
      if (rows.length > 0) yield* insert(rows)
    }),
    storeLatest: Effect.fnUntraced(function* (rows) {
      const { newest } = groupRows(rows)
      return yield* keepLatest(newest, yield* identify(newest))
    }),
  }
}
