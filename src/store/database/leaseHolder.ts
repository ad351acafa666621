import { Effect } from "effect"
import type { LeaseHolder } from "./Connections.ts"
import { serverMillis } from "./pgLease.ts"
import { Sql } from "./Sql.ts"
import { storeError } from "./StoreError.ts"

/** The process that runs the treasury, of those that share its store; undefined where none does, or none shares it. */
export const leaseHolder = Effect.gen(function* () {
  const sql = yield* Sql
  if (!sql.onDialectOrElse({ pg: () => true, orElse: () => false })) return undefined
  const [row] = yield* sql<{ holder: string; since: number }>`SELECT holder, since FROM leases
    WHERE until >= ${sql.literal(serverMillis)}`
  return row && ({ name: row.holder, since: row.since } satisfies LeaseHolder)
}).pipe(storeError("leaseHolder"))
