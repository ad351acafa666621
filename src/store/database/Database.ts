import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as NodeSqlite from "./NodeSqlite.ts"
import { StoreError } from "./StoreError.ts"
import { useSchema } from "./schema.ts"

const writing =
  /^\s*(?:INSERT(?:\s+OR\s+\w+)?\s+INTO|UPDATE(?:\s+OR\s+\w+)?|DELETE\s+FROM)\s+(?!OR\b)"?(\w+)"?(?=[\s(])/i

/** The tables that a statement writes; "*" stands for any, none: it only reads. */
export const tablesWritten = (sql: string): string | undefined => {
  if (/^\s*(?:SELECT\b|WITH\b(?![\s\S]*\b(?:INSERT|UPDATE|DELETE|REPLACE)\b))/i.test(sql)) {
    return undefined
  }
  // They end what was written, and write nothing themselves.
  if (/^\s*(?:BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b/i.test(sql)) return ""
  return writing.exec(sql)?.[1] ?? "*"
}

/**
 * When tables were last written through this connection: what was read of them before holds no longer. Where a
 * transaction that wrote one is open, nobody can say yet.
 */
export class Writes extends Context.Service<
  Writes,
  {
    /** Grows with each write to one of the tables; undefined while a transaction that wrote one is open. */
    readonly versionOf: (tables: ReadonlyArray<string>) => number | undefined
    /** Hears of each statement that does not only read, once it ran or failed. */
    readonly note: (table: string) => void
  }
>()("cofferer/store/Writes") {}

export const makeWrites = (isInTransaction: () => boolean): Writes["Service"] => {
  let count = 0
  const written = new Map<string, number>()
  /** Tables written in the transaction that is open. */
  const open = new Set<string>()
  const look = () => {
    if (isInTransaction() || open.size === 0) return
    // Committed or not: what others wrote or read in between is not to be relied on.
    count++
    for (const table of open) written.set(table, count)
    open.clear()
  }
  return {
    note: (table) => {
      if (table !== "") {
        written.set(table, ++count)
        open.add(table)
      }
      look()
    },
    versionOf: (tables) => {
      look()
      if (open.has("*") || tables.some((table) => open.has(table))) return undefined
      return tables.reduce((newest, table) => Math.max(newest, written.get(table) ?? 0), written.get("*") ?? 0)
    },
  }
}

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
