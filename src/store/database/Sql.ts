import { Context, Effect, type Fiber } from "effect"
import type { SqlClient, SqlConnection, SqlError, Statement } from "effect/sql"
import { type StoreError, storeError } from "./StoreError.ts"
import { withRetry } from "./sqlStates.ts"

interface Access {
  /** A part that joined the transaction failed: it must not become durable. */
  hasFailed: boolean
  /** Restore the state that its parts changed, also of parts that succeeded. */
  readonly restores: Array<Effect.Effect<void>>
}

/** The right to change rows: a transaction that holds the treasury's lease. Only `withTransaction` gives it. */
export class WriteAccess extends Context.Service<WriteAccess, Access>()("cofferer/store/WriteAccess") {}

/** Values and fragments, as a client takes them. */
type Args = ReadonlyArray<unknown>

/** The transaction that a fiber is in. */
export const accessOf = ({ context }: Fiber.Fiber<unknown, unknown>): Access | undefined =>
  Context.getOrUndefined(context, WriteAccess)

/** The database of one treasury. A statement reads; what changes rows is made by `write`, in a transaction. */
export interface Sql extends Pick<SqlClient.SqlClient, "in" | "insert" | "update" | "literal" | "onDialectOrElse"> {
  <A extends object = SqlConnection.Row>(strings: TemplateStringsArray, ...args: Args): Statement.Statement<A>
  readonly write: (
    strings: TemplateStringsArray,
    ...args: Args
  ) => Effect.Effect<ReadonlyArray<SqlConnection.Row>, SqlError.SqlError, WriteAccess>
  /** A statement with positional parameters that reads; answers rows of values. */
  readonly readValues: Positional<never>
  /** The same for a statement that changes rows. */
  readonly writeValues: Positional<WriteAccess>
  /**
   * All changes become durable, or none. Inside another transaction it is a savepoint: if it fails, only its own are
   * undone. After a lost connection or a conflict it runs again, so it may change only rows, and state that
   * `takenBack` restores; that runs whenever none of it became durable.
   */
  readonly withTransaction: <A, E, R>(
    effect: Effect.Effect<A, E, R>,
    takenBack?: Effect.Effect<void>,
  ) => Effect.Effect<A, E | SqlError.SqlError, Exclude<R, WriteAccess>>
  /** Joins the open transaction, which then fails if this part fails; without one, begins one. */
  readonly joinTransaction: Sql["withTransaction"]
  /** Joins the open transaction, or begins one, under a name for traces and errors. */
  readonly change: Named
  /** As `withTransaction`, under a name for errors. */
  readonly durable: Named
}

type Named = (
  name: string,
) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, StoreError, Exclude<R, WriteAccess>>

type Positional<R> = (
  text: string,
  params: ReadonlyArray<unknown>,
) => Effect.Effect<ReadonlyArray<ReadonlyArray<unknown>>, SqlError.SqlError, R>

export const Sql = Context.Service<Sql>("cofferer/store/Sql")

export const isPostgres = (sql: Sql): boolean => sql.onDialectOrElse({ pg: () => true, orElse: () => false })

/** Divides a client into statements that read and statements that write. */
export const makeSql = (client: SqlClient.SqlClient): Sql => {
  const values: Positional<never> = (text, params) => client.unsafe(text, params).values
  const inTransaction = <A, E, R>(effect: Effect.Effect<A, E, R>, restores: Access["restores"]) => {
    const access: Access = { hasFailed: false, restores }
    const whole = Effect.tap(Effect.provideService(effect, WriteAccess, access), () =>
      access.hasFailed ? Effect.die(new Error("store: a transaction went on after a part of it failed")) : Effect.void,
    )
    return client.withTransaction(whole)
  }
  const join = <A, E, R>(effect: Effect.Effect<A, E, R>, access: Access) =>
    Effect.onError(Effect.provideService(effect, WriteAccess, access), () =>
      Effect.sync(() => {
        access.hasFailed = true
      }),
    )
  const transaction =
    (isJoined: boolean) =>
    <A, E, R>(effect: Effect.Effect<A, E, R>, takenBack: Effect.Effect<void> = Effect.void) => {
      const whole = Effect.suspend(() => {
        const restores = [takenBack]
        return Effect.onError(inTransaction(effect, restores), () => Effect.all(restores, { discard: true }))
      })
      return Effect.withFiber((fiber) => {
        const access = accessOf(fiber)
        if (access === undefined) return withRetry(whole)
        // The whole may fail after this part of it.
        access.restores.push(takenBack)
        const part = isJoined ? join(effect, access) : inTransaction(effect, access.restores)
        return Effect.onError(part, () => takenBack)
      })
    }
  const change: Named = (name) => (effect) => transaction(true)(effect).pipe(storeError(name), Effect.withSpan(name))
  const durable: Named = (name) => (effect) => storeError(name)(transaction(false)(effect))
  const read = <A extends object>(strings: TemplateStringsArray, ...args: Args) => client<A>(strings, ...args)
  return Object.assign(read, {
    in: client.in,
    insert: client.insert,
    update: client.update,
    literal: client.literal,
    onDialectOrElse: client.onDialectOrElse,
    write: (strings: TemplateStringsArray, ...args: Args) => Effect.andThen(WriteAccess, client(strings, ...args)),
    readValues: values,
    writeValues: (text: string, params: ReadonlyArray<unknown>) => Effect.andThen(WriteAccess, values(text, params)),
    withTransaction: transaction(false),
    joinTransaction: transaction(true),
    change,
    durable,
  }) as Sql
}
