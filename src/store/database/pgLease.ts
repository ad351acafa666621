import type { PgConnection } from "@effect/sql-pg/PgConnection"
import { Effect } from "effect"
import { ask, Connections, closing, failure, type LeaseTerms, refused } from "./Connections.ts"
import { pgDefinitions } from "./pgSchema.ts"
import { otherBuild, schemaVersion } from "./schema.ts"
import { again, realSleep, StoreRefusal } from "./sqlStates.ts"

/** The holder believes in its lease for this part of its time: the rest is for an answer on its way. */
export const trusted = 0.8

/** A lease as its holder knows it. */
export interface Held {
  readonly holder: string
  readonly epoch: number
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

const prepareDatabase = Effect.fnUntraced(function* (at: PgConnection) {
  const problem = serverProblem(
    yield* ask(
      at,
      `SELECT current_setting('server_version_num')::bigint, current_setting('fsync'),
        current_setting('synchronous_commit'), current_setting('full_page_writes'), pg_is_in_recovery(),
        (SELECT bool_or(rolsuper OR rolbypassrls) FROM pg_roles WHERE rolname IN (current_user, session_user))`,
    ),
  )
  if (problem !== undefined) return yield* refused(problem)
  yield* ask(at, "BEGIN READ WRITE")
  // One process makes the tables, others wait for it.
  yield* ask(at, "SELECT pg_advisory_xact_lock(hashtext('cofferer'))")
  const [[isThere] = []] = yield* ask(at, "SELECT to_regclass('cofferer_schema') IS NOT NULL")
  if (isThere === 1) {
    const [[version] = []] = yield* ask(at, "SELECT version FROM cofferer_schema")
    if (version !== schemaVersion) return yield* otherBuild(version)
  } else {
    yield* Effect.forEach(pgDefinitions, (text) => ask(at, text), { discard: true })
    yield* ask(at, "CREATE TABLE cofferer_schema (version BIGINT NOT NULL)")
    yield* ask(at, "INSERT INTO cofferer_schema VALUES ($1)", [schemaVersion])
  }
  yield* ask(at, "COMMIT")
})

/** Takes the lease: a new epoch, in which no former holder can write. Undefined while another process has it. */
const takeLease = Effect.fnUntraced(function* (at: PgConnection, holder: string, { lastsMillis }: LeaseTerms) {
  const asked = performance.now()
  yield* ask(at, "BEGIN READ WRITE")
  // A row that is there is not inserted: that would wait for the holder's transaction, and the UPDATE come too late.
  yield* ask(
    at,
    `INSERT INTO leases (holder, epoch, until, writes) SELECT '', 0, 0, 0
      WHERE NOT EXISTS (SELECT 1 FROM leases) ON CONFLICT (treasury) DO NOTHING`,
  )
  const [row] = yield* ask(
    at,
    `UPDATE leases SET holder = $1, epoch = epoch + 1, until = ${serverMillis} + ${lastsMillis}
      WHERE until < ${serverMillis} OR holder = $1 RETURNING epoch`,
    [holder],
  )
  yield* ask(at, "COMMIT")
  if (row === undefined) return undefined
  return { holder, epoch: Number(row[0]), deadline: asked + lastsMillis * trusted, isLost: false }
})

/** Makes the tables of a new database. Fails where payments cannot rely on it. */
export const usePostgres = Effect.fnUntraced(function* (treasury: string) {
  const { session } = yield* Connections
  yield* Effect.scoped(Effect.flatMap(session(treasury), (at) => closing(at, prepareDatabase(at))))
})

export const openLease = Effect.fnUntraced(function* (treasury: string, holder: string, terms: LeaseTerms) {
  const { session } = yield* Connections
  const end = performance.now() + terms.waitMillis
  for (;;) {
    const held: Held | undefined = yield* again(
      Effect.scoped(Effect.flatMap(session(treasury), (at) => closing(at, takeLease(at, holder, terms)))),
    )
    if (held !== undefined) return held
    if (performance.now() > end) {
      const other = yield* Effect.scoped(
        Effect.flatMap(session(treasury), (at) => ask(at, "SELECT holder FROM leases")),
      )
      return yield* failure(
        new StoreRefusal("busy", `${treasury} is run by another process, ${other[0]?.[0]}; use that one, or stop it`),
      )
    }
    yield* realSleep(Math.min(250, terms.waitMillis))
  }
})

export const releaseLease = (treasury: string, held: Held) =>
  Effect.gen(function* () {
    const at = yield* (yield* Connections).session(treasury)
    yield* ask(at, "BEGIN READ WRITE")
    yield* ask(at, "UPDATE leases SET until = 0 WHERE holder = $1 AND epoch = $2", [held.holder, held.epoch])
    yield* ask(at, "COMMIT")
  }).pipe(Effect.scoped, Effect.ignore)
