import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { PostgresOptions, StoreAccess } from "./Connections.ts"
import { markOf, movedQuery } from "./moved.ts"
import * as NodeSqlite from "./NodeSqlite.ts"
import { accessOf, makeSql, Sql, type WriteAccess } from "./Sql.ts"
import { StoreError, storeError } from "./StoreError.ts"
import { useSchema } from "./schema.ts"
import { StoreRefusal } from "./sqlStates.ts"
import { Backend, type Writes } from "./Writes.ts"

/** Answers that one memory keeps; then it begins again. */
const answersMax = 1_000

/**
 * Returns the answer to the same question if the tables were not written since; reads it otherwise. Answers from inside
 * a transaction that wrote the tables stay within it; others read for themselves until it ends.
 */
type Memory<A> = <E, R>(question: string, read: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

const roundMillis = 600_000

/** A time at most ten minutes earlier, constant for ten minutes: queries since then can be cached. */
export const rounded = (millis: number): number => Math.floor(millis / roundMillis) * roundMillis

interface Held<A> {
  readonly version: number
  readonly answers: Map<string, A>
}

/** A memory of what was read of these tables. */
const makeMemory = <A>(writes: Writes, tables: ReadonlyArray<string>): Memory<A> => {
  let held: Held<A> | undefined
  return <E, R>(question: string, read: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiber((fiber): Effect.Effect<A, E, R> => {
      const isWithin = accessOf(fiber) !== undefined
      const version = isWithin ? writes.versionWithin(tables) : writes.versionOf(tables)
      if (version === undefined) return read
      if (held?.version !== version || held.answers.size >= answersMax) {
        held = { version, answers: new Map() }
      }
      const { answers } = held
      const known = answers.get(question)
      if (known !== undefined) return Effect.succeed(known)
      // If a table was written meanwhile, `held` has been replaced, and these answers are never used.
      return Effect.tap(read, (answer) => Effect.sync(() => answers.set(question, answer)))
    })
}

/** Name of the database file inside the data directory. */
export const databaseFile = "cofferer.db"

type Write = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  takenBack?: Effect.Effect<void>,
) => Effect.Effect<A, E | StoreError, Exclude<R, WriteAccess>>

/**
 * Transactions: all changes become durable, or none. Nothing inside may sleep or use HTTP. If none became durable,
 * `takenBack` runs, also before another try.
 */
export class Database extends Context.Service<
  Database,
  {
    readonly write: Write
    /** Cache of rows read from these tables (not views), valid until one of them is written. */
    readonly memoryOf: <A>(...tables: ReadonlyArray<string>) => Memory<A>
    /** A number that changes with each write of the table, and at the end of a transaction that wrote it. */
    readonly versionWithin: (table: string) => number
    /** True while no other process on this store may move money. */
    readonly isLeaseHeld: Effect.Effect<boolean>
    /** Writes for the last time, and releases the lease with it: another process may then take it at once. */
    readonly handOver: Write
    readonly takeover: Backend["Service"]["takeover"]
  }
>()("cofferer/store/Database") {
  static readonly layerNoDeps = Layer.effect(
    Database,
    Effect.gen(function* () {
      const sql = yield* Sql
      const { writes, isLeaseHeld, lease, takeover } = yield* Backend
      const write: Write = (effect, takenBack) =>
        sql.withTransaction(effect, takenBack).pipe(
          Effect.catchTag("SqlError", (cause) => new StoreError({ operation: "transaction", cause })),
          Effect.withSpan("Database.write"),
        )
      return Database.of({
        write,
        handOver: (last, takenBack) =>
          lease === undefined
            ? write(last, takenBack)
            : Effect.tap(write(Effect.tap(last, storeError("handOver")(lease.release)), takenBack), lease.end),
        memoryOf: (...tables) => makeMemory(writes, tables),
        versionWithin: (table) => writes.versionWithin([table]),
        isLeaseHeld,
        takeover,
      })
    }),
  )
}

/** Place of a treasury's store: a SQLite file of its own, or rows of a PostgreSQL database. */
type StoreOptions =
  | (NodeSqlite.NodeSqliteOptions & { readonly access?: StoreAccess })
  | { readonly postgres: PostgresOptions; readonly treasury: string }

/** The client of SQLite. Creates missing tables, and frees the memory that this took. */
const sqlite = (options: NodeSqlite.NodeSqliteOptions) =>
  Layer.effectDiscard(
    Effect.flatMap(SqlClient.SqlClient, (sql) =>
      Effect.andThen(sql.withTransaction(useSchema), sql`PRAGMA shrink_memory`),
    ).pipe(Effect.withSpan("Database.useSchema")),
  ).pipe(
    Layer.provideMerge(NodeSqlite.layerSqlite(options)),
    Layer.catchTag("SqlError", (cause) =>
      Layer.effectContext(Effect.fail(new StoreError({ operation: "open", cause }))),
    ),
  )

/** PostgreSQL's modules are loaded where it is used. */
const postgres = (options: Extract<StoreOptions, { postgres: unknown }>) =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./Postgres.ts")),
      (module) => module.layerPostgres(options.treasury, options.postgres),
    ),
  )

/** Fails on a store that was moved: another one is the treasury's now. */
const refuseMoved = Effect.gen(function* () {
  const moved = markOf(yield* (yield* Sql).readValues(movedQuery, []))
  if (moved !== undefined) return yield* Effect.fail(new StoreRefusal("refused", moved.text))
}).pipe(storeError("open"))

/**
 * The open database. Fails where another process holds it, another build made it, it was moved, or it cannot be
 * written.
 */
export const layer = (options: StoreOptions): Layer.Layer<Database | Sql | SqlClient.SqlClient, StoreError> => {
  const { access = "holder" } = "filename" in options ? options : options.postgres
  return Database.layerNoDeps.pipe(
    Layer.provideMerge(access === "reader" || access === "mover" ? Layer.empty : Layer.effectDiscard(refuseMoved)),
    Layer.provideMerge(Layer.effect(Sql, Effect.map(SqlClient.SqlClient, makeSql))),
    Layer.provideMerge("filename" in options ? sqlite(options) : postgres(options)),
  )
}
