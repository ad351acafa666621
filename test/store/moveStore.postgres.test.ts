import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import type { StoreAccess } from "../../src/store/database/Connections.ts"
import * as Database from "../../src/store/database/Database.ts"
import { moveStore } from "../../src/store/database/moveStore.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { Sql } from "../../src/store/database/Sql.ts"
import { storeFileProblem } from "../../src/store/database/StoreFile.ts"
import { definitions } from "../../src/store/database/schema.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { it } from "../support/it.ts"
import { asAdmin, giveBack, serverUrl, takeDatabase, urlOf } from "../support/Postgres.ts"
import { tempDir } from "../support/tempDir.ts"

const treasury = "harbor"
const tables = definitions.flatMap((text) => /^CREATE TABLE (\w+)/.exec(text)?.[1] ?? [])

type Place = { readonly filename: string } | { readonly name: string }
const placeOf = (place: Place) => ("name" in place ? place.name : place.filename)
const layerOf = (place: Place, access: StoreAccess) =>
  Layer.fresh(
    "name" in place
      ? Database.layer({
          treasury,
          postgres: { url: Redacted.make(urlOf(serverUrl(), place.name)), access, lease: { waitMillis: 0 } },
        })
      : Database.layer({ ...place, access }),
  )
const inStore = <A, E, R>(place: Place, effect: Effect.Effect<A, E, R>, access: StoreAccess = "holder") =>
  Effect.provide(effect, layerOf(place, access))
const opened = (place: Place) =>
  Effect.map(Layer.build(layerOf(place, "mover")), (context) => ({
    sql: Context.get(context, Sql),
    place: placeOf(place),
  }))
const move = (from: Place, to: Place) =>
  Effect.scoped(
    Effect.flatMap(Effect.all([opened(from), opened(to)]), ([source, target]) => moveStore(treasury, source, target)),
  )
/** Why a process that may write does not open it; undefined where it does. */
const refusal = (place: Place, access: StoreAccess = "holder") =>
  inStore(
    place,
    Effect.flatMap(Database.Database, ({ write }) => write(Effect.void)),
    access,
  ).pipe(
    Effect.as(undefined),
    Effect.catch(({ message }) => Effect.succeed(message)),
  )

/** Each table's rows, in some order that both kinds of store have. */
const dump = Effect.gen(function* () {
  const sql = yield* Sql
  const found: Record<string, ReadonlyArray<string>> = {}
  for (const table of tables) {
    const rows = yield* sql`SELECT * FROM ${sql.literal(table)}`
    const texts = rows.map((row) =>
      JSON.stringify(
        Object.entries(row)
          .filter(([name]) => name !== "treasury" || table === "intents" || table === "journal")
          .map(([name, value]) => [name, value instanceof Uint8Array ? Buffer.from(value).toString("hex") : `${value}`])
          .toSorted(),
      ),
    )
    found[table] = texts.filter((text) => !/storeFile|"moved"/.test(text)).toSorted()
  }
  return found
})

/** Rows in each table, one of them beyond a page; numbers no double holds, and one that was given and deleted. */
const fill = Effect.gen(function* () {
  const sql = yield* Sql
  const journal = yield* Journal
  const rowsOf = (table: string) => (table === "changes" ? 600 : 2)
  yield* sql.withTransaction(
    Effect.gen(function* () {
      for (const table of tables.filter((name) => name !== "journal")) {
        const columns = yield* sql<{ name: string; type: string }>`SELECT name, type FROM pragma_table_info(${table})`
        for (let n = 1; n <= rowsOf(table); n++) {
          const valueOf = ({ name, type }: { name: string; type: string }) => {
            if (name === "treasury") return treasury
            if (type === "BLOB") return new Uint8Array([0, 255, n])
            if (type === "INTEGER") return /timestamp|created_at/.test(name) ? 2n ** 60n + BigInt(n) : n
            return String(n)
          }
          const values = columns.map(valueOf)
          const marks = columns.map(() => "?").join(", ")
          yield* sql.writeValues(`INSERT INTO ${table} VALUES (${marks})`, values)
        }
      }
      for (const subject of ["1", "ü\n", "3"]) yield* journal.append({ kind: "intent", subject, body: { subject } })
      yield* sql.write`INSERT INTO halts (reason, detail, at) VALUES ('x', 'y', 1)`
      yield* sql.write`DELETE FROM halts WHERE seq = 3`
    }),
  )
}).pipe(Effect.provide(Layer.provideMerge(Journal.layer(treasury), Settings.layer)))

const nextNumber = Effect.flatMap(Sql, (sql) =>
  sql.withTransaction(sql.write`INSERT INTO halts (reason, detail, at) VALUES ('x', 'y', 1) RETURNING seq`),
)

const database = Effect.map(
  Effect.acquireRelease(takeDatabase, (name) => Effect.sync(() => giveBack(name))),
  (name) => ({ name }),
)

describe("a store that is moved", () => {
  const dir = tempDir("move")
  let files = 0
  const file = () => ({ filename: join(dir, `${files++}.db`) })
  const filled = Effect.suspend(() => {
    const place = file()
    return Effect.as(inStore(place, fill), place)
  })

  it.live("has the same rows in PostgreSQL and back, and goes on with its numbers", function* () {
    const [first, second, third] = [yield* filled, yield* database, file()]
    const before = yield* inStore(first, dump)
    for (const table of tables) assert.isAbove(before[table]?.length ?? 0, 1, table)
    const moved = yield* move(first, second)
    assert.deepInclude(moved, { tables: tables.length, entries: 3, open: 2 })
    assert.deepStrictEqual(yield* inStore(second, dump), before)
    const planned = yield* asAdmin(second.name, "SELECT DISTINCT tablename FROM pg_stats WHERE schemaname = 'public'")
    assert.includeMembers(planned.flat(2), tables)
    const number = Number((yield* inStore(second, nextNumber))[0]?.["seq"])
    assert.isAbove(number, 3)
    const later = yield* inStore(second, dump)
    yield* move(second, third)
    assert.deepStrictEqual(yield* inStore(third, dump), later)
    assert.deepStrictEqual(yield* inStore(third, nextNumber), [{ seq: number + 1 }])
    for (const gone of [first, second]) {
      assert.match((yield* refusal(gone)) ?? "", /this treasury was moved to .*; (set|remove) "database"/)
      yield* inStore(gone, dump, "reader")
    }
    assert.match((yield* refusal(second, "guest")) ?? "", /this treasury was moved/)
    assert.isUndefined(yield* refusal(third))
    const problem = Effect.provide(storeFileProblem(third.filename), Settings.layer)
    assert.match((yield* inStore(third, problem)) ?? "", /^the store was moved from/)
  })

  it.live("is usable until its copy is whole, which is refused until then", function* () {
    const [source, target] = [yield* filled, yield* database]
    yield* Effect.scoped(opened(target))
    yield* asAdmin(target.name, "ALTER TABLE terms ADD CONSTRAINT never CHECK (seq < 2)")
    assert.match((yield* Effect.flip(move(source, target))).message, /never/)
    assert.isUndefined(yield* refusal(source))
    assert.match((yield* refusal(target)) ?? "", /a move from .* has not ended; "cofferer migrate" ends it/)
    yield* asAdmin(target.name, "ALTER TABLE terms DROP CONSTRAINT never")
    yield* inStore(source, nextNumber)
    // Between the two commits: the source is marked, the copy is not there.
    const mark = (place: Place, text: string) =>
      inStore(
        place,
        Effect.flatMap(Sql, (sql) =>
          sql.withTransaction(
            sql.write`INSERT INTO settings ${sql.insert({ key: "moved", value: text })}
              ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
          ),
        ),
        "mover",
      )
    yield* mark(source, "a1 this treasury was moved")
    assert.match((yield* Effect.flip(move(source, target))).message, /this treasury was moved/, "by another migration")
    yield* mark(target, "a1 a move began")
    for (const place of [source, target]) assert.isDefined(yield* refusal(place))
    yield* move(source, target)
    assert.isUndefined(yield* refusal(target))
    assert.isDefined(yield* refusal(source))
    assert.match((yield* Effect.flip(move(source, target))).message, /this treasury was moved/)
  })

  it.live("stays halted also without the HALT file, which is left behind", function* () {
    const [source, target] = [yield* filled, yield* database]
    const halt = (ended: string) =>
      `INSERT INTO halts (reason, detail, at, ended_at) VALUES ('halt_file', 'ann: stop', 1, ${ended})`
    yield* inStore(
      source,
      Effect.flatMap(Sql, (sql) =>
        sql.withTransaction(Effect.andThen(sql.writeValues(halt("NULL"), []), sql.writeValues(halt("2"), []))),
      ),
    )
    yield* move(source, target)
    const halts = Effect.flatMap(Sql, (sql) => sql`SELECT reason FROM halts WHERE detail = 'ann: stop' ORDER BY seq`)
    assert.deepStrictEqual(yield* inStore(target, halts), [{ reason: "operator" }, { reason: "halt_file" }])
  })

  it.live("stays where it is if anything is wrong", function* () {
    const used = yield* database
    yield* inStore(used, nextNumber)
    const broken = yield* filled
    yield* inStore(
      broken,
      Effect.flatMap(Sql, (sql) => sql.withTransaction(sql.write`UPDATE journal SET body = '{}' WHERE seq = 2`)),
    )
    const renamed = yield* filled
    yield* inStore(
      renamed,
      Effect.flatMap(Effect.all([Sql, Journal]), ([sql, journal]) =>
        sql.withTransaction(journal.append({ kind: "intent", subject: "4", body: {} })),
      ).pipe(Effect.provide(Layer.provideMerge(Journal.layer("quay"), Settings.layer))),
    )
    const held = yield* database
    const holder = yield* Layer.build(layerOf(held, "holder"))
    const open = yield* filled
    yield* Layer.build(layerOf(open, "holder"))
    const cases: ReadonlyArray<readonly [from: Place, to: Place, why: RegExp]> = [
      [yield* filled, used, /is not empty: halts has rows/],
      [broken, yield* database, /the journal is broken, nothing was moved: entry 2/],
      [file(), yield* database, /has no journal of this treasury/],
      [renamed, yield* database, /the journal has entries of quay: a renamed treasury is not moved/],
      [yield* filled, held, /is run by another process/],
      [open, yield* database, /is in use by another process; restart or stop it/],
    ]
    for (const [from, to, why] of cases) {
      assert.match((yield* Effect.flip(move(from, to))).message, why)
      if (to !== held) assert.isUndefined(yield* refusal(to), "a daemon may begin there")
    }
    assert.isUndefined(yield* refusal(broken))
    yield* Effect.provideContext(
      Effect.flatMap(Database.Database, ({ write }) => write(Effect.void)),
      holder,
    )
  })
})
