import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"
import { Context, Effect, Layer, Predicate, type Scope, Semaphore, Stream } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, SqlError, Statement } from "effect/sql"
import { Backend, makeWrites, tablesWritten, type Writes } from "./Writes.ts"

/** Settings of the adapter. */
export interface NodeSqliteOptions {
  /** Path of the database file, or ":memory:". */
  readonly filename: string
}

/** Longest wait for a locked file. It blocks the event loop, so it is short: one process owns the file. */
const busyTimeoutMillis = 250

type Params = ReadonlyArray<unknown>
type Row = Record<string, unknown>

/** Prepared statements kept; the least recently used leaves first. The whole program has fewer. */
const statementsMax = 300

/** Converts booleans and undefined, which PostgreSQL's client accepts and SQLite does not. */
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

/** Primary result codes after which the file must be closed, opened and checked: I/O error, corrupt, no database. */
export const doubtful: ReadonlySet<number> = new Set([10, 11, 26])

const isDoubtful = (error: unknown): boolean =>
  Predicate.hasProperty(error, "errcode") && typeof error.errcode === "number" && doubtful.has(error.errcode & 0xff)

const sqlError = (operation: string) => (cause: unknown) => {
  const error = cause as { errcode?: number; errno?: number }
  // The classifier looks at errno and knows a unique index (2067) but not a primary key (1555).
  if (typeof error?.errcode === "number") error.errno ??= error.errcode === 1555 ? 2067 : error.errcode
  return new SqlError.SqlError({
    reason: SqlError.classifySqliteError(cause, { message: `sqlite: ${operation}: ${wordsOf(cause)}`, operation }),
  })
}

/** Primary result codes of a file that another process has locked. */
export const busy: ReadonlySet<number> = new Set([5, 6])

const openError = (filename: string) => (cause: unknown) => {
  const message = `${filename} is in use by another process; restart or stop it, or name another directory with --data`
  const isBusy = Predicate.hasProperty(cause, "errcode") && busy.has(Number(cause.errcode) & 0xff)
  if (!isBusy) return sqlError("open")(cause)
  return new SqlError.SqlError({ reason: SqlError.classifySqliteError(cause, { message, operation: "open" }) })
}

const open = (options: NodeSqliteOptions): DatabaseSync => {
  const db = new DatabaseSync(options.filename, { timeout: busyTimeoutMillis })
  try {
    // Exclusive before WAL: no shared-memory file, and the lock is the kernel's, released by death of any kind.
    db.exec("PRAGMA locking_mode = EXCLUSIVE")
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

interface Prepared {
  readonly statement: StatementSync
  /** As of `tablesWritten`. */
  readonly written: string | undefined
}

/**
 * An Effect SqlClient over node:sqlite, and the versions of the tables that it writes. It has one connection;
 * transactions wait for each other. Calls are synchronous.
 */
const makeWatched = (
  options: NodeSqliteOptions,
): Effect.Effect<
  { readonly client: SqlClient.SqlClient; readonly writes: Writes },
  SqlError.SqlError,
  Scope.Scope | Reactivity.Reactivity
> =>
  Effect.gen(function* () {
    const opened = Effect.try({ try: () => open(options), catch: openError(options.filename) })
    const db = yield* Effect.acquireRelease(opened, (db) => Effect.sync(() => db.close()))

    let broken: unknown
    const writes = makeWrites(() => db.isOpen && db.isTransaction)
    const statements = new Map<string, Prepared>()
    const prepare = (sql: string): Prepared => {
      let prepared = statements.get(sql)
      if (prepared === undefined) {
        const statement = db.prepare(sql)
        statement.setReadBigInts(true)
        prepared = { statement, written: tablesWritten(sql) }
        if (statements.size >= statementsMax) statements.delete(statements.keys().next().value!)
      } else statements.delete(sql)
      statements.set(sql, prepared)
      return prepared
    }

    const call = <A>(sql: string, run: () => A) =>
      Effect.try({
        try: () => {
          // After a failed sync the next one may succeed without the data of the first: only a new connection can tell.
          if (broken !== undefined && !/^ROLLBACK/.test(sql)) throw broken
          try {
            return run()
          } catch (error) {
            if (isDoubtful(error)) broken = error
            throw error
          }
        },
        catch: sqlError("execute"),
      })
    const attempt = <A>(sql: string, run: (statement: StatementSync, big: boolean) => A) =>
      Effect.withFiber((fiber) =>
        call(sql, () => {
          const { statement, written } = prepare(sql)
          try {
            return run(statement, fiber.getRef(SqlClient.SafeIntegers))
          } finally {
            if (written !== undefined) writes.note(written)
          }
        }),
      )
    /** Runs statements without keeping them prepared. */
    const script = (sql: string) =>
      call(sql, () => {
        try {
          db.exec(sql)
        } finally {
          writes.note("*")
        }
      })

    const objects = (sql: string, params: Params) =>
      attempt(sql, (statement, big) => {
        statement.setReturnArrays(false)
        const rows = statement.all(...params.map(bind)) as Array<Row>
        if (!big) for (const row of rows) for (const key in row) row[key] = narrow(row[key])
        return rows
      })
    const arrays = (sql: string, params: Params) =>
      attempt(sql, (statement, big): ReadonlyArray<ReadonlyArray<unknown>> => {
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
      executeRaw: (sql, params) =>
        params.length === 0 ? script(sql) : attempt(sql, (statement) => statement.run(...params.map(bind))),
      executeStream: (sql, params, transform) => Stream.fromIterableEffect(execute(sql, params, transform)),
    }

    const client = yield* SqlClient.make({
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
    return { client, writes }
  })

/** The client alone. */
export const make = (
  options: NodeSqliteOptions,
): Effect.Effect<SqlClient.SqlClient, SqlError.SqlError, Scope.Scope | Reactivity.Reactivity> =>
  Effect.map(makeWatched(options), ({ client }) => client)

/** The client as a layer. The file is closed with its scope. Only one process can open it: that is the lease. */
export const layerSqlite = (
  options: NodeSqliteOptions,
): Layer.Layer<SqlClient.SqlClient | Backend, SqlError.SqlError> =>
  Layer.effectContext(
    Effect.map(makeWatched(options), ({ client, writes }) =>
      Context.make(SqlClient.SqlClient, client).pipe(
        Context.add(Backend, { writes, isLeaseHeld: Effect.succeed(true) }),
      ),
    ),
  ).pipe(Layer.provide(Reactivity.layer))
