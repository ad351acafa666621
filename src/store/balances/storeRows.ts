import { Effect, Schema } from "effect"
import { type AccountKey, accountKeyText, type BalanceChange } from "../../domain/Balance.ts"
import { Big, Digits, overTuples } from "../database/columns.ts"
import type { Sql } from "../database/Sql.ts"

export const BalanceColumns = Schema.Struct({
  party: Schema.String,
  asset: Schema.String,
  market: Schema.String,
  type: Schema.String,
  balance: Digits,
  timestamp: Big,
})

/**
 * Rows of (party, asset, market, type, balance, timestamp) as accounts. Decoded by hand for speed, since every decision
 * begins with all of them. Undefined where a column has another type.
 */
export const readAccounts = (rows: ReadonlyArray<ReadonlyArray<unknown>>): Array<BalanceChange> | undefined => {
  const accounts: Array<BalanceChange> = []
  for (const [party, asset, market, type, balance, timestamp] of rows) {
    if (typeof party !== "string" || typeof asset !== "string" || typeof market !== "string") return undefined
    if (typeof type !== "string" || typeof balance !== "string") return undefined
    if (typeof timestamp !== "bigint" && typeof timestamp !== "number") return undefined
    accounts.push({ party, asset, market, type, balance: BigInt(balance), timestamp: BigInt(timestamp) })
  }
  return accounts
}

export const columnsOf = (row: BalanceChange) => ({
  timestamp: row.timestamp,
  asset: row.asset,
  party: row.party,
  market: row.market,
  type: row.type,
  balance: row.balance.toString(),
})

/** Stored state of an account. */
export interface KnownBalance {
  readonly id: number
  /** Undefined where the account has a name and no balance yet. */
  readonly balance: bigint | undefined
  /** Block time of that balance, Unix nanoseconds; 0 without one. */
  readonly timestamp: bigint
}

/** An account whose latest balance changed; `before` is undefined where none was known. */
export interface AccountChange {
  readonly before: bigint | undefined
  readonly row: BalanceChange
}

/** Rows by account. */
interface Grouped {
  /** The newest row of each account, in the order in which the accounts first came. */
  readonly newest: ReadonlyArray<BalanceChange>
  /** For each row its account's place in `newest`. */
  readonly places: ReadonlyArray<number>
  /** True if each account's rows are in the order of time, no two at one time. */
  readonly inOrder: boolean
}

/** Finds the newest row of each account; of two at one time, the later in the list. */
export const groupRows = (rows: ReadonlyArray<BalanceChange>): Grouped => {
  const newest: Array<BalanceChange> = []
  const places: Array<number> = []
  const found = new Map<string, number>()
  let inOrder = true
  for (const row of rows) {
    const key = accountKeyText(row)
    let place = found.get(key)
    if (place === undefined) {
      place = newest.push(row) - 1
      found.set(key, place)
    } else {
      if (newest[place]!.timestamp >= row.timestamp) inOrder = false
      if (newest[place]!.timestamp <= row.timestamp) newest[place] = row
    }
    places.push(place)
  }
  return { newest, places, inOrder }
}

/** The places whose newest row is not older than what is known, in the order of time. */
export const newsOf = (
  newest: ReadonlyArray<BalanceChange>,
  known: ReadonlyArray<KnownBalance | undefined>,
): ReadonlyArray<number> => {
  const news: Array<number> = []
  let last = newest[0]?.timestamp ?? 0n
  let inOrder = true
  for (const [place, row] of newest.entries()) {
    const before = known[place]
    if (before?.balance !== undefined && before.timestamp > row.timestamp) continue
    if (row.timestamp < last) inOrder = false
    last = row.timestamp
    news.push(place)
  }
  const byTime = (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0)
  return inOrder ? news : news.sort((a, b) => byTime(newest[a]!.timestamp, newest[b]!.timestamp))
}

/** New rows that change a balance. */
export const changesOf = (
  newest: ReadonlyArray<BalanceChange>,
  known: ReadonlyArray<KnownBalance | undefined>,
  news: ReadonlyArray<number>,
): ReadonlyArray<AccountChange> => {
  const changes: Array<AccountChange> = []
  for (const place of news) {
    const row = newest[place]!
    const before = known[place]?.balance
    if (before !== row.balance) changes.push({ before, row })
  }
  return changes
}

/** Key of a row: its time and its account's id. */
const rowKeyOf = (timestamp: bigint, id: number): string => `${timestamp}|${id}`

/**
 * Leaves out rows that contradict a stored row or one before them: the first stays. `sound` has each row once, `fresh`
 * those of them that are not stored.
 */
const withoutContradictions = (
  rows: ReadonlyArray<BalanceChange>,
  idOf: (index: number) => number,
  stored: ReadonlyMap<string, bigint>,
) => {
  const sound = new Map<string, BalanceChange>()
  const fresh: Array<BalanceChange> = []
  for (const [i, row] of rows.entries()) {
    const key = rowKeyOf(row.timestamp, idOf(i))
    const balance = stored.get(key) ?? sound.get(key)?.balance
    if (balance === undefined) fresh.push(row)
    if (balance === undefined || balance === row.balance) sound.set(key, row)
  }
  return { sound: [...sound.values()], fresh }
}

type Ids = ReadonlyArray<KnownBalance | undefined>
/**
 * Stores balance rows under the short ids of their accounts, and the latest balance of each account. An account's name
 * is 150 bytes; written once instead of with every row, it costs a third of the time and of the disk.
 * Call each inside a transaction.
 */
export const makeStoreRows = (sql: Sql) => {
  const find = overTuples(
    sql,
    sql.readValues,
    5,
    (tuples) => `WITH wanted (place, party, asset, market, type) AS (VALUES ${tuples})
      SELECT wanted.place, names.id, balances.balance, balances.timestamp FROM wanted
      CROSS JOIN account_names AS names ON names.party = wanted.party AND names.asset = wanted.asset
        AND names.market = wanted.market AND names.type = wanted.type
      LEFT JOIN balances ON balances.account = names.id`,
  )
  const name = overTuples(
    sql,
    sql.writeValues,
    4,
    (tuples) => `INSERT INTO account_names (party, asset, market, type) VALUES ${tuples}`,
  )
  const keep = overTuples(
    sql,
    sql.writeValues,
    3,
    (tuples) => `INSERT INTO changes (timestamp, account, balance) VALUES ${tuples}`,
  )
  const keepBalances = overTuples(
    sql,
    sql.writeValues,
    3,
    (tuples) => `INSERT INTO balances (account, balance, timestamp) VALUES ${tuples}
      ON CONFLICT (account) DO UPDATE SET balance = excluded.balance, timestamp = excluded.timestamp`,
  )

  const lookUp = Effect.fnUntraced(function* (
    newest: ReadonlyArray<BalanceChange>,
    places: Iterable<number>,
    known: Array<KnownBalance | undefined>,
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
    const known: Array<KnownBalance | undefined> = Array(newest.length).fill(undefined)
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

  /** The stored rows between the oldest and the newest of these: none, unless something is read again. */
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

  /** Groups the rows that remain, with what is known of their accounts. */
  const regroup = (rows: ReadonlyArray<BalanceChange>, idOf: (row: BalanceChange) => KnownBalance | undefined) => {
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
    const left = withoutContradictions(rows, (i) => known[grouped.places[i]!]!.id, stored)
    const fresh = regroup(left.fresh, (row) => knownOf.get(row))
    yield* keepRows(left.fresh, fresh.grouped, fresh.known)
    const sound = regroup(left.sound, (row) => knownOf.get(row))
    return { newest: sound.grouped.newest, known: sound.known }
  })

  return {
    /** Stores rows that are not stored yet, and the latest balance of each account. A row never changes. */
    store: Effect.fnUntraced(function* (rows: ReadonlyArray<BalanceChange>) {
      if (rows.length === 0) return []
      const { newest, known } = yield* insert(rows)
      return yield* keepLatest(newest, known)
    }),
    /** Stores rows of the past alone: latest balances stay as they are. */
    storePast: Effect.fnUntraced(function* (rows: ReadonlyArray<BalanceChange>) {
      if (rows.length > 0) yield* insert(rows)
    }),
    /** Stores latest balances alone. */
    storeLatest: Effect.fnUntraced(function* (rows: ReadonlyArray<BalanceChange>) {
      const { newest } = groupRows(rows)
      return yield* keepLatest(newest, yield* identify(newest))
    }),
  }
}

/** The latest balance of an account, and the block time of the row that it came with. */
export interface AccountBalance extends AccountKey {
  readonly balance: bigint
  readonly timestamp: bigint
}
