import { assert, describe } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import type { RuleMemory } from "../../src/rules/RuleMemory.ts"
import { Database } from "../../src/store/database/Database.ts"
import { Sql } from "../../src/store/database/Sql.ts"
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

describe("the memories of rules", () => {
  const memory: RuleMemory = {
    rule: "keep",
    subject: "hot/USDT",
    episode: 3,
    firingSince: undefined,
    observations: 0,
    lastObservation: 0n,
    state: "inactive",
    reason: "in_band",
    detail: "",
    reasonSince: 1,
    decidedAt: 1,
  }

  it.effect("are those that a round stored, whoever asked for them before it and was answered after it", function* () {
    const sql = yield* Sql
    const isRead = yield* Deferred.make<void>()
    const answer = yield* Deferred.make<void>()
    let isFirst = true
    const late = Effect.suspend(() => {
      if (!isFirst) return Effect.void
      isFirst = false
      return Effect.andThen(Deferred.succeed(isRead, undefined), Deferred.await(answer))
    })
    const delayed = Object.assign(
      (...asked: Parameters<typeof sql>) => {
        const statement = sql(...asked)
        return /FROM rule_states/.test(String(asked[0])) ? Effect.tap(statement, late) : statement
      },
      { ...sql },
    ) as typeof sql
    const { all, byKey, save } = yield* Effect.provideService(RuleStates.make, Sql, delayed)
    const page = yield* Effect.forkChild(all)
    yield* Deferred.await(isRead)
    yield* (yield* Database).write(Effect.andThen(byKey, save(memory, undefined)))
    yield* Deferred.succeed(answer, undefined)
    yield* Fiber.join(page)
    assert.deepStrictEqual(yield* all, [memory])
  })
})
