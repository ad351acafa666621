import type { PgConnection } from "@effect/sql-pg/PgConnection"
import { Effect, Queue } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import {
  Connections,
  type LeaseHolder,
  type LeaseTerms,
  type PostgresOptions,
  query,
  refuseStore,
  releasesChannel,
  rollbackOnError,
  sqlFailure,
} from "./Connections.ts"
import { pgDefinitions, pgVersion, toThisVersion } from "./pgSchema.ts"
import { isPostgres, Sql } from "./Sql.ts"
import { storeError } from "./StoreError.ts"
import { realSleep, StoreRefusal, withRetry } from "./sqlStates.ts"

/** Share of the lease's time for which its holder relies on it. The rest is for statements in flight. */
export const trustedShare = 0.8

/** The process that had the lease before, and how it ended there. */
export interface Takeover {
  readonly from: string
  readonly to: string
  readonly how: "handed_over" | "expired"
}

/** A lease as its holder knows it. */
export interface Held {
  /** Absent where nobody else had it before. */
  readonly takeover?: Takeover | undefined
  readonly holder: string
  readonly epoch: number
  /** Number of guests' transactions at the last one of this process: another number means that guests wrote since. */
  guests?: unknown
  /** Number of our last durable transaction: a database with a lower count has lost some. */
  count: number
  /** Monotonic milliseconds up to which nobody else can have the lease. */
  deadline: number
  isLost: boolean
}

export const serverMillis = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

/** Reason why payments cannot rely on this server's COMMIT; undefined where they can. */
const serverProblem = ([row]: ReadonlyArray<ReadonlyArray<unknown>>): string | undefined => {
  const [version, fsync, commits, pages, isStandby, isAbove] = row ?? []
  if (Number(version) < 140_000) return `PostgreSQL ${version} is older than 14; upgrade it`
  if (fsync !== "on") return "fsync is off: a power cut would lose payments; set fsync = on"
  if (commits === "off") return "synchronous_commit is off: a crash would lose payments; set synchronous_commit = on"
  if (pages !== "on") return "full_page_writes is off: a power cut would tear pages; set full_page_writes = on"
  if (isStandby === 1) return "the server is a standby, which takes no writes; connect to the primary"
  if (isAbove === 1) return "its role is above row security; connect as a role with NOSUPERUSER and NOBYPASSRLS"
  return undefined
}

/** Another version made the tables, and this one cannot change them. */
const otherVersion = (found: number, file: string) =>
  refuseStore(
    found > pgVersion
      ? `a newer version made the tables of ${file} (${found}, not ${pgVersion}); run that version here as well`
      : `an older version made the tables of ${file} (${found}, not ${pgVersion}); run that version, or begin in an ` +
          'empty database, where "cofferer adopt" takes the payments of this one for known',
  )

const migrate = Effect.fnUntraced(function* (at: PgConnection, file: string) {
  yield* query(at, toThisVersion.begin)
  const [row] = yield* query(at, `SELECT holder FROM leases WHERE until >= ${serverMillis} LIMIT 1`)
  if (row !== undefined) {
    const remedy = "stop every process of the older version first, then start this one"
    return yield* refuseStore(`${row[0]} runs treasuries by the older tables of ${file}; ${remedy}`)
  }
  yield* Effect.forEach(toThisVersion.end, (text) => query(at, text), { discard: true })
})

const prepareDatabase = Effect.fnUntraced(function* (at: PgConnection, { access, urlFile = "its address" }: Prepared) {
  const problem = serverProblem(
    yield* query(
      at,
      `SELECT current_setting('server_version_num')::bigint, current_setting('fsync'),
        current_setting('synchronous_commit'), current_setting('full_page_writes'), pg_is_in_recovery(),
        (SELECT bool_or(rolsuper OR rolbypassrls) FROM pg_roles WHERE rolname IN (current_user, session_user))`,
    ),
  )
  if (problem !== undefined) return yield* refuseStore(problem)
  yield* query(at, "BEGIN READ WRITE")
  // One process makes the tables, others wait for it.
  yield* query(at, "SELECT pg_advisory_xact_lock(hashtext('cofferer'))")
  const [[isThere] = []] = yield* query(at, "SELECT to_regclass('cofferer_schema') IS NOT NULL")
  if (isThere === 1) {
    const [[version] = []] = yield* query(at, "SELECT version FROM cofferer_schema")
    const isBefore = version === pgVersion - 1
    if (version !== pgVersion && !isBefore) return yield* otherVersion(Number(version), urlFile)
    // A reader does not migrate: the version before has all that it reads.
    if (isBefore && access !== "reader") yield* migrate(at, urlFile)
  } else {
    yield* Effect.forEach(pgDefinitions, (text) => query(at, text), { discard: true })
    yield* query(at, "CREATE TABLE cofferer_schema (version BIGINT NOT NULL)")
    yield* query(at, "INSERT INTO cofferer_schema VALUES ($1)", [pgVersion])
  }
  yield* query(at, "COMMIT")
})

type Prepared = Pick<PostgresOptions, "access" | "urlFile">

/** Inserts nothing if the row exists: an insert would wait for the holder's transaction even then. */
export const leaseRow = `INSERT INTO leases (holder, epoch, until, since, transactions) SELECT '', 0, 0, 0, 0
  WHERE NOT EXISTS (SELECT 1 FROM leases) ON CONFLICT (treasury) DO NOTHING`

/**
 * Takes the lease: a new epoch, in which no former holder can write. Undefined while another process has it. `silent`:
 * a holder that has not renewed for the lease's time; its lease is taken if it has not renewed since.
 */
const takeLease = Effect.fnUntraced(function* (
  at: PgConnection,
  holder: string,
  { lastsMillis }: LeaseTerms,
  silent: OtherLease | undefined,
) {
  const asked = performance.now()
  yield* query(at, "BEGIN READ WRITE")
  yield* query(at, leaseRow)
  const [row] = yield* query(
    at,
    `UPDATE leases SET former = holder, former_until = until, holder = $1, epoch = epoch + 1, since = ${serverMillis},
      until = ${serverMillis} + ${lastsMillis}
      WHERE until < ${serverMillis} OR holder = $1 OR (epoch = $2 AND transactions = $3)
      RETURNING epoch, former, former_until, guests, transactions`,
    [holder, silent?.epoch ?? null, silent?.writes ?? null],
  )
  yield* query(at, "COMMIT")
  if (row === undefined) return undefined
  const from = String(row[1])
  const takeover: Takeover = { from, to: holder, how: row[2] === 0 ? "handed_over" : "expired" }
  return {
    holder,
    epoch: Number(row[0]),
    deadline: asked + lastsMillis * trustedShare,
    isLost: false,
    guests: row[3],
    count: Number(row[4]),
    takeover: from === "" || from === holder ? undefined : takeover,
  }
})

/** Makes the tables of a new database. Fails where payments cannot rely on it. */
export const usePostgres = Effect.fnUntraced(function* (treasury: string, options: Prepared) {
  const { session } = yield* Connections
  yield* Effect.scoped(Effect.flatMap(session(treasury), (at) => rollbackOnError(at, prepareDatabase(at, options))))
})

/** Milliseconds between two reads of a lease that another process has; longer if the database announces its release. */
const pollMillis = { alone: 300, listening: 1_000 }
/** Longest wait for other leases that this process takes or ends now: what comes after this one blocks their thread. */
export const othersMillis = 1_000
/** A process that stops gives up one lease after the other, at most so far apart. */
const apartMillis = 200

/** A lease that another process has. Each renewal changes `writes`. */
interface OtherLease extends LeaseHolder {
  readonly epoch: number
  readonly writes: number
}

/** The lease, if another process has it. Only reads, so that processes that wait do not lock the row. */
const otherLease = Effect.fnUntraced(function* (at: PgConnection, holder: string) {
  const [row] = yield* query(
    at,
    `SELECT holder, since, epoch, transactions FROM leases WHERE until >= ${serverMillis} AND holder <> $1`,
    [holder],
  )
  if (row === undefined) return undefined
  const [since, epoch, writes] = row.slice(1).map(Number) as [number, number, number]
  return { name: String(row[0]), since, epoch, writes } satisfies OtherLease
})

export const openLease = Effect.fnUntraced(function* (
  treasury: string,
  holder: string,
  { onWait, ...terms }: LeaseTerms & Pick<PostgresOptions, "onWait">,
) {
  const { session, releases, taking } = yield* Connections
  const end = performance.now() + terms.waitMillis
  const inSession = <A>(use: (at: PgConnection) => Effect.Effect<A, SqlError.SqlError>) =>
    withRetry(Effect.scoped(Effect.flatMap(session(treasury), (at) => rollbackOnError(at, use(at)))))
  const take = (silent: OtherLease | undefined) =>
    Effect.suspend(() => {
      taking.treasuries.add(treasury)
      return inSession((at) => takeLease(at, holder, terms, silent))
    }).pipe(Effect.ensuring(Effect.sync(() => taking.treasuries.delete(treasury))))
  const announced = onWait === undefined ? undefined : yield* releases(treasury)
  const wait =
    announced === undefined
      ? Effect.as(realSleep(pollMillis.alone), false)
      : Effect.raceFirst(Effect.as(realSleep(pollMillis.listening), false), Queue.take(announced))
  let isReleased = false
  let seen: OtherLease | undefined
  let seenAt = 0
  for (;;) {
    const other = isReleased ? undefined : yield* inSession((at) => otherLease(at, holder))
    const now = performance.now()
    if (other?.epoch !== seen?.epoch || other?.writes !== seen?.writes) [seen, seenAt] = [other, now]
    // The server's clock may have been set back. A holder that is silent for this long does not rely on its lease.
    const silent = now - seenAt > terms.lastsMillis ? other : undefined
    const held = other === undefined || silent !== undefined ? yield* take(silent) : undefined
    if (held !== undefined) {
      const took = performance.now()
      if (isReleased) taking.last = took
      const areOthersTaken = () => taking.treasuries.size > 0 || performance.now() - taking.last < apartMillis
      while (areOthersTaken() && performance.now() - took < othersMillis) yield* realSleep(10)
      if (onWait !== undefined) yield* onWait(undefined)
      return held satisfies Held
    }
    if (onWait !== undefined) {
      if (other !== undefined) yield* onWait(other)
    } else if (performance.now() > end) {
      const text = `${treasury} is run by another process, ${other?.name}; use that one, or stop it`
      return yield* sqlFailure(new StoreRefusal("busy", text))
    }
    isReleased = yield* wait
  }
}, Effect.scoped)

/** Ends the lease in the transaction of its holder, which writes no more after it. */
export const releaseLease = (client: SqlClient.SqlClient) =>
  client`WITH ended AS (UPDATE leases SET until = 0 RETURNING treasury)
    SELECT pg_notify(${releasesChannel}, treasury) FROM ended`

/** Share of the lease's time after which it is renewed, unless a transaction did. */
const renewalShare = 1 / 3

/** Renews the lease if that is due, after a pause. */
export const renewLease = (client: SqlClient.SqlClient, held: Held, { lastsMillis }: LeaseTerms) =>
  Effect.gen(function* () {
    yield* realSleep(lastsMillis / 12)
    const renewedAt = held.deadline - lastsMillis * trustedShare
    if (performance.now() - renewedAt < lastsMillis * renewalShare) return
    yield* Effect.ignore(client.withTransaction(client`SELECT 1`))
  })

/** The process that runs the treasury, of those that share its store; undefined where none does, or none shares it. */
export const leaseHolder = Effect.gen(function* () {
  const sql = yield* Sql
  if (!isPostgres(sql)) return undefined
  const [row] = yield* sql<{ holder: string; since: number }>`SELECT holder, since FROM leases
    WHERE until >= ${sql.literal(serverMillis)}`
  return row && ({ name: row.holder, since: row.since } satisfies LeaseHolder)
}).pipe(storeError("leaseHolder"))
