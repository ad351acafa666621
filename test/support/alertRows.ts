import { Effect } from "effect"
import { SqlClient } from "effect/sql"

interface AlertRow {
  readonly seq: number
  readonly severity: string
  readonly kind: string
  readonly subject: string
  readonly dedup: string
  readonly detail: string
}

/** All alerts and all-clears that were raised, oldest first, whether or not they are due for a receiver. */
export const alertRows = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<AlertRow>`SELECT seq, severity, kind, subject, dedup, detail FROM alerts ORDER BY seq`
})
