import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { make, type PgConnection } from "@effect/sql-pg/PgConnection"
import { Effect, Exit, Redacted, Scope } from "effect"

const role = "cofferer"

/** Address of a server, with the right to make databases and roles; empty where none is found. */
export const serverUrl = (): string => process.env["COFFERER_TEST_POSTGRES"] ?? ""

/** The address of a database on the server, as another user than its own. */
export const urlOf = (server: string, database: string, user = role): string => {
  const url = new URL(server)
  url.pathname = `/${database}`
  url.username = user
  return url.href
}

const asked = (url: string, texts: ReadonlyArray<string>) =>
  Effect.scoped(
    Effect.flatMap(make({ url: Redacted.make(url) }), (at: PgConnection) =>
      Effect.forEach(texts, (text) => at.queryValues(text, [], false)),
    ),
  )

const adminUrl = (database: string) => urlOf(serverUrl(), database, new URL(serverUrl()).username)

/** Runs statements as the server's administrator, past all that holds for a treasury. */
export const asAdmin = (database: string, ...texts: ReadonlyArray<string>) => asked(adminUrl(database), texts)

/** The same for many questions, one after another: one session is kept, and another opened after a failure. */
export const keptAdmin = (database: string) => {
  let kept: { readonly scope: Scope.Closeable; readonly session: PgConnection } | undefined
  const opened = Effect.gen(function* () {
    const scope = Scope.makeUnsafe()
    const session = yield* Scope.provide(make({ url: Redacted.make(adminUrl(database)) }), scope).pipe(
      Effect.onError(() => Scope.close(scope, Exit.void)),
    )
    return { scope, session }
  })
  const close = Effect.suspend(() => {
    const last = kept
    kept = undefined
    return last === undefined ? Effect.void : Scope.close(last.scope, Exit.void)
  })
  const rows = (sql: string) =>
    Effect.gen(function* () {
      kept ??= yield* opened
      return yield* kept.session.queryValues(sql, [], false)
    }).pipe(
      Effect.tapError(() => close),
      Effect.retry({ times: 1 }),
    )
  return { rows, close }
}

/** Databases of this worker that no test uses now. */
const free: Array<string> = []
let made = 0

const fresh = Effect.suspend(() => {
  const name = `test_${process.pid}_${Math.random().toString(36).slice(2, 8)}_${made++}`
  const needRole = `DO $$ BEGIN CREATE ROLE ${role} LOGIN NOSUPERUSER;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN END $$`
  return asAdmin("postgres", needRole, `CREATE DATABASE ${name} OWNER ${role}`).pipe(Effect.as(name))
})

/** Rows one by one, past triggers and foreign keys: to truncate makes new files for each table and index. */
const emptied = (name: string) =>
  asAdmin(
    name,
    `DO $$ DECLARE one regclass; BEGIN
      SET LOCAL session_replication_role = replica;
      FOR one IN SELECT oid FROM pg_class
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'cofferer_schema'
      LOOP EXECUTE format('DELETE FROM %s', one); END LOOP;
      PERFORM setval(oid, 1, false) FROM pg_class WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace;
    END $$`,
  ).pipe(Effect.as(name))

/** An empty database for a test; `giveBack` it when nothing of the test is connected to it any more. */
export const takeDatabase = Effect.suspend(() => {
  const name = free.pop()
  return name === undefined ? fresh : emptied(name)
})

/** An empty database until the scope ends, whose address is in a file of the folder. */
export const databaseIn = Effect.fnUntraced(function* (dir: string) {
  const name = yield* Effect.acquireRelease(takeDatabase, (taken) => Effect.sync(() => giveBack(taken)))
  const file = join(dir, "postgres")
  writeFileSync(file, urlOf(serverUrl(), name), { mode: 0o600 })
  return file
})

export const giveBack = (name: string): void => {
  free.push(name)
}
