import type { PgConnection } from "@effect/sql-pg/PgConnection"
import * as PgPool from "@effect/sql-pg/PgPool"
import * as PgTypes from "@effect/sql-pg/PgTypes"
import { Clock, Context, Effect, Layer, Queue, Redacted, Result } from "effect"
import { SqlError } from "effect/sql"
import { isLoopback } from "../../config/schema/Fields.ts"
import { treasurySetting } from "./pgSchema.ts"
import { realSleep, StoreRefusal } from "./sqlStates.ts"

/** Where the database is. */
export interface PostgresOptions {
  readonly url: Redacted.Redacted
  /** The file that the address was read from, which errors name. */
  readonly urlFile?: string
  /** Connections of the process at most, for all its treasuries. */
  readonly connectionsMax?: number
  readonly lease?: Partial<LeaseTerms>
  /** Name of the process for people, and for itself: it may take again what it holds. Default: a random one. */
  readonly holder?: string
  /** If set, the lease is waited for without limit. Called with its holder meanwhile; undefined: we have it now. */
  readonly onWait?: ((current: LeaseHolder | undefined) => Effect.Effect<void>) | undefined
  readonly access?: StoreAccess
}

/**
 * Rights of a process in the store. "guest": it may stop and resume what another process runs, and moves no money. Its
 * transactions lock the lease's row too, and the holder's next one drops all remembered rows. "mover": a holder that
 * may open a store that was moved.
 */
export type StoreAccess = "holder" | "reader" | "guest" | "mover"

/** A process that has the lease. */
export interface LeaseHolder {
  readonly name: string
  /** Unix milliseconds at which it took the lease, by the server's clock. */
  readonly since: number
}

export interface LeaseTerms {
  /** Time after which another process may take the lease of one that is silent, in milliseconds. */
  readonly lastsMillis: number
  /** Time for which a lease that another process holds is waited for, in milliseconds. */
  readonly waitMillis: number
}

/** `lastsMillis` is also how long a frozen process can keep the lease's row locked. */
export const usualTerms: LeaseTerms = { lastsMillis: 6_000, waitMillis: 8_000 }

/** A statement without an answer for this long has lost its server. */
const answerMillis = 20_000
/** Settings of each session. They hold at the server even if this process is frozen or cut off. */
const sessionSettings = ({ lastsMillis }: LeaseTerms) => ({
  // What is not begun by `Database.write` writes nothing.
  default_transaction_read_only: "on",
  // A frozen holder, and one whose network is cut, keeps the lease's row no longer.
  idle_in_transaction_session_timeout: String(lastsMillis),
  lock_timeout: String(lastsMillis + 3_000),
  tcp_user_timeout: "10000",
  tcp_keepalives_idle: "5",
  tcp_keepalives_interval: "2",
  tcp_keepalives_count: "3",
  jit: "off",
  timezone: "UTC",
})

/** TLS, unless the server is on this host or its address has `sslmode=disable`. */
const tlsOf = (url: Redacted.Redacted): { readonly ssl?: true } => {
  if (!URL.canParse(Redacted.value(url))) return {}
  const { hostname, searchParams } = new URL(Redacted.value(url))
  // The client takes the last of repeated parameters. "prefer" would let the network in between remove TLS.
  const host = searchParams.getAll("host").at(-1) ?? hostname
  const isPlain = searchParams.getAll("sslmode").at(-1) === "disable"
  return host === "" || host.startsWith("/") || isLoopback(host) || isPlain ? {} : { ssl: true }
}

/** 64-bit integers decode to number if it holds them exactly, as with SQLite; else to bigint. */
const int8: PgTypes.Codec<number | bigint> = {
  encode: (value) => PgTypes.encode(BigInt(value), PgTypes.OID.int8),
  decode: (bytes) =>
    Result.map(PgTypes.decode(bytes, PgTypes.OID.int8, 1) as Result.Result<bigint, PgTypes.CodecError>, (value) =>
      value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value,
    ),
}

/** A truth value is 0 or 1, as SQLite's is. */
const bool: PgTypes.Codec<number> = {
  encode: (value) => PgTypes.encode(value !== 0, PgTypes.OID.bool),
  decode: (bytes) =>
    Result.map(PgTypes.decode(bytes, PgTypes.OID.bool, 1) as Result.Result<boolean, PgTypes.CodecError>, Number),
}

/** Channel of notifications about released leases, with the name of the treasury. */
export const releasesChannel = "cofferer_releases"

/** The server's time passes whatever clock is in use here. */
const inRealTime = Effect.provideService(Clock.Clock, Clock.Clock.defaultValue())

/** Connections of the process to its server, shared by all its treasuries. */
export class Connections extends Context.Service<Connections>()("cofferer/store/Connections", {
  make: Effect.fnUntraced(function* ({ url, connectionsMax = 10, lease }: PostgresOptions) {
    const types = PgTypes.makeRegistry()
    types.register(PgTypes.OID.int8, int8)
    types.register(PgTypes.OID.bool, bool)
    const pool = yield* inRealTime(
      PgPool.make({
        url,
        ...tlsOf(url),
        types,
        // One more listens to releases of leases.
        maxConnections: connectionsMax + 1,
        applicationName: "cofferer",
        startupParameters: sessionSettings({ ...usualTerms, ...lease }),
        preparedStatementCacheSize: 300,
      }),
    )
    /** The treasury that each session is set to. */
    const treasuries = new WeakMap<PgConnection, string>()
    const waiting = new Map<string, Queue.Queue<true>>()
    const listen = Effect.gen(function* () {
      const heard = yield* (yield* inRealTime(pool.get)).listen(releasesChannel)
      for (;;) {
        const queue = waiting.get((yield* Queue.take(heard)).payload)
        if (queue !== undefined) Queue.offerUnsafe(queue, true)
      }
    }).pipe(Effect.scoped, Effect.ignore, Effect.andThen(realSleep(1_000)), Effect.forever)
    const scope = yield* Effect.scope
    const listening = yield* Effect.cached(Effect.forkIn(listen, scope))
    return {
      url,
      /** Leases that are about to be taken, and the monotonic milliseconds of the last one that was given up to us. */
      taking: { treasuries: new Set<string>(), last: Number.NEGATIVE_INFINITY },
      /** Treasuries whose lease this process has. */
      holding: new Set<string>(),
      /** Lets another session be opened in the place of one that has no answer, while that one is still held. */
      replace: pool.invalidate,
      /** News that the treasury's lease was given up, until the scope ends. A hint: some may be missing. */
      releases: Effect.fnUntraced(function* (treasury: string) {
        yield* listening
        const queue = yield* Queue.sliding<true>(1)
        const forget = Effect.sync(() => waiting.get(treasury) === queue && waiting.delete(treasury))
        return yield* Effect.acquireRelease(
          Effect.sync(() => waiting.set(treasury, queue)),
          () => forget,
        ).pipe(Effect.as(queue))
      }),
      /** A session for exclusive use, whose statements see the treasury's rows alone. */
      session: (treasury: string) =>
        // All sessions may be in use by statements that the server does not answer.
        Effect.tap(Effect.raceFirst(inRealTime(pool.get), answerTimeout), (session) => {
          if (treasuries.get(session) === treasury) return Effect.void
          treasuries.delete(session)
          return query(session, `SELECT set_config('${treasurySetting}', $1, false), pg_backend_pid()`, [
            treasury,
          ]).pipe(
            Effect.flatMap(([row]) =>
              row?.[1] === session.processId
                ? Effect.sync(() => treasuries.set(session, treasury))
                : refuseStore("a pooler lies between, which mixes sessions up; connect to PostgreSQL itself"),
            ),
          )
        }),
    }
  }),
}) {
  static readonly layer = (options: PostgresOptions) => Layer.effect(Connections, Connections.make(options))
}

export const sqlFailure = (cause: Error, message = cause.message) =>
  new SqlError.SqlError({ reason: new SqlError.UnknownError({ cause, message, operation: "postgres" }) })

export const refuseStore = (why: string) => Effect.fail(sqlFailure(new StoreRefusal("refused", why)))

export const answerTimeout = Effect.andThen(
  realSleep(answerMillis),
  Effect.fail(
    new SqlError.SqlError({
      reason: new SqlError.ConnectionError({
        cause: new Error(`no answer in ${answerMillis} ms`),
        message: `postgres: no answer in ${answerMillis} ms`,
        operation: "query",
      }),
    }),
  ),
)

export const query = (session: PgConnection, sql: string, params: ReadonlyArray<unknown> = []) =>
  Effect.raceFirst(session.queryValues(sql, params), answerTimeout)

/** Ends the transaction that a failure left open: the session goes back to the pool. */
export const rollbackOnError = <A, E>(at: PgConnection, effect: Effect.Effect<A, E>) =>
  Effect.onError(effect, () => Effect.ignore(query(at, "ROLLBACK")))
