import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { rowsOf } from "./columns.ts"

const AlertRow = Schema.Struct({ at: Schema.Int, subject: Schema.String, detail: Schema.String })

/** What a notify rule told last by a time (Unix milliseconds); undefined where none of it is stored. */
export const lastAlertOf = Effect.fn("Alerts.lastOf")(function* (
  { kind, name }: { readonly kind: "notify" | "alert"; readonly name: string },
  until: number,
) {
  const sql = yield* SqlClient.SqlClient
  const prefix = `${kind === "alert" ? "rule" : "asset"}/${name}`
  // "0" follows "/": all names that begin with the rule's, by the index.
  const rows = yield* sql`SELECT at, subject, detail FROM alerts
    WHERE dedup >= ${`${prefix}/`} AND dedup < ${`${prefix}0`} AND at <= ${until} ORDER BY seq DESC LIMIT 1`.pipe(
    rowsOf(AlertRow, "Alerts.lastOf"),
  )
  return rows[0]
})
