import { randomUUID } from "node:crypto"
import * as PgClient from "@effect/sql-pg/PgClient"
import type { PgConnection } from "@effect/sql-pg/PgConnection"
import { Context, Effect, Layer, Option, Redacted, Result, Scope, Semaphore, Stream } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, type SqlError } from "effect/sql"
import {
  answerTimeout,
  Connections,
  type LeaseTerms,
  type PostgresOptions,
  query,
  refuseStore,
  rollbackOnError,
  type StoreAccess,
  sqlFailure,
  usualTerms,
} from "./Connections.ts"
import { markOf, movedQuery } from "./moved.ts"
import {
  type Held,
  leaseRow,
  openLease,
  othersMillis,
  releaseLease,
  renewLease,
  serverMillis,
  trustedShare,
  usePostgres,
} from "./pgLease.ts"
import { causeText, StoreError } from "./StoreError.ts"
import { amongCauses, isTransient, realSleep, refusalOf, StoreRefusal, sqlStateOf, withRetry } from "./sqlStates.ts"
import { Backend, makeWrites, tablesWritten, type Writes } from "./Writes.ts"

/** Longest search for the result of a COMMIT that got no answer. The server ends the transaction sooner. */
const settleMillis = 15_000

/** Longest wait at the close for the release of the lease, which expires by itself: an outage is logged after it. */
const releaseMillisMax = 2_000

/** Converts what SQLite's client accepts: a boolean is 0 or 1, undefined is NULL. */
const bind = (value: unknown): unknown =>
  value === undefined ? null : value === true ? 1 : value === false ? 0 : value

const texts = new Map<string, string>()

/** Translates a statement of SQLite: each key in PostgreSQL begins with the treasury, so conflict targets do too. */
const textOf = (sql: string): string => {
  let text = texts.get(sql)
  if (text === undefined) {
    text = sql.replaceAll(/\bON CONFLICT \((?!treasury\b)/g, "ON CONFLICT (treasury, ").replaceAll("CROSS JOIN", "JOIN")
    if (texts.size >= 1_000) texts.clear()
    texts.set(sql, text)
  }
  return text
}

interface Terms extends LeaseTerms {
  readonly access: StoreAccess
}

/** Begins each transaction as the lease permits it, and finds out how one ended. */
const makeTransactions = ({
  connections: { session, replace },
  treasury,
  held,
  terms: { lastsMillis, access },
  writes,
}: {
  readonly connections: Connections["Service"]
  readonly treasury: string
  readonly held: Held
  readonly terms: Terms
  readonly writes: Writes
}) => {
  const lost = () => {
    held.isLost = true
    return sqlFailure(new StoreRefusal("lost", `another process has the lease of ${treasury}`))
  }
  /** The database lacks our last commits. The store then opens again, and is found to be a restored backup. */
  const shrunk = () => {
    held.deadline = 0
    return sqlFailure(new StoreRefusal("unknown", `the database of ${treasury} lacks what was written last`))
  }
  const locked = (at: PgConnection, text: string) =>
    query(at, text, [held.holder, held.epoch]).pipe(
      Effect.flatMap(([row]) =>
        row === undefined ? Effect.fail(lost()) : Effect.succeed([Number(row[0]), row[1]] as const),
      ),
    )

  /**
   * True after a guest wrote while a transaction used remembered rows. That transaction is undone and runs again; this
   * time it takes the lock before it reads.
   */
  let isOutdated = false
  const outdated = () =>
    sqlFailure(Object.assign(new Error(`a command wrote to the store of ${treasury} meanwhile`), { code: "40001" }))

  /** True if a transaction may use remembered rows before it has the lock. Its first statement checks for guests. */
  const mayReadBefore = () => access === "holder" && !isOutdated

  /** Begins a transaction. That of a holder locks the lease's row to its end, and counts itself in it. */
  const begin = Effect.fnUntraced(function* (at: PgConnection) {
    const asked = performance.now()
    if (access === "reader") {
      yield* query(at, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
      return { at, count: 0, deadline: 0 }
    }
    yield* query(at, "BEGIN READ WRITE")
    if (access === "guest") {
      yield* rollbackOnError(
        at,
        Effect.gen(function* () {
          yield* query(at, leaseRow)
          yield* query(at, "UPDATE leases SET guests = guests + 1")
          const moved = markOf(yield* query(at, movedQuery))
          if (moved !== undefined) return yield* refuseStore(moved.text)
        }),
      )
      // The holder may have written since: its halts are not those that were read before.
      writes.note("*")
      return { at, count: 0, deadline: 0 }
    }
    const counting = locked(
      at,
      `UPDATE leases SET transactions = transactions + 1, until = ${serverMillis} + ${lastsMillis}
        WHERE holder = $1 AND epoch = $2 AND until > 0 RETURNING transactions, guests`,
    )
    const count = yield* rollbackOnError(
      at,
      Effect.gen(function* () {
        const [found, guests] = yield* counting
        if (found <= held.count) return yield* shrunk()
        const mayBeRead = mayReadBefore()
        isOutdated = guests !== held.guests && mayBeRead
        if (guests !== held.guests) writes.note("*")
        held.guests = guests
        if (isOutdated) return yield* outdated()
        return found
      }),
    )
    return { at, count, deadline: asked + lastsMillis * trustedShare }
  })

  /** True if the transaction of this count is durable. The lock waits for its end, so nothing changes it later. */
  const isDurable = (count: number) =>
    Effect.gen(function* () {
      const at = yield* session(treasury)
      yield* query(at, "BEGIN READ WRITE")
      const [found] = yield* rollbackOnError(
        at,
        locked(at, "SELECT transactions FROM leases WHERE holder = $1 AND epoch = $2 FOR UPDATE"),
      )
      yield* query(at, "ROLLBACK")
      return found >= count
    }).pipe(Effect.scoped)

  /** Finds out how a COMMIT without an answer ended, before anything else happens. */
  const settle = Effect.fnUntraced(function* (at: PgConnection, error: SqlError.SqlError, count: number) {
    // Its place is freed first: treasuries that settle and have all sessions would wait for each other forever.
    yield* replace(at)
    const end = performance.now() + settleMillis
    for (;;) {
      const found = yield* Effect.result(isDurable(count))
      if (Result.isSuccess(found)) return yield* found.success ? Effect.void : error
      if (performance.now() > end || !isTransient(found.failure)) {
        return yield* sqlFailure(
          new StoreRefusal("unknown", `the result of a COMMIT is unknown: ${found.failure.message}`),
        )
      }
      yield* realSleep(200)
    }
  })

  return { lost, begin, mayReadBefore, settle }
}

/** Runs each statement on the connection that is lent for it, and notes the tables that it writes. */
const connectionOf = (
  writes: Writes,
  lend: <A>(use: (at: PgConnection) => Effect.Effect<A, SqlError.SqlError>) => Effect.Effect<A, SqlError.SqlError>,
): SqlConnection.Connection => {
  const statement = <A>(
    sql: string,
    params: ReadonlyArray<unknown>,
    how: (at: PgConnection, text: string, params: ReadonlyArray<unknown>) => Effect.Effect<A, SqlError.SqlError>,
  ) => {
    const written = tablesWritten(sql)
    const asked = lend((at) => Effect.raceFirst(how(at, textOf(sql), params.map(bind)), answerTimeout))
    return written === undefined
      ? asked
      : Effect.ensuring(
          asked,
          Effect.sync(() => writes.note(written)),
        )
  }
  const running =
    (prepare: boolean): SqlConnection.Connection["execute"] =>
    (sql, params, transform) =>
      statement(sql, params, (at, text, values) =>
        Effect.map(at.query(text, values, prepare), ({ rows }) => (transform ? transform(rows) : rows)),
      )
  const execute = running(true)
  const executeValues: SqlConnection.Connection["executeValues"] = (sql, params) =>
    statement(sql, params, (at, text, values) => at.queryValues(text, values))
  return {
    execute,
    executeUnprepared: running(false),
    executeValues,
    executeValuesUnprepared: executeValues,
    executeRaw: (sql, params) => statement(sql, params, (at, text, values) => at.query(text, values)),
    executeStream: (sql, params, transform) => Stream.fromIterableEffect(execute(sql, params, transform)),
  }
}

/**
 * The client of one treasury. A statement outside of a transaction is read-only. The first statement of a transaction
 * comes after the lease's row is locked and its epoch compared, so one holder's transactions pass one after the other,
 * and those of a former holder fail. Those of guests pass between them.
 */
const makeClient = Effect.fnUntraced(function* (treasury: string, held: Held, terms: Terms) {
  const connections = yield* Connections
  const { access } = terms
  let isOpen = false
  const writes = makeWrites(() => isOpen)
  const { lost, begin, mayReadBefore, settle } = makeTransactions({ connections, treasury, held, terms, writes })
  /** For statements outside of a transaction: they only read, so they may be retried. */
  const reading = connectionOf(writes, (use) =>
    withRetry(Effect.scoped(Effect.flatMap(connections.session(treasury), use))),
  )

  const oneAtATime = yield* Semaphore.make(1)
  interface Writing extends SqlConnection.Connection {
    readonly commit: Effect.Effect<void, SqlError.SqlError>
  }
  const writing = Effect.gen(function* () {
    yield* Effect.acquireRelease(oneAtATime.take(1), () => {
      isOpen = false
      writes.note("")
      return oneAtATime.release(1)
    })
    if (held.isLost) return yield* lost()
    const scope = yield* Effect.scope
    let state: "idle" | "asked" | Begun = "idle"
    let failure = sqlFailure(new Error("the transaction did not begin"))
    // Later statements of the transaction get the same error: it decides if the whole transaction runs again.
    const notBegun = Effect.suspend(() => Effect.fail(failure))
    const atOnce = Semaphore.makeUnsafe(1)
    const begins = Effect.uninterruptibleMask(
      Effect.fnUntraced(function* (restore) {
        if (state === "asked") return yield* notBegun
        if (state === "idle") {
          state = "asked"
          state = yield* Effect.tapError(
            Effect.flatMap(Scope.provide(restore(connections.session(treasury)), scope), begin),
            (error) => Effect.sync(() => (failure = error)),
          )
        }
        return state.at
      }, atOnce.withPermit),
    )
    // Begins with the first statement: half of all transactions find nothing to change, and send none.
    const opened = Effect.suspend(() => (typeof state === "string" ? begins : Effect.succeed(state.at)))
    const plain = connectionOf(writes, (use) => Effect.flatMap(opened, use))
    const connection: Writing = {
      ...plain,
      execute: (sql, params, transform) => {
        if (sql === "BEGIN") {
          isOpen = true
          return Effect.as(mayReadBefore() ? Effect.void : opened, [])
        }
        if (sql === "ROLLBACK" && typeof state === "string") return Effect.succeed([])
        const asked = plain.execute(sql, params, transform)
        // The server undoes the transaction of a lost session by itself.
        return /^(?:ROLLBACK|RELEASE)/.test(sql) ? Effect.catchIf(asked, isTransient, () => Effect.succeed([])) : asked
      },
      commit: Effect.suspend(() => (state === "idle" ? Effect.void : state === "asked" ? notBegun : commit(state))),
    }
    return connection
  })
  type Begun = Effect.Success<ReturnType<typeof begin>>
  const commit = Effect.fnUntraced(function* ({ at, count, deadline }: Begun) {
    yield* Effect.catchIf(commitOf(at), isTransient, (error) =>
      // The server may have committed all the same.
      access === "holder" ? settle(at, error, count) : error,
    )
    held.deadline = Math.max(held.deadline, deadline)
    held.count = count
  })

  const client = yield* SqlClient.make({
    acquirer: Effect.succeed(reading),
    transactionAcquirer: writing,
    driver: "pg",
    compiler: PgClient.makeCompiler(),
    prepareTransactionControls: true,
    commit: (connection) => (connection as Writing).commit,
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    spanAttributes: [["db.system.name", "postgresql"]],
  })
  return { client, writes }
})

/** PostgreSQL answers ROLLBACK to the COMMIT of a transaction in which a statement failed. */
const commitOf = (at: PgConnection) =>
  Effect.flatMap(Effect.raceFirst(at.query("COMMIT"), answerTimeout), ({ command }) =>
    command === "ROLLBACK" ? Effect.fail(sqlFailure(new Error("a statement of the transaction failed"))) : Effect.void,
  )

/** The client of one treasury, what it writes, and its lease, which is renewed until the scope ends. */
export const layerPostgres = (treasury: string, options: PostgresOptions) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const terms = { ...usualTerms, ...options.lease }
      const { holder = randomUUID(), access: by = "holder" } = options
      const access = by === "mover" ? "holder" : by
      yield* usePostgres(treasury, { ...options, access })
      // May wait forever. A lease that is taken at the moment of an interruption expires by itself.
      const held: Held =
        access === "holder"
          ? yield* openLease(treasury, holder, { ...terms, onWait: options.onWait })
          : { holder, epoch: -1, count: 0, deadline: 0, isLost: false }
      const { client, writes } = yield* makeClient(treasury, held, { ...terms, access })
      const release = releaseLease(client)
      const { holding } = yield* Connections
      if (access === "holder") {
        holding.add(treasury)
        const released = Effect.raceFirst(
          Effect.ignore(withRetry(client.withTransaction(release))),
          realSleep(releaseMillisMax),
        )
        yield* Effect.addFinalizer(() => {
          holding.delete(treasury)
          return held.isLost ? Effect.void : released
        })
        yield* Effect.forkScoped(Effect.repeat(renewLease(client, held, terms), { until: () => held.isLost }))
      }
      const end = Effect.gen(function* () {
        held.isLost = true
        holding.delete(treasury)
        // A process that stops hands over all its treasuries first: the rest of its stop takes as long again.
        const ended = performance.now()
        while (holding.size > 0 && performance.now() - ended < othersMillis) yield* realSleep(10)
      })
      return Context.make(SqlClient.SqlClient, client).pipe(
        Context.add(Backend, {
          writes,
          takeover: held.takeover,
          lease: access === "holder" ? { release, end } : undefined,
          isLeaseHeld: Effect.sync(() => !held.isLost && performance.now() < held.deadline),
        }),
      )
    }),
  ).pipe(
    Layer.provide(
      Layer.unwrap(
        Effect.map(Effect.serviceOption(Connections), (given) =>
          Option.match(given, {
            onNone: () => Connections.layer(options),
            onSome: (shared) =>
              Redacted.value(shared.url) === Redacted.value(options.url)
                ? Layer.succeed(Connections, shared)
                : Connections.layer(options),
          }),
        ),
      ),
    ),
    Layer.provide(Reactivity.layer),
    Layer.catchTag("SqlError", (cause) =>
      Layer.effectContext(Effect.fail(new StoreError({ operation: "open", cause: withRemedy(cause, options) }))),
    ),
  )

const remedies: ReadonlyArray<readonly [states: RegExp, remedy: (file: string) => string]> = [
  [/^28/, (file) => `correct user and password in ${file}, or the server's pg_hba.conf`],
  [/^3D/, (file) => `create that database, owned by the user, or correct its name in ${file}`],
  [/^42501/, (file) => `make the user of ${file} the owner of the database`],
  [/^08/, (file) => `correct its address in ${file}`],
]

/** True if no server answered: the failure has a code of the operating system, or is a silence or an end. */
const isNoServer = (cause: SqlError.SqlError): boolean =>
  /^Connection /.test(causeText(cause)) ||
  amongCauses(cause, (found) => /^E(?!RR_)/.test(String(Reflect.get(found, "code"))) || undefined) === true

/** The failure to open, with what ends it. */
const withRemedy = (cause: SqlError.SqlError, { urlFile = "the address" }: PostgresOptions): Error => {
  const state = refusalOf(cause) === undefined ? (sqlStateOf(cause) ?? "") : ""
  const found = remedies.find(([states]) => states.test(state))?.[1](urlFile)
  const remedy = found !== undefined && isNoServer(cause) ? `start the server, or ${found}` : found
  return new Error(remedy === undefined ? causeText(cause) : `${causeText(cause)}; ${remedy}`, { cause })
}
