import { Effect } from "effect"
import { Database } from "../../src/store/database/Database.ts"

/** Runs what belongs to a transaction in one of its own. */
export const inTransaction = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Database, ({ write }) => write(effect))
