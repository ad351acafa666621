import { randomBytes } from "node:crypto"
import { existsSync } from "node:fs"
import { Effect, Layer } from "effect"
import { Reactivity } from "effect/reactivity"
import { make } from "./NodeSqlite.ts"
import { Sql } from "./Sql.ts"
import { StoreError } from "./StoreError.ts"

interface Trial {
  readonly filename: string
  /** True if a missing file is an error and not created: its disk may not be mounted. */
  readonly mustExist: boolean
  /** True if SQLite checks the whole file first. */
  readonly isDoubted: boolean
}

/** Opens the store, writes to it what a start needs, and closes it. Fails where it cannot be relied on. */
export const tryStore = ({ filename, mustExist, isDoubted }: Trial) =>
  Effect.gen(function* () {
    if (mustExist && !existsSync(filename)) return yield* failed(`${filename} is gone`)
    const sql = yield* make({ filename })
    if (isDoubted) {
      const [row] = yield* sql<{ quick_check: string }>`PRAGMA quick_check(1)`
      if (row?.quick_check !== "ok") return yield* failed(`SQLite's check says: ${row?.quick_check}`)
    }
    // A new file has no tables yet: the start creates them, which shows if it can be written.
    if ((yield* sql`SELECT 1 FROM sqlite_master WHERE name = 'settings'`).length === 0) return
    yield* sql`INSERT INTO settings (key, value) VALUES ('writable', hex(randomblob(131072)))
      ON CONFLICT (key) DO UPDATE SET value = excluded.value`
    yield* sql`UPDATE settings SET value = '' WHERE key = 'writable'`
  }).pipe(
    Effect.scoped,
    Effect.provide(Layer.fresh(Reactivity.layer)),
    Effect.catchTag("SqlError", (cause) => new StoreError({ operation: "open", cause })),
  )

/**
 * Writes to PostgreSQL's store more than its tables have room for: a server whose disk is full still takes small
 * changes.
 */
export const writeRoom = Effect.gen(function* () {
  const sql = yield* Sql
  const value = randomBytes(131_072).toString("hex")
  const written = sql.write`INSERT INTO settings ${sql.insert({ key: "writable", value })}
    ON CONFLICT (key) DO UPDATE SET value = excluded.value`
  yield* sql.change("open")(written)
  yield* sql.change("open")(sql.write`UPDATE settings SET value = '' WHERE key = 'writable'`)
})

const failed = (cause: string) => new StoreError({ operation: "open", cause })
