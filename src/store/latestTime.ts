import { Clock, Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { Big, rowsOf } from "./columns.ts"

const NewestRow = Schema.Struct({ newest: Schema.NullOr(Big) })

/** The later of the newest trusted block and of our clock, in Unix milliseconds: nothing that was seen is later. */
export const latestTime = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const rows = yield* sql`SELECT max(timestamp) AS newest FROM watermarks WHERE name = 'balances'`.pipe(
    rowsOf(NewestRow, "latestTime"),
  )
  const newest = rows[0]?.newest ?? 0n
  return Math.max(yield* Clock.currentTimeMillis, Number(newest / 1_000_000n) + 1)
})
