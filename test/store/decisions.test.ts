import { assert, describe } from "@effect/vitest"
import { SqlClient } from "effect/sql"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { itWith } from "../support/it.ts"
import { testStore } from "../support/TestStore.ts"

const it = itWith(() => testStore().layer())

describe("decisions that were made", () => {
  it.effect("are forgotten once they are too old, however many they are, and no sooner", function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql.withTransaction(sql`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
        INSERT INTO decisions (at, rule, subject, decision, reason, detail)
        SELECT i, 'keep', 'hot/USDT', 'hold', 'in_band', 'x' FROM n`)
    const states = yield* RuleStates
    const range = sql`SELECT min(at) AS first, max(at) AS last FROM decisions`
    yield* states.prune(1)
    assert.deepStrictEqual(yield* range, [{ first: 1, last: 12_000 }])
    yield* states.prune(11_001)
    assert.deepStrictEqual(yield* range, [{ first: 11_001, last: 12_000 }])
    yield* states.prune(20_000)
    assert.deepStrictEqual(yield* range, [{ first: null, last: null }])
  })
})
