import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Span } from "./archive.ts"
import { BalanceColumns } from "./balanceRows.ts"
import { Big, rowsOf } from "./columns.ts"

const nanosMax = 2n ** 63n - 1n

/** Unix nanoseconds of Unix milliseconds, as far as a database counts. */
const nanosOf = (millis: number): bigint => {
  const nanos = BigInt(millis) * 1_000_000n
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
  const sql = yield* SqlClient.SqlClient
  const at = nanosOf(millis)
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

/** Changes of balances in a span of time, oldest first, and balances with which reading began anew. */
export const changesAfter = Effect.fn("BalanceHistory.after")(function* (
  last: ChangeMark | undefined,
  limit: number,
  { from, to }: Span,
) {
  const sql = yield* SqlClient.SqlClient
  const [begin, end] = [nanosOf(from), nanosOf(to)]
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
  const sql = yield* SqlClient.SqlClient
  return yield* sql`SELECT since, until FROM gaps WHERE since < ${nanosOf(to)} AND until > ${nanosOf(from)}
    ORDER BY since`.pipe(rowsOf(GapColumns, "BalanceHistory.gaps"))
})

/** What the network takes and allows, as it said last: its parameters of transfers, and the quanta of assets. */
export const termsNow = Effect.fn("BalanceHistory.terms")(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* sql`SELECT 'parameter' AS kind, key, value FROM parameters WHERE key LIKE 'transfer.%'
    UNION ALL SELECT 'quantum' AS kind, id AS key, quantum AS value FROM assets ORDER BY kind, key`.pipe(
    rowsOf(TermColumns, "BalanceHistory.terms"),
  )
})
