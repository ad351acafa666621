import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"
import { Effect, Layer, type Scope, Semaphore, Stream } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, SqlError, Statement } from "effect/sql"

/** Settings of the adapter. */
export interface NodeSqliteOptions {
  /** Path of the database file, or ":memory:". */
  readonly filename: string
  /**
   * How long a locked file is waited for, in milliseconds. The wait blocks the event loop, so it is short: one process
   * owns the file (locking_mode=EXCLUSIVE) and another finds it locked.
   */
  readonly busyTimeoutMillis?: number
  /** Whether other processes open the file too: then nothing but their transactions keeps them apart. Default false. */
  readonly shared?: boolean
}

type Params = ReadonlyArray<unknown>
type Row = Record<string, unknown>

/** Prepared statements kept; the least recently used leaves first. The whole program has fewer. */
const statementsMax = 300

/** What PostgreSQL's client takes and SQLite does not: booleans and undefined. */
const bind = (value: unknown): SQLInputValue => {
  if (value === undefined) return null
  if (typeof value === "boolean") return value ? 1 : 0
  return value as SQLInputValue
}

/** 64-bit integers arrive as bigint and leave as number where a number holds them exactly. */
const narrow = (value: unknown): unknown =>
  typeof value === "bigint" && value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER
    ? Number(value)
    : value

const wordsOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

const sqlError = (operation: string) => (cause: unknown) => {
  const error = cause as { errcode?: number; errno?: number }
  // The classifier looks at errno and knows a unique index (2067) but not a primary key (1555).
  if (typeof error?.errcode === "number") error.errno ??= error.errcode === 1555 ? 2067 : error.errcode
  return new SqlError.SqlError({
    reason: SqlError.classifySqliteError(cause, { message: `sqlite: ${operation}: ${wordsOf(cause)}`, operation }),
  })
}

const open = (options: NodeSqliteOptions): DatabaseSync => {
  const db = new DatabaseSync(options.filename, { timeout: options.busyTimeoutMillis ?? 250 })
  try {
    // Exclusive before WAL: no shared-memory file, and the lock is the kernel's, released by death of any kind.
    if (options.shared !== true) db.exec("PRAGMA locking_mode = EXCLUSIVE")
    db.exec("PRAGMA journal_mode = WAL")
    // FULL: a commit that was acknowledged survives a power cut. Payments are sent on the strength of it.
    db.exec("PRAGMA synchronous = FULL")
    db.exec("PRAGMA foreign_keys = ON")
    // The lock is taken by the first write, not by the pragma.
    db.exec("BEGIN IMMEDIATE; COMMIT")
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** An Effect SqlClient over node:sqlite: one connection, transactions one after the other. Calls are synchronous. */
export const make = (
  options: NodeSqliteOptions,
): Effect.Effect<SqlClient.SqlClient, SqlError.SqlError, Scope.Scope | Reactivity.Reactivity> =>
  Effect.gen(function* () {
    const db = yield* Effect.acquireRelease(Effect.try({ try: () => open(options), catch: sqlError("open") }), (db) =>
      Effect.sync(() => db.close()),
    )

    const statements = new Map<string, StatementSync>()
    const prepare = (sql: string): StatementSync => {
      let statement = statements.get(sql)
      if (statement === undefined) {
        statement = db.prepare(sql)
        statement.setReadBigInts(true)
        if (statements.size >= statementsMax) statements.delete(statements.keys().next().value!)
      } else statements.delete(sql)
      statements.set(sql, statement)
      return statement
    }

    const attempt = <A>(run: (big: boolean) => A): Effect.Effect<A, SqlError.SqlError> =>
      Effect.withFiber((fiber) =>
        Effect.try({ try: () => run(fiber.getRef(SqlClient.SafeIntegers)), catch: sqlError("execute") }),
      )

    const objects = (sql: string, params: Params) =>
      attempt((big) => {
        const statement = prepare(sql)
        statement.setReturnArrays(false)
        const rows = statement.all(...params.map(bind)) as Array<Row>
        if (!big) for (const row of rows) for (const key in row) row[key] = narrow(row[key])
        return rows
      })
    const arrays = (sql: string, params: Params) =>
      attempt((big): ReadonlyArray<ReadonlyArray<unknown>> => {
        const statement = prepare(sql)
        statement.setReturnArrays(true)
        const rows = statement.all(...params.map(bind)) as unknown as Array<Array<unknown>>
        return big ? rows : rows.map((row) => row.map(narrow))
      })
    const execute: SqlConnection.Connection["execute"] = (sql, params, transform) =>
      transform ? Effect.map(objects(sql, params), transform) : objects(sql, params)

    const connection: SqlConnection.Connection = {
      execute,
      executeUnprepared: execute,
      executeValues: arrays,
      executeValuesUnprepared: arrays,
      executeRaw: (sql, params) => attempt(() => prepare(sql).run(...params.map(bind))),
      executeStream: (sql, params, transform) => Stream.fromIterableEffect(execute(sql, params, transform)),
    }

    return yield* SqlClient.make({
      ...SqlClient.makeSqliteAcquirers({
        connection: Effect.succeed(connection),
        semaphore: yield* Semaphore.make(1),
        isTransaction: () => db.isTransaction,
      }),
      driver: "node-sqlite",
      compiler: Statement.makeCompilerSqlite(),
      // The write lock at once: a deferred transaction that turns writer can fail with SQLITE_BUSY.
      beginTransaction: "BEGIN IMMEDIATE",
      prepareTransactionControls: true,
      releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
      spanAttributes: [["db.system.name", "sqlite"]],
    })
  })

/** The client as a layer; the file is closed with its scope. */
export const layer = (options: NodeSqliteOptions): Layer.Layer<SqlClient.SqlClient, SqlError.SqlError> =>
  Layer.effect(SqlClient.SqlClient, make(options)).pipe(Layer.provide(Reactivity.layer))
