import { assert, describe } from "@effect/vitest"
import { Effect, Result } from "effect"
import { SqlClient } from "effect/sql"
import { Controls } from "../../src/store/controls/Controls.ts"
import { haltingOnStoreErrors, isUnwritable } from "../../src/store/database/storeErrors.ts"
import { flow, paid, pass, round, states } from "../support/Flow.ts"
import { it } from "../support/it.ts"

/** SQLite's own limit: the next page is refused with SQLITE_FULL, once the file got `spare` more of them. */
const fill = Effect.fnUntraced(function* (spare: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("CREATE TABLE ballast (x BLOB)")
  for (let free = 1; free > 0; ) {
    free = (yield* sql.unsafe<{ freelist_count: number }>("PRAGMA freelist_count"))[0]?.freelist_count ?? 0
    if (free > 0) yield* sql.unsafe("INSERT INTO ballast VALUES (zeroblob(4000))")
  }
  const pages = yield* sql.unsafe<{ page_count: number }>("PRAGMA page_count")
  yield* sql.unsafe(`PRAGMA max_page_count = ${(pages[0]?.page_count ?? 0) + spare}`)
})

const empty = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("PRAGMA max_page_count = 1073741823")
})

/** Rounds, each of which may fail; returns whether the store took no writes in one. */
const rounds = Effect.fnUntraced(function* (count: number, ...args: Parameters<typeof round>) {
  let wasFull = false
  for (let n = 0; n < count; n++) {
    const ended = yield* Effect.result(haltingOnStoreErrors(round(...args)))
    wasFull ||= Result.isFailure(ended) && isUnwritable(ended.failure)
  }
  return wasFull
})

/** Whether the disk got full before the payment was over. */
const payWith = Effect.fnUntraced(function* (spare: number) {
  let wasFull = false
  yield* flow(function* (options, sandbox) {
    yield* fill(spare)
    wasFull = yield* rounds(12, options, sandbox)
    const sql = yield* SqlClient.SqlClient
    const known = new Set((yield* sql<{ tx_hash: string }>`SELECT tx_hash FROM sends`).map((row) => row.tx_hash))
    for (const { hash } of yield* paid(sandbox)) assert.isTrue(known.has(hash), "its send is stored")
    yield* empty
    assert.deepStrictEqual(yield* (yield* Controls).halts, [], "nothing has to be ended")
    yield* rounds(8, options, sandbox)
    yield* pass(sandbox, 22, rounds(1, options, sandbox))
    assert.deepStrictEqual(yield* states, ["confirmed"])
    assert.lengthOf(yield* paid(sandbox), 1)
  })
  return wasFull
})

describe("a store that is full", () => {
  it.effect("sends nothing unsaved, and pays once it has room", function* () {
    const full = yield* Effect.forEach([0, 1, 2, 3, 4, 100], payWith)
    assert.isAtLeast(full.filter((was) => was).length, 2)
    assert.isFalse(full.at(-1), "with room enough nothing happens")
  })
})
