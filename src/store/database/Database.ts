import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as NodeSqlite from "./NodeSqlite.ts"
import { Writes } from "./NodeSqlite.ts"
import { StoreError } from "./StoreError.ts"
import { useSchema } from "./schema.ts"

/** Answers kept by one memory; beyond that it starts empty again. */
const answersMax = 1_000

/**
 * Reads, unless the same question was answered since the tables were last written. Inside a
 * transaction that wrote them it always reads, so what is not committed is never known to anybody else.
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
const makeMemory = <A>(writes: Writes["Service"], tables: ReadonlyArray<string>): Memory<A> => {
  let held: Held<A> | undefined
  return <E, R>(question: string, read: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend((): Effect.Effect<A, E, R> => {
      const version = writes.versionOf(tables)
      if (version === undefined) return read
      if (held?.version !== version || held.answers.size >= answersMax) {
        held = { version, answers: new Map() }
      }
      const { answers } = held
      const known = answers.get(question)
      if (known !== undefined) return Effect.succeed(known)
      // Where something was written meanwhile, nobody asks for these answers any more.
      return Effect.tap(read, (answer) => Effect.sync(() => answers.set(question, answer)))
    })
}

/** Name of the database file inside the data directory. */
export const databaseFile = "cofferer.db"

/** Several ports' changes as one: all durable together, or none. Nothing inside may sleep or speak HTTP. */
export class Database extends Context.Service<
  Database,
  {
    readonly atomically: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | StoreError, R>
    /** Cache of rows read from these tables (not views), valid until one of them is written. */
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

/** The right to move money: one of all processes on one store has it. */
export class Lease extends Context.Service<
  Lease,
  {
    /** True if this process has the lease. Call it inside the transaction that depends on it. */
    readonly isHeld: Effect.Effect<boolean, StoreError>
  }
>()("cofferer/store/Lease") {
  /** One process at a time can open the file: that is the lease. A database of several has the table for another. */
  static readonly layerSole = Layer.succeed(Lease, { isHeld: Effect.succeed(true) })
}
