import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { rowsOf } from "./columns.ts"
import { migrate } from "./migrations.ts"
import * as NodeSqlite from "./NodeSqlite.ts"
import { StoreError, storeError } from "./StoreError.ts"

/** Name of the database file inside the data directory. */
export const databaseFile = "cofferer.db"

const VersionRow = Schema.Struct({ data_version: Schema.Int })

/** Several ports' changes as one: all durable together, or none. Nothing inside may sleep or speak HTTP. */
export class Database extends Context.Service<
  Database,
  {
    readonly atomically: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | StoreError, R>
    /** Changes whenever another process has written to the file; constant where none can. */
    readonly foreignVersion: Effect.Effect<number, StoreError>
  }
>()("cofferer/store/Database") {
  static readonly layerNoDeps = (shared: boolean) =>
    Layer.effect(
      Database,
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* migrate.pipe(storeError("migrate"), Effect.withSpan("Database.migrate"))
        return Database.of({
          atomically: (effect) =>
            sql.withTransaction(effect).pipe(
              Effect.catchTag("SqlError", (cause) => new StoreError({ operation: "transaction", cause })),
              Effect.withSpan("Database.atomically"),
            ),
          foreignVersion: shared
            ? sql`PRAGMA data_version`.pipe(
                rowsOf(VersionRow, "Database.foreignVersion"),
                Effect.map((rows) => rows[0]?.data_version ?? 0),
              )
            : Effect.succeed(0),
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
