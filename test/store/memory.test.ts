import { assert, describe } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { Controls } from "../../src/store/controls/Controls.ts"
import * as Database from "../../src/store/database/Database.ts"
import { Sql } from "../../src/store/database/Sql.ts"
import { tablesWritten } from "../../src/store/database/Writes.ts"
import { itWith } from "../support/it.ts"
import { testStore } from "../support/TestStore.ts"

const it = itWith(() => testStore().layer())

const reasons = Effect.flatMap(Controls, (controls) =>
  Effect.map(controls.halts, (halts) => halts.map((h) => h.reason)),
)

describe("what was read of a table", () => {
  it.effect("is asked of the disk once, and again after each write", function* () {
    const sql = yield* SqlClient.SqlClient
    const { memoryOf } = yield* Database.Database
    let reads = 0
    const count = memoryOf<number>("halts")(
      "count",
      Effect.map(sql`SELECT count(*) AS n FROM halts`, ([row]) => {
        reads++
        return Number(row?.["n"])
      }),
    )
    assert.strictEqual(yield* count, 0)
    assert.strictEqual(yield* count, 0)
    assert.strictEqual(reads, 1)
    yield* sql.withTransaction(sql`INSERT INTO settings (key, value) VALUES ('a', 'b')`)
    assert.strictEqual(yield* count, 0)
    assert.strictEqual(reads, 1, "another table")
    yield* sql.withTransaction(sql`INSERT INTO halts (reason, detail, at) VALUES ('r', 'd', 1)`)
    assert.strictEqual(yield* count, 1)
    yield* sql.withTransaction(
      sql`WITH gone AS (SELECT seq FROM halts) DELETE FROM halts WHERE seq IN (SELECT seq FROM gone)`,
    )
    assert.strictEqual(yield* count, 0, "a write that begins in another way")
    assert.strictEqual(reads, 3)
  })

  it.effect("inside a transaction is read once after each write, and known to nobody else", function* () {
    const database = yield* Database.Database
    const controls = yield* Controls
    let reads = 0
    const seen = database.memoryOf<ReadonlyArray<string>>("halts")(
      "reasons",
      Effect.flatMap(Sql, (sql) => sql`SELECT reason FROM halts`).pipe(
        Effect.map((rows) => {
          reads++
          return rows.map(({ reason }) => String(reason))
        }),
      ),
    )
    const asked = yield* Deferred.make<void>()
    const other = yield* Effect.forkChild(Effect.andThen(Deferred.await(asked), seen))
    yield* Effect.exit(
      database.write(
        Effect.gen(function* () {
          yield* controls.halt("invariant", "x")
          for (let i = 0; i < 3; i++) assert.deepStrictEqual(yield* seen, ["invariant"])
          assert.strictEqual(reads, 1)
          yield* controls.halt("halt_file", "y")
          assert.deepStrictEqual(yield* seen, ["invariant", "halt_file"])
          yield* Deferred.succeed(asked, undefined)
          for (let i = 0; i < 10; i++) yield* Effect.yieldNow
          return yield* Effect.fail("no")
        }),
      ),
    )
    assert.deepStrictEqual(yield* Fiber.join(other), [])
  })

  it.effect("is as before where a transaction went on after a part of it failed", function* () {
    const sql = yield* Sql
    const controls = yield* Controls
    const part = sql.joinTransaction(Effect.andThen(controls.halt("invariant", "x"), Effect.fail("no")))
    const { write } = yield* Database.Database
    assert.isTrue(Exit.hasDies(yield* Effect.exit(write(Effect.exit(part)))))
    assert.deepStrictEqual(yield* reasons, [])
  })

  it.effect("inside a transaction is what it wrote, and is restored after failure", function* () {
    const database = yield* Database.Database
    const controls = yield* Controls
    assert.deepStrictEqual(yield* reasons, [])
    const failed = yield* Effect.exit(
      database.write(
        Effect.gen(function* () {
          yield* controls.halt("invariant", "x")
          assert.deepStrictEqual(yield* reasons, ["invariant"])
          return yield* Effect.fail("no")
        }),
      ),
    )
    assert.isTrue(Exit.isFailure(failed))
    assert.deepStrictEqual(yield* reasons, [])
    yield* database.write(
      Effect.gen(function* () {
        yield* Effect.exit(database.write(Effect.andThen(controls.halt("invariant", "x"), Effect.fail("no"))))
        assert.deepStrictEqual(yield* reasons, [], "of a part that failed")
        yield* controls.halt("halt_file", "y")
      }),
    )
    assert.deepStrictEqual(yield* reasons, ["halt_file"])
  })
})

describe("state in memory that a transaction restores", () => {
  it.effect("is restored for a part that succeeded as well, where the whole failed", function* () {
    const { write } = yield* Database.Database
    const restored: Array<string> = []
    const part = <A, E>(name: string, effect: Effect.Effect<A, E>) =>
      write(
        effect,
        Effect.sync(() => restored.push(name)),
      )
    const inner = part("inner", Effect.void)
    const failed = Effect.exit(part("failed", Effect.fail("no")))
    yield* write(Effect.andThen(inner, failed))
    assert.deepStrictEqual(restored, ["failed"], "the whole is durable")
    restored.length = 0
    yield* Effect.exit(write(Effect.andThen(part("outer", inner), Effect.fail("no"))))
    assert.sameMembers(restored, ["outer", "inner"])
  })
})

describe("the table that a statement writes", () => {
  it("is known for the store's own statements, and unknown otherwise", () => {
    const known: ReadonlyArray<readonly [string, string | undefined]> = [
      ["SELECT 1 FROM halts", undefined],
      ["WITH a AS (SELECT 1) SELECT * FROM a", undefined],
      ['INSERT INTO "halts" ("a") VALUES (?)', "halts"],
      ["INSERT INTO halts(a) VALUES (1)", "halts"],
      ["INSERT OR IGNORE INTO halts (a) VALUES (1)", "halts"],
      ["\n UPDATE halts SET a = 1", "halts"],
      ["UPDATE OR IGNORE halts SET a = 1", "halts"],
      ["UPDATE OR  REPLACE\n halts SET a = 1", "halts"],
      ["DELETE FROM halts WHERE a = 1", "halts"],
      ["BEGIN IMMEDIATE", ""],
      ["ROLLBACK", ""],
      ["ROLLBACK TO SAVEPOINT a", "*"],
      ["DELETE FROM main.halts WHERE a = 1", "*"],
      ["REPLACE INTO halts (a) VALUES (1)", "*"],
      ["WITH a AS (SELECT 1) UPDATE halts SET a = 1", "*"],
      ["ALTER TABLE halts ADD COLUMN a", "*"],
      ["PRAGMA user_version = 4", "*"],
    ]
    for (const [sql, table] of known) assert.strictEqual(tablesWritten(sql), table, sql)
  })
})
