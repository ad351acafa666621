import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { pollWorkAndEpoch } from "../../src/poller/pollNetwork.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { ChainState } from "../../src/store/network/ChainState.ts"
import { alice, type Flow, lives, paid, round, states } from "../support/Flow.ts"

const beyond = (2n ** 64n - 1n).toString()

/** Writes values beyond the bounds of answers, as an earlier program could store them. */
const spoilt: Flow = (options, sandbox) =>
  Effect.gen(function* () {
    yield* round(options, sandbox)
    const sql = yield* SqlClient.SqlClient
    const count = { seq: 1, used: 0, limit: 5, asOf: beyond }
    const epoch = { seq: 1, startAt: beyond, endsAtMillis: 2 ** 53 - 1, told: { [alice]: count } }
    yield* (yield* Settings).set("epoch", JSON.stringify(epoch))
    yield* sql`UPDATE watermarks SET height = ${2n ** 63n - 1n} WHERE name = 'balances'`
    yield* sql`INSERT INTO executions (transfer_id, timestamp, seen_at) VALUES ('before', ${-(2n ** 63n)}, 0)`
  })

const recovers: Flow = (options, sandbox) =>
  Effect.gen(function* () {
    yield* (yield* ChainState).quota(alice)
    for (let i = 0; i < 6; i++) yield* round(options, sandbox)
    assert.deepStrictEqual(yield* states, ["confirmed"])
    assert.strictEqual((yield* paid(sandbox)).length, 1)
    yield* TestClock.adjust("1 minute")
    yield* pollWorkAndEpoch([alice])
    const epoch = yield* (yield* ChainState).epoch
    assert.isBelow(epoch?.endsAtMillis ?? Number.POSITIVE_INFINITY, 2 ** 42)
  })

describe("a store with values beyond the bounds of answers", () => {
  it.effect("forgets them and pays", () => lives([spoilt, recovers]))
})
