import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { SqlClient } from "effect/sql"
import { readReference, referenceText } from "../../src/domain/Reference.ts"
import type { Sql } from "../../src/store/database/Sql.ts"
import { entriesAfter } from "../../src/store/journal/archive.ts"
import { entryHash, genesis, Journal } from "../../src/store/journal/Journal.ts"
import { type Verified, verifyStore } from "../../src/store/journal/verifyStore.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { flow, round } from "../support/Flow.ts"
import { isOnPostgres } from "../support/TestStore.ts"

/** What verifying says after a change that is undone again. */
const verifiedAfter = Effect.fnUntraced(function* (change: Effect.Effect<unknown, unknown, Sql | SqlClient.SqlClient>) {
  const sql = yield* SqlClient.SqlClient
  let found: Verified | undefined
  const exit = yield* Effect.exit(
    sql.withTransaction(
      Effect.gen(function* () {
        yield* change
        found = yield* verifyStore()
        return yield* Effect.fail("undo")
      }),
    ),
  )
  assert.isTrue(Exit.isFailure(exit))
  if (found === undefined) assert.fail(`the change itself failed: ${String(exit)}`)
  return found
})

const statement = (text: string) => Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(text))

/** Who can write the file can write all hashes anew. */
const rechained = Effect.fnUntraced(function* (change: string) {
  const sql = yield* SqlClient.SqlClient
  yield* statement(change)
  let last = genesis
  for (const entry of yield* entriesAfter(0, 1_000)) {
    const row = { ...entry, seq: last.seq + 1, prev: last.hash }
    const hash = entryHash(row)
    yield* sql`UPDATE journal SET seq = ${row.seq}, prev = ${row.prev}, hash = ${hash} WHERE seq = ${entry.seq}`
    last = { seq: row.seq, hash }
  }
})

const triggers = [
  "attempts_signed",
  "attempts_final",
  "attempts_kept",
  "intents_final",
  "intents_kept",
  "intents_decided",
  "intents_approved",
]
const unguarded = Effect.forEach(triggers, (name) => statement(`DROP TRIGGER ${name}`))
const everything = ["evidence", "sends", "watches", "attempts"].map((table) => `DELETE FROM ${table}`)

const changes: ReadonlyArray<readonly [what: string, sql: ReadonlyArray<string>, says: RegExp]> = [
  ["another body", ["UPDATE journal SET body = '{}' WHERE seq = 3"], /^entry 3 \(.*was changed/],
  ["another time", ["UPDATE journal SET at = at + 1 WHERE seq = 3"], /^entry 3 \(.*was changed/],
  ["a time that is none", ["UPDATE journal SET at = 9007199254740991 WHERE seq = 3"], /^entry 3 \(.* ms\) was changed/],
  ["another kind", ["UPDATE journal SET kind = 'x' WHERE seq = 4"], /^entry 4 \(.*was changed/],
  ["another subject", ["UPDATE journal SET subject = 'x' WHERE seq = 4"], /^entry 4 \(.*was changed/],
  ["another treasury", ["UPDATE journal SET treasury = 'x' WHERE seq = 1"], /^entry 1 \(.*was changed/],
  ["another hash", [`UPDATE journal SET hash = '${"0".repeat(64)}' WHERE seq = 5`], /^entry 5 \(.*was changed/],
  [
    "another hash before",
    [`UPDATE journal SET prev = '${"1".repeat(64)}' WHERE seq = 5`],
    /^entry 5 .*hash of entry 4/,
  ],
  ["an entry less", ["DELETE FROM journal WHERE seq = 6"], /^entry 6 is missing: entry 7/],
  ["the first entry less", ["DELETE FROM journal WHERE seq = 1"], /^entry 1 is missing/],
  [
    "the end less",
    ["DELETE FROM journal WHERE seq = (SELECT max(seq) FROM journal)"],
    /^payment .*evidence of attempt 1 has no/,
  ],
  ["a larger amount", ["UPDATE intents SET amount = '999000000'"], /the decision: amount is "999000000"/],
  ["a decision before all time", ["UPDATE intents SET created_at = -5, amount = '1'"], /the decision: amount is "1"/],
  ["a decision after all time", ["UPDATE intents SET created_at = 9007199254740991, fee = '1'"], /fee is "1"/],
  ["another receiver", [`UPDATE intents SET to_key = '${"f".repeat(64)}'`], /the decision: to is/],
  ["another end", ["UPDATE intents SET state = 'failed'"], /the state failed: state is "failed"/],
  ["another end's time", ["UPDATE intents SET settled_at = 5"], /the state confirmed: settledAt is "5"/],
  ["another fee", ["UPDATE intents SET fee = '0'"], /fee is "0", the journal says "150000"/],
  ["another signature", [`UPDATE attempts SET signature = '${"0".repeat(128)}'`], /signed command of attempt 1 has no/],
  ["other bytes", ["UPDATE attempts SET input_data = x'00'"], /signed command of attempt 1 has no journal entry/],
  [
    "another hash of the transaction",
    ["UPDATE attempts SET hash_bare = 'x'"],
    /the work of attempt 1: hashBare is "x"/,
  ],
  ["another end of the attempt", ["UPDATE attempts SET state = 'expired'"], /attempt 1: state is "expired"/],
  ["no attempt", everything, /the journal tells of 1 more: the signed command/],
  ["no payment", [...everything, "DELETE FROM intents"], /the journal has it, the store does not/],
  ["another spend", ["UPDATE spends SET amount = '1'"], /a signature of attempt 1 has no journal entry/],
  ["no spend", ["DELETE FROM spends"], /the journal tells of 1 more: a signature/],
  ["another answer", ["UPDATE sends SET code = 70 WHERE code = 0"], /an answer to a send of attempt 1 has no/],
  ["a send less", ["DELETE FROM sends WHERE n = 2"], /the journal tells of 1 more: a send that began/],
  ["other evidence", ["UPDATE evidence SET kind = 'absent' WHERE kind = 'executed'"], /evidence of attempt 1 has no/],
  ["evidence less", ["DELETE FROM evidence WHERE kind = 'executed'"], /the journal tells of 1 more: evidence/],
]

const forged: ReadonlyArray<readonly [string, string, RegExp]> = [
  [
    "an entry before a signature",
    "UPDATE journal SET at = at + 1 WHERE seq = 1",
    /was signed when entry \d+ had the hash/,
  ],
  ["an entry less before a signature", "DELETE FROM journal WHERE kind = 'decision'", /was signed when entry/],
  ["the amount", `UPDATE journal SET body = replace(body, '150000000', '1') WHERE kind = 'intent'`, /decision: amount/],
  ["the evidence", "DELETE FROM journal WHERE kind = 'evidence'", /evidence of attempt 1 has no journal entry/],
  ["a body that is none", "UPDATE journal SET body = '{' WHERE kind = 'evidence'", /entry \d+ cannot be read/],
]

describe("the journal of a treasury that paid", () => {
  it.effect("is sound, and each change of it is found in place", () =>
    flow(function* (options, sandbox) {
      for (let i = 0; i < 8; i++) yield* round(options, sandbox)
      const head = yield* (yield* Journal).head
      const whole = { problem: null, entries: head.seq, head: head.hash, intents: 1 }
      assert.deepStrictEqual(yield* verifyStore(), whole)
      // In the words of SQLite.
      for (const [what, texts, says] of isOnPostgres ? [] : changes) {
        const change = unguarded.pipe(Effect.andThen(Effect.forEach(texts, statement)))
        assert.match((yield* verifiedAfter(change)).problem ?? "whole", says, what)
      }
      for (const [what, text, says] of forged) {
        assert.match((yield* verifiedAfter(rechained(text))).problem ?? "whole", says, `rewritten: ${what}`)
      }
      assert.deepStrictEqual(yield* verifyStore(), whole, "and nothing was left changed")
    }),
  )

  it.effect("is sound during a payment and after an interrupted send", () =>
    flow(function* (options, sandbox) {
      const outbox = yield* Outbox
      for (let i = 0; i < 6; i++) {
        yield* round(options, sandbox, new Set(["confirm"]))
        assert.isNull((yield* verifyStore()).problem)
      }
      const [live] = yield* outbox.live
      const send = { attempt: live!, gateway: "sandbox", framing: "bare", first: false, txHash: "a" } as const
      yield* outbox.beginSend(send)
      yield* outbox.beginSend({ ...send, attempt: { ...live!, state: "sending", sends: live!.sends + 1 } })
      assert.isNull((yield* verifyStore()).problem)
    }),
  )

  it("reads what a command's reference says of it, and nothing else", () => {
    const said = { installation: "0123abcd", seq: 35, hash: "ab".repeat(32), tag: "0123456789abcdef" }
    const text = referenceText(said)
    assert.strictEqual(text, `c3.0123abcd.z.${"q6ur".repeat(10)}q6s.0123456789abcdef`)
    assert.deepStrictEqual(readReference(text), said)
    assert.deepStrictEqual(readReference(`${text} rent`), said)
    for (const other of ["", "rent", text.slice(0, -1), text.replace("c3.", "c2."), text.replace(".q6ur", ".")]) {
      assert.isUndefined(readReference(other))
    }
  })
})
