import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type Memory, makeMemory } from "./memory.ts"
import { migrate } from "./migrations.ts"
import * as NodeSqlite from "./NodeSqlite.ts"
import { StoreError, storeError } from "./StoreError.ts"
import { Writes } from "./Writes.ts"

/** Name of the database file inside the data directory. */
export const databaseFile = "cofferer.db"

/** Several ports' changes as one: all durable together, or none. Nothing inside may sleep or speak HTTP. */
export class Database extends Context.Service<
  Database,
  {
    readonly atomically: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | StoreError, R>
    /** Changes whenever another process has written to the file; constant where none can. */
    readonly foreignVersion: Effect.Effect<number, StoreError>
    /** What was read of these tables (not views), until they are written. */
    readonly memoryOf: <A>(...tables: ReadonlyArray<string>) => Memory<A>
  }
>()("cofferer/store/Database") {
  static readonly layerNoDeps = (shared: boolean) =>
    Layer.effect(
      Database,
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const writes = yield* Writes
        yield* migrate.pipe(storeError("migrate"), Effect.withSpan("Database.migrate"))
        return Database.of({
          atomically: (effect) =>
            sql.withTransaction(effect).pipe(
              Effect.catchTag("SqlError", (cause) => new StoreError({ operation: "transaction", cause })),
              Effect.withSpan("Database.atomically"),
            ),
          foreignVersion: shared
            ? Effect.try({
                try: writes.foreign,
                catch: (cause) => new StoreError({ operation: "Database.foreignVersion", cause }),
              })
            : Effect.succeed(0),
          memoryOf: (...tables) => makeMemory(shared ? writes : { ...writes, foreign: () => 0 }, tables),
        })
      }),
    )
}

/** The open database, its tables up to date. Fails where another process holds the file or it cannot be written. */
export const layer = (options: NodeSqlite.NodeSqliteOptions): Layer.Layer<Database | SqlClient.SqlClient, StoreError> =>
  Database.layerNoDeps(options.shared === true).pipe(
    Layer.provideMerge(NodeSqlite.layer(options)),
    Layer.catchTag("SqlError", (cause) =>
      Layer.effectContext(Effect.fail(new StoreError({ operation: "open", cause }))),
    ),
  )
