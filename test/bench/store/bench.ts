import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync, type SQLInputValue } from "node:sqlite"
// @ts-expect-error: the package brings no types.
import BetterSqlite from "better-sqlite3"
import { Effect, Layer, ManagedRuntime } from "effect"
import { SqlClient } from "effect/sql"
import type { IntentId } from "../../../src/domain/Hex.ts"
import * as Database from "../../../src/store/database/Database.ts"
import { Settings } from "../../../src/store/database/Settings.ts"
import { Journal } from "../../../src/store/journal/Journal.ts"
import { Outbox } from "../../../src/store/payments/Outbox.ts"
import { intentInsert } from "../../../src/store/payments/outboxRows.ts"
import { intentOf } from "../../support/Payments.ts"
import { type Benchmark, besidePeers } from "../Benchmark.ts"

let count = 0
/** A payment that no variant has recorded yet. */
const nextIntent = () => {
  const n = String(count++).padStart(64, "0")
  return intentOf(n, { id: n as IntentId })
}

interface Raw {
  readonly exec: (sql: string) => unknown
  readonly prepare: (sql: string) => { readonly run: (...values: ReadonlyArray<SQLInputValue>) => unknown }
}

/** The same two rows in the same tables and one commit, by a driver alone: no hash chain, no checks, no fibers. */
const rawRecorder = (db: Raw, schema: ReadonlyArray<string>) => {
  db.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
  for (const statement of schema) db.exec(statement)
  const columns = Object.keys(intentInsert(nextIntent()))
  const intents = db.prepare(
    `INSERT INTO intents (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
  )
  const journal = db.prepare("INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
  let seq = 0
  return (_: number, times: number) => {
    for (let n = 0; n < times; n++) {
      const row = intentInsert(nextIntent())
      db.exec("BEGIN IMMEDIATE")
      intents.run(...Object.values(row))
      journal.run(++seq, row.created_at, row.treasury, "intent", row.id, JSON.stringify(row), row.id, row.id)
      db.exec("COMMIT")
    }
  }
}

const run: Benchmark["run"] = async () => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-bench-"))
  const layer = Outbox.layerNoDeps.pipe(
    Layer.provideMerge(Journal.layer("bench")),
    Layer.provideMerge(Settings.layer),
    Layer.provideMerge(Database.layer({ filename: join(dir, "own.db") })),
  )
  const store = ManagedRuntime.make(layer)
  try {
    const tables = Effect.flatMap(
      SqlClient.SqlClient,
      (sql) => sql`SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND tbl_name IN ('intents', 'journal')`,
    )
    const schema = (await store.runPromise(tables)).map((row) => String(row["sql"]))
    const outbox = await store.runPromise(Outbox)
    const variants = [
      {
        name: "store payments recorded",
        batch: 16,
        work: async (_: number, times: number) => {
          for (let n = 0; n < times; n++) await store.runPromise(outbox.record(nextIntent()))
        },
      },
      { name: "node:sqlite", batch: 16, work: rawRecorder(new DatabaseSync(join(dir, "node.db")), schema) },
      { name: "better-sqlite3", batch: 16, work: rawRecorder(new BetterSqlite(join(dir, "better.db")), schema) },
    ] as const
    return await besidePeers(variants, { unit: "per second" })
  } finally {
    await store.dispose()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** A decided payment made durable, with its entry in the journal. */
export const store: Benchmark = {
  name: "store",
  about: "decided payments made durable, each with its journal entry in one commit",
  limits:
    "The raw drivers write the same rows to the same tables. Ours reads the head of the journal, hashes the entry into " +
    "its chain, and runs each statement as an effect. On a slow disk the commit is what counts for all of them.",
  run,
}
