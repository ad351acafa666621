import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type Memory, makeMemory } from "./memory.ts"
import * as NodeSqlite from "./NodeSqlite.ts"
import { StoreError } from "./StoreError.ts"
import { useSchema } from "./schema.ts"
import { Writes } from "./Writes.ts"

/** Name of the database file inside the data directory. */
export const databaseFile = "cofferer.db"

/** Several ports' changes as one: all durable together, or none. Nothing inside may sleep or speak HTTP. */
export class Database extends Context.Service<
  Database,
  {
    readonly atomically: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | StoreError, R>
    /** What was read of these tables (not views), until they are written. */
    readonly memoryOf: <A>(...tables: ReadonlyArray<string>) => Memory<A>
  }
>()("cofferer/store/Database") {
  static readonly layerNoDeps = Layer.effect(
    Database,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const writes = yield* Writes
      yield* useSchema.pipe(
        sql.withTransaction,
        Effect.catchTag("SqlError", (cause) => new StoreError({ operation: "open", cause })),
        Effect.withSpan("Database.useSchema"),
      )
      return Database.of({
        atomically: (effect) =>
          sql.withTransaction(effect).pipe(
            Effect.catchTag("SqlError", (cause) => new StoreError({ operation: "transaction", cause })),
            Effect.withSpan("Database.atomically"),
          ),
        memoryOf: (...tables) => makeMemory(writes, tables),
      })
    }),
  )
}

/** The open database. Fails where another process holds the file, another build made it, or it cannot be written. */
export const layer = (options: NodeSqlite.NodeSqliteOptions): Layer.Layer<Database | SqlClient.SqlClient, StoreError> =>
  Database.layerNoDeps.pipe(
    Layer.provideMerge(NodeSqlite.layer(options)),
    Layer.catchTag("SqlError", (cause) =>
      Layer.effectContext(Effect.fail(new StoreError({ operation: "open", cause }))),
    ),
  )
