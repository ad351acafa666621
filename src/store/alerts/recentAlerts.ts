import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { rowsOf } from "../database/columns.ts"
import { storeError } from "../database/StoreError.ts"

const Row = Schema.Struct({
  at: Schema.Int,
  severity: Schema.Literals(["page", "ticket", "info"]),
  subject: Schema.String,
  detail: Schema.String,
  clears: Schema.Int,
  waiting: Schema.Int,
})

/** The newest alerts, newest first: `clears` is 1 for an all-clear, `waiting` counts receivers that did not take it. */
export const recentAlerts = Effect.fn("Alerts.recent")(
  function* (count: number) {
    const sql = yield* SqlClient.SqlClient
    return yield* sql`SELECT at, severity, subject, detail, resolves IS NOT NULL AS clears,
      (SELECT count(*) FROM deliveries WHERE alert = a.seq AND state <> 'delivered') AS waiting
      FROM alerts a ORDER BY seq DESC LIMIT ${count}`.pipe(rowsOf(Row, "Alerts.recent"))
  },
  (effect) => effect.pipe(storeError("Alerts.recent")),
)
