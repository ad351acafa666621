import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { rowsOf } from "./columns.ts"

const AttemptKey = Schema.Struct({ intentId: Schema.String, k: Schema.Int, isTransfer: Schema.Int })

/**
 * The attempt that was sent under a transaction hash, in lower case, or whose transfer id it is. Work that is solved
 * again gives the same attempt another hash: earlier ones are found too.
 */
export const attemptByHash = Effect.fn("Attempts.byHash")(function* (hash: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`
    SELECT intent_id AS "intentId", k, transfer_id = ${hash} AS "isTransfer" FROM attempts
      WHERE transfer_id = ${hash} OR hash_bare = ${hash} OR hash_prefixed = ${hash}
    UNION SELECT intent_id, k, 0 FROM sends WHERE lower(tx_hash) = ${hash} LIMIT 1`.pipe(
    rowsOf(AttemptKey, "Attempts.byHash"),
  )
  const [found] = rows
  return found === undefined ? undefined : { ...found, isTransfer: found.isTransfer !== 0 }
})
