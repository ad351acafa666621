import { Effect, Schema } from "effect"
import type { AccountKey } from "../../domain/Balance.ts"
import { nanosOf } from "../../domain/Time.ts"
import { Big, Digits, rowsOf } from "../database/columns.ts"
import { Sql } from "../database/Sql.ts"
import type { Span } from "../journal/archive.ts"
import { type AccountBalance, BalanceColumns } from "./storeRows.ts"

const AccountRow = Schema.Struct({ id: Schema.Int, ...BalanceColumns.fields })
type AccountRow = typeof AccountRow.Type
const RowFound = Schema.Struct({ balance: Digits, timestamp: Big })
const MarkRow = Schema.Struct({ name: Schema.String, timestamp: Big })

/** Row found for an account at a time. The next lookup, a moment later, continues from it. */
interface Found {
  readonly at: bigint
  readonly balance: bigint | undefined
}

/** Rows of the past come late, by a backfill: so long, in block time, a finding is believed. */
const believedNanos = 600_000_000_000n
const placesMax = 10_000

/**
 * Balances of one party and asset as they were. Rows are keyed by time, so one account's last row before a time is
 * looked for backwards from there, once; after that later calls of the same window read only the rows between.
 */
export const makePastBalances = (sql: Sql) => {
  const found = new Map<string, Found & { readonly since: bigint }>()
  const accountsOf = (party: string, asset: string) =>
    sql`SELECT n.id, n.party, n.asset, n.market, n.type, b.balance, b.timestamp
      FROM account_names AS n JOIN balances AS b ON b.account = n.id
      WHERE n.party = ${party} AND n.asset = ${asset}`.pipe(rowsOf(AccountRow, "Observations.at"))
  const marks = sql`SELECT name, timestamp FROM watermarks WHERE name IN ('base', 'pruned')`.pipe(
    rowsOf(MarkRow, "Observations.at"),
    Effect.map((rows) => new Map(rows.map(({ name, timestamp }) => [name, timestamp]))),
  )
  const lastRow = (account: number, after: bigint, at: bigint) =>
    sql`SELECT balance, timestamp FROM changes
      WHERE timestamp > ${after} AND timestamp <= ${at} AND account = ${account}
      ORDER BY timestamp DESC LIMIT 1`.pipe(
      rowsOf(RowFound, "Observations.at"),
      Effect.map((rows) => rows[0]),
    )
  const opening = ({ party, asset, market, type }: AccountKey, after: bigint, at: bigint) =>
    sql`SELECT balance, timestamp FROM openings WHERE party = ${party} AND asset = ${asset} AND market = ${market}
      AND type = ${type} AND timestamp > ${after} AND timestamp <= ${at} ORDER BY timestamp DESC LIMIT 1`.pipe(
      rowsOf(RowFound, "Observations.at"),
      Effect.map((rows) => rows[0]),
    )
  /** By its newest row or opening balance after a time. */
  const heldAt = Effect.fnUntraced(function* (account: AccountRow, at: bigint, after = -1n) {
    const row = yield* lastRow(account.id, after, at)
    const begun = yield* opening(account, after, at)
    return row === undefined || (begun !== undefined && begun.timestamp > row.timestamp) ? begun : row
  })
  /** 0 before its first row, where all rows since the beginning are there, and no later reading began with it. */
  const searched = Effect.fnUntraced(function* (account: AccountRow, at: bigint) {
    const held = yield* heldAt(account, at)
    if (held !== undefined) return held.balance
    const mark = yield* marks
    const base = mark.get("base")
    if (base === undefined || base > at || mark.has("pruned")) return undefined
    return (yield* opening(account, at, nanosMax)) === undefined ? 0n : undefined
  })
  const balanceAt = Effect.fnUntraced(function* (account: AccountRow, at: bigint, window: number) {
    if (account.timestamp <= at) return account.balance
    const place = `${account.id} ${window}`
    const known = found.get(place)
    if (known !== undefined && known.at <= at && at - known.since < believedNanos) {
      const balance = (yield* heldAt(account, at, known.at))?.balance ?? known.balance
      found.set(place, { ...known, at, balance })
      return balance
    }
    const balance = yield* searched(account, at)
    if (found.size >= placesMax) found.clear()
    found.set(place, { at, balance, since: at })
    return balance
  })
  /** Undefined where one of the accounts' balances at that time is not known, or the party has none. */
  const at = Effect.fnUntraced(function* (party: string, asset: string, time: bigint, window: number) {
    const accounts = yield* accountsOf(party, asset)
    const past: Array<AccountBalance> = []
    for (const account of accounts) {
      const balance = yield* balanceAt(account, time, window)
      if (balance === undefined) return undefined
      const { market, type, timestamp } = account
      past.push({ party, asset, market, type, balance, timestamp })
    }
    return past.length === 0 ? undefined : past
  })
  return {
    at,
    before: Effect.fnUntraced(function* ({ party, asset, market, type }: AccountKey, time: bigint) {
      const accounts = yield* accountsOf(party, asset)
      const account = accounts.find((one) => one.market === market && one.type === type)
      return account === undefined ? undefined : (yield* heldAt(account, time - 1n))?.balance
    }),
    /** Rows were forgotten: what was found among them counts no longer. */
    forget: () => found.clear(),
  }
}

const nanosMax = 2n ** 63n - 1n

/** Unix nanoseconds of Unix milliseconds, as far as a database counts. */
const storableNanosOf = (millis: number): bigint => {
  const nanos = nanosOf(millis)
  return nanos > nanosMax ? nanosMax : nanos
}

const GapColumns = Schema.Struct({ since: Big, until: Big })
const TermColumns = Schema.Struct({
  kind: Schema.Literals(["parameter", "quantum"]),
  key: Schema.String,
  value: Schema.String,
})
const ChangeColumns = Schema.Struct({ ...BalanceColumns.fields, account: Schema.Int, isOpening: Schema.Int })

/** The last balance of each account that is known from before a time (Unix milliseconds), and its own time. */
export const balancesBefore = Effect.fn("BalanceHistory.before")(function* (millis: number) {
  const sql = yield* Sql
  const at = storableNanosOf(millis)
  const rows = yield* sql`SELECT n.party, n.asset, n.market, n.type, c.balance, c.timestamp FROM changes AS c
    JOIN (SELECT account, max(timestamp) AS last FROM changes WHERE timestamp < ${at} GROUP BY account) AS newest
      ON c.account = newest.account AND c.timestamp = newest.last
    JOIN account_names AS n ON n.id = c.account
    UNION ALL SELECT party, asset, market, type, balance, timestamp FROM openings WHERE timestamp < ${at}
    UNION ALL SELECT party, asset, market, type, balance, timestamp FROM accounts WHERE timestamp < ${at}`.pipe(
    rowsOf(BalanceColumns, "BalanceHistory.before"),
  )
  const newest = new Map<string, (typeof rows)[number]>()
  for (const row of rows) {
    const key = `${row.party}|${row.asset}|${row.market}|${row.type}`
    const known = newest.get(key)
    if (known === undefined || known.timestamp < row.timestamp) newest.set(key, row)
  }
  return [...newest.values()]
})

/** Where a page of changes ended. */
interface ChangeMark {
  readonly timestamp: bigint
  readonly account: number
}

/** Changes of balances in a span of time, oldest first, and balances with which reading started again. */
export const changesAfter = Effect.fn("BalanceHistory.after")(function* (
  last: ChangeMark | undefined,
  limit: number,
  { from, to }: Span,
) {
  const sql = yield* Sql
  const [begin, end] = [storableNanosOf(from), storableNanosOf(to)]
  const beyond = last === undefined ? begin : last.timestamp
  const skipped = last?.account ?? -1
  return yield* sql`SELECT timestamp, account, party, asset, market, type, balance, "isOpening" FROM (
      SELECT c.timestamp, c.account, n.party, n.asset, n.market, n.type, c.balance, 0 AS "isOpening"
        FROM changes AS c JOIN account_names AS n ON n.id = c.account
        WHERE c.timestamp >= ${beyond} AND c.timestamp < ${end}
      UNION ALL SELECT o.timestamp, n.id AS account, n.party, n.asset, n.market, n.type, o.balance, 1 AS "isOpening"
        FROM openings AS o JOIN account_names AS n
          ON n.party = o.party AND n.asset = o.asset AND n.market = o.market AND n.type = o.type
        WHERE o.timestamp >= ${beyond} AND o.timestamp < ${end}) AS told
    WHERE timestamp > ${beyond} OR account > ${skipped}
    ORDER BY timestamp, account LIMIT ${limit}`.pipe(rowsOf(ChangeColumns, "BalanceHistory.after"))
})

/** Parts of the span whose rows cannot be had. */
export const gapsIn = Effect.fn("BalanceHistory.gaps")(function* ({ from, to }: Span) {
  const sql = yield* Sql
  return yield* sql`SELECT since, until FROM gaps WHERE since < ${storableNanosOf(to)} AND until > ${storableNanosOf(from)}
    ORDER BY since`.pipe(rowsOf(GapColumns, "BalanceHistory.gaps"))
})

/** Newest parameters of the network: its fees and limits of transfers, and the quanta of assets. */
export const termsNow = Effect.fn("BalanceHistory.terms")(function* () {
  const sql = yield* Sql
  return yield* sql`SELECT 'parameter' AS kind, key, value FROM parameters WHERE key LIKE 'transfer.%'
    UNION ALL SELECT 'quantum' AS kind, id AS key, quantum AS value FROM assets ORDER BY kind, key`.pipe(
    rowsOf(TermColumns, "BalanceHistory.terms"),
  )
})
