import { statSync } from "node:fs"
import { Effect } from "effect"
import { Settings } from "./Settings.ts"
import { isPostgres, Sql } from "./Sql.ts"
import { StoreError, storeError } from "./StoreError.ts"

/** Setting with the identity of the store's file or database, by which a copy is known. */
export const storeFileKey = "storeFile"
/** Prefix of that setting in a store that was moved: its first start counts as that of a restored one. */
export const movedFrom = "moved from "

/** Identity of a file, which no copy shares. Birth is 0 if the file system reports no creation time. */
interface FileIdentity {
  readonly inode: bigint
  /** Unix nanoseconds. */
  readonly birth: bigint
}

const identityOf = (filename: string): Effect.Effect<FileIdentity, StoreError> =>
  Effect.try({
    try: () => {
      const { ino, birthtimeNs, ctimeNs } = statSync(filename, { bigint: true })
      // A file system without birth times reports that of the last change instead.
      return { inode: ino, birth: birthtimeNs === ctimeNs ? 0n : birthtimeNs }
    },
    catch: (cause) => new StoreError({ operation: "StoreFile", cause }),
  })

const text = ({ inode, birth }: FileIdentity): string => `${inode}:${birth}`

/**
 * Identity of a PostgreSQL database, which no restored one shares: cluster, timeline, database and table. A promoted
 * standby begins a timeline, and may lack the last commits. The timeline is read from the WAL: the control file names
 * the old one until the first checkpoint.
 */
const postgresIdentity = Effect.fnUntraced(function* () {
  const sql = yield* Sql
  const [row] = yield* sql<{ identity: string }>`SELECT concat_ws(':', system_identifier,
      ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int,
      (SELECT oid FROM pg_database WHERE datname = current_database()), 'journal'::regclass::oid) AS identity
    FROM pg_control_system()`
  return row?.identity ?? ""
}, storeError("StoreFile"))

/**
 * Reason why the database is a copy of the one that was written last; undefined if it is the same. Remembers the
 * identity at the first call.
 */
export const storeFileProblem = Effect.fn("StoreFile.problem")(function* (filename: string) {
  const settings = yield* Settings
  const written = (yield* settings.get(storeFileKey)) ?? ""
  if (written.startsWith(movedFrom)) return `the store was ${written}`
  if (isPostgres(yield* Sql)) {
    const found = yield* postgresIdentity()
    const known = yield* settings.getOrMake(storeFileKey, Effect.succeed(found))
    return known === found ? undefined : `the database was restored, or its server replaced (is ${found}, was ${known})`
  }
  const now = yield* identityOf(filename)
  const stored = /^([0-9]+):([0-9]+)$/.exec(yield* settings.getOrMake(storeFileKey, Effect.succeed(text(now))))
  if (stored === null) return "its own record of its database file cannot be read"
  const [inode, birth] = [BigInt(stored[1]!), BigInt(stored[2]!)]
  if (inode !== now.inode) return "the database file is another one: its inode changed"
  // A birth of 0 differs as well: a file that was never changed since its birth was never written by this store.
  if (birth !== now.birth && birth !== 0n) return "the database file was created again since"
  if (birth === 0n && now.birth !== 0n) yield* settings.set(storeFileKey, text(now))
  return undefined
})

/** Remembers this file, or database, as the store's own. */
export const rememberStoreFile = Effect.fn("StoreFile.remember")(function* (filename: string) {
  const settings = yield* Settings
  const isOf = isPostgres(yield* Sql) ? yield* postgresIdentity() : text(yield* identityOf(filename))
  yield* settings.set(storeFileKey, isOf)
})
