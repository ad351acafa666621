import { Clock, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Digits, rowsOf } from "./columns.ts"

const PaidRow = Schema.Struct({
  at: Schema.Int,
  rule: Schema.String,
  subject: Schema.String,
  from: Schema.String,
  to: Schema.String,
  assetId: Schema.String,
  amount: Digits,
})
const HeldRow = Schema.Struct({ at: Schema.Int, rule: Schema.String, subject: Schema.String })

/** As the daemon answers with it. */
export const PastNeedsText = Schema.Struct({ payments: Schema.Array(PaidRow), held: Schema.Array(HeldRow) })

const monthMillis = 30 * 86_400_000
/** More than these are not looked at: the newest of each tell enough, and a file is checked at once. */
const rowsMax = 5_000

/** What was paid or rehearsed in the last month, and when limits held what was needed. */
export const pastNeeds = Effect.fn("Archive.pastNeeds")(function* () {
  const sql = yield* SqlClient.SqlClient
  const since = (yield* Clock.currentTimeMillis) - monthMillis
  const payments = yield* sql`SELECT created_at AS at, rule, subject, from_key AS "from", to_key AS "to",
    asset_id AS "assetId", amount FROM intents WHERE created_at >= ${since} AND command = 'transfer'
    AND state IN ('reserved', 'in_flight', 'unknown', 'manual', 'confirmed', 'rehearsed')
    ORDER BY created_at DESC LIMIT ${rowsMax}`.pipe(rowsOf(PaidRow, "Archive.pastNeeds"))
  const held = yield* sql`SELECT at, rule, subject FROM decisions WHERE reason = 'limit' AND at >= ${since}
    ORDER BY seq DESC LIMIT ${rowsMax}`.pipe(rowsOf(HeldRow, "Archive.pastNeeds"))
  return { payments, held }
})
