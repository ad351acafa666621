import type { AccountKey, BalanceChange } from "../domain/Balance.ts"

/** What is stored of an account. */
export interface Known {
  readonly id: number
  /** Undefined where the account has a name and no balance yet. */
  readonly balance: bigint | undefined
  /** Block time of that balance, Unix nanoseconds; 0 without one. */
  readonly timestamp: bigint
}

/** An account whose latest balance changed; `before` is undefined where none was known. */
export interface Change {
  readonly before: bigint | undefined
  readonly row: BalanceChange
}

/** Rows by account. */
export interface Grouped {
  /** The newest row of each account, each account where it first came. */
  readonly newest: ReadonlyArray<BalanceChange>
  /** For each row its account's place in `newest`. */
  readonly places: ReadonlyArray<number>
  /** Whether each account's rows come in the order of time, no two at one time. */
  readonly inOrder: boolean
}

const keyOf = (key: AccountKey): string => `${key.party}|${key.asset}|${key.market}|${key.type}`

/** Finds the newest row of each account; of two at one time, the later in the list. */
export const groupRows = (rows: ReadonlyArray<BalanceChange>): Grouped => {
  const newest: Array<BalanceChange> = []
  const places: Array<number> = []
  const found = new Map<string, number>()
  let inOrder = true
  for (const row of rows) {
    const key = keyOf(row)
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
  known: ReadonlyArray<Known | undefined>,
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

/** Of the news, those that bring another balance. */
export const changesOf = (
  newest: ReadonlyArray<BalanceChange>,
  known: ReadonlyArray<Known | undefined>,
  news: ReadonlyArray<number>,
): ReadonlyArray<Change> => {
  const changes: Array<Change> = []
  for (const place of news) {
    const row = newest[place]!
    const before = known[place]?.balance
    if (before !== row.balance) changes.push({ before, row })
  }
  return changes
}

/** A row's time and its account's id: what it is known by. */
export const rowKeyOf = (timestamp: bigint, id: number): string => `${timestamp}|${id}`

/**
 * Leaves out rows that contradict a stored row or one before them: the first stays. `sound` has each row once, `fresh`
 * those of them that are not stored.
 */
export const sortOut = (
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
