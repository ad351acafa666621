import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { Intent } from "../../src/domain/Intent.ts"
import type { Database } from "../../src/store/database/Database.ts"
import { Sql } from "../../src/store/database/Sql.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { verifyChain } from "../../src/store/journal/verifyStore.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import type { SendEnd } from "../../src/store/payments/outboxRows.ts"
import type { Framing } from "../../src/tx/Transaction.ts"
import type { Work } from "../support/it.ts"
import { attemptOf, intentOf } from "../support/Payments.ts"
import { restart } from "../support/TestStore.ts"

type Store = Outbox | Journal | Database | Sql | SqlClient.SqlClient

const hex = (text: string) => text.repeat(64).slice(0, 64)

/** What the outbox promises: twice, late, after a restart, and against whoever writes past it. */
describe("outbox", () => {
  const test = (title: string, first: Work<Store>, second?: Work<Store>) => it.live(title, () => restart(first, second))
  const reserved = Effect.fnUntraced(function* (id: string) {
    const outbox = yield* Outbox
    const intent = intentOf(id)
    yield* outbox.record(intent)
    return yield* outbox.move(intent, "reserved", { detail: "permitted" })
  })

  /** Sends the intent's attempt, and notes the answer. */
  const answered = Effect.fnUntraced(function* (
    { id }: Intent,
    {
      framing,
      first,
      ...answer
    }: { readonly framing: Framing; readonly first: boolean } & Pick<SendEnd, "outcome" | "code" | "state">,
  ) {
    const outbox = yield* Outbox
    const stored = Effect.map(outbox.attempts(id), (attempts) => attempts[0]!)
    const seq = yield* outbox.beginSend({ attempt: yield* stored, gateway: "g", framing, first, txHash: hex("9") })
    const silent = { gateway: "g", data: "", log: "", evidence: "silent", nextAt: 0, nextHeight: 0n } as const
    yield* outbox.endSend({ seq, ...silent, ...answer, attempt: yield* stored })
    return yield* stored
  })

  test(
    "keeps an intent with its amount beyond 64 bits, over a restart",
    Effect.flatMap(Outbox, (outbox) => Effect.asVoid(outbox.record(intentOf("1")))),
    function* () {
      const found = yield* (yield* Outbox).byId(intentOf("1").id)
      assert.deepStrictEqual(Option.getOrUndefined(found), intentOf("1"))
    },
  )

  test("keeps the first of two intents with one id", function* () {
    const outbox = yield* Outbox
    assert.isTrue(yield* outbox.record(intentOf("1")))
    assert.isFalse(yield* outbox.record(intentOf("1", { detail: "another" })))
    assert.strictEqual((yield* outbox.open)[0]?.detail, "below")
  })

  test("refuses moves that the diagram does not have", function* () {
    const outbox = yield* Outbox
    const intent = intentOf("1")
    yield* outbox.record(intent)
    assert.isTrue(Exit.isFailure(yield* Effect.exit(outbox.move(intent, "confirmed", { detail: "" }))))
    const done = yield* outbox.move(intent, "cancelled", { detail: "need gone" })
    assert.isTrue(Exit.isFailure(yield* Effect.exit(outbox.move(done, "reserved", { detail: "" }))))
    assert.strictEqual((yield* outbox.recent(1))[0]?.state, "cancelled")
  })

  test(
    "makes signed bytes durable before they can be sent, and gives them back bit by bit",
    function* () {
      const outbox = yield* Outbox
      const intent = yield* reserved("1")
      yield* outbox.persist(intent, attemptOf(intent, 1))
    },
    function* () {
      const outbox = yield* Outbox
      const [attempt] = yield* outbox.attempts(intentOf("1").id)
      assert.deepStrictEqual(attempt, attemptOf(intentOf("1"), 1))
      assert.strictEqual((yield* outbox.open)[0]?.state, "in_flight")
    },
  )

  test("has at most one possibly-live attempt of an intent, one nonce of a party, one transfer id", function* () {
    const outbox = yield* Outbox
    const intent = yield* reserved("1")
    const other = yield* reserved("2")
    const first = attemptOf(intent, 1)
    yield* outbox.persist(intent, first)
    const refused = [
      outbox.persist(intent, attemptOf(intent, 2)),
      outbox.persist(other, attemptOf(other, 1, { nonce: first.nonce })),
      outbox.persist(other, attemptOf(other, 1, { nonce: 7n, transferId: first.transferId })),
    ]
    for (const persist of refused) assert.isTrue(Exit.isFailure(yield* Effect.exit(persist)))
    assert.strictEqual((yield* outbox.live).length, 1)
    assert.strictEqual((yield* outbox.open).find((i) => i.id === other.id)?.state, "reserved", "undone as a whole")
  })

  test("leaves an attempt that ended while its work was solved or refused as it is, without a failure", function* () {
    const outbox = yield* Outbox
    const intent = yield* reserved("1")
    const attempt = attemptOf(intent, 1)
    yield* outbox.persist(intent, attempt)
    yield* outbox.beginSend({ attempt, gateway: "g", framing: "bare", first: true, txHash: hex("9") })
    const flying = (yield* outbox.open)[0]!
    yield* outbox.settle(flying, (yield* outbox.live)[0]!, "confirmed", "confirmed", { detail: "found" })
    const before = yield* outbox.attempts(intent.id)
    const { seq } = yield* (yield* Journal).head
    yield* outbox.saveWork(attempt, { tid: "t", nonce: 1n, hashBare: hex("7"), hashPrefixed: hex("8") })
    yield* outbox.dropWork(attempt, 5)
    assert.deepStrictEqual(yield* outbox.attempts(intent.id), before)
    assert.strictEqual((yield* (yield* Journal).head).seq, seq, "nothing came of it, so nothing is told")
  })

  test("keeps signed columns, decided payments and final rows as they are, whoever writes", function* () {
    const outbox = yield* Outbox
    const sql = yield* SqlClient.SqlClient
    const intent = yield* reserved("1")
    const attempt = attemptOf(intent, 1)
    yield* outbox.persist(intent, attempt)
    const attacks = [
      sql`UPDATE attempts SET signature = ${"00"}`,
      sql`UPDATE attempts SET nonce = ${"1"}`,
      sql`UPDATE attempts SET anchor_height = anchor_height + 1`,
      sql`DELETE FROM attempts`,
      sql`UPDATE intents SET amount = ${"1"}`,
      sql`UPDATE intents SET to_key = ${hex("f")}`,
      sql`DELETE FROM intents`,
    ]
    const refused = (attack: Effect.Effect<unknown, unknown>) =>
      Effect.map(Effect.exit(sql.withTransaction(attack)), Exit.isFailure)
    for (const attack of attacks) assert.isTrue(yield* refused(attack))
    const seq = yield* outbox.beginSend({ attempt, gateway: "g", framing: "bare", first: true, txHash: hex("9") })
    const flying = (yield* outbox.open)[0]!
    const sending = (yield* outbox.live)[0]!
    yield* outbox.settle(flying, sending, "confirmed", "confirmed", {
      detail: "found",
      fee: 1n,
      settledAt: 2n ** 62n,
    })
    assert.isTrue(yield* refused(sql`UPDATE attempts SET state = 'signed'`))
    assert.isTrue(yield* refused(sql`UPDATE intents SET state = 'reserved'`))
    yield* outbox.endSend({
      seq,
      attempt: sending,
      gateway: "g",
      outcome: "ambiguous",
      code: undefined,
      data: "late",
      log: "",
      evidence: "silent",
      state: "unknown",
      nextAt: 5,
      nextHeight: 5n,
    })
    assert.strictEqual((yield* outbox.attempts(intent.id))[0]?.state, "confirmed", "a late answer changes nothing")
    assert.strictEqual((yield* outbox.sends(intent.id))[0]?.data, "late", "and is kept")
    assert.strictEqual((yield* outbox.recent(1))[0]?.settledAt, 2n ** 62n)
  })

  test("journals every change in the transaction of the change", function* () {
    const outbox = yield* Outbox
    const journal = yield* Journal
    const sql = yield* SqlClient.SqlClient
    const intent = yield* reserved("1")
    const before = yield* journal.head
    yield* Effect.exit(outbox.persist(intent, attemptOf(intent, 1, { signature: undefined as never })))
    assert.deepStrictEqual(yield* journal.head, before, "what was undone is not told of")
    yield* outbox.persist(intent, attemptOf(intent, 1))
    assert.isAbove((yield* journal.head).seq, before.seq)
    assert.isNull((yield* verifyChain()).problem)
    yield* sql.withTransaction(sql`UPDATE journal SET body = ${"{}"} WHERE seq = 2`)
    assert.match((yield* verifyChain()).problem ?? "", /^entry 2 .* was changed/)
    yield* sql.withTransaction(sql`DELETE FROM journal WHERE seq = 1`)
    assert.match((yield* verifyChain()).problem ?? "", /^entry 1 is missing/)
  })

  test("chains the journal's entries past a part that was taken back", function* () {
    const { append } = yield* Journal
    const sql = yield* Sql
    const entry = (subject: string) => ({ kind: "halt", subject, body: {} }) as const
    const part = sql.withTransaction(Effect.andThen(append(entry("b"), entry("c")), Effect.fail("taken back")))
    yield* sql.withTransaction(
      Effect.andThen(append(entry("a")), Effect.andThen(Effect.exit(part), append(entry("d"), entry("e")))),
    )
    yield* sql.withTransaction(append(entry("f")))
    assert.strictEqual((yield* (yield* Journal).head).seq, 4)
    assert.isNull((yield* verifyChain()).problem)
  })

  test("counts definite answers to first sends alone", function* () {
    const outbox = yield* Outbox
    const outcomes = ["framing", "accepted", "ambiguous", "refused"] as const
    for (const [i, outcome] of outcomes.entries()) {
      const intent = yield* reserved(String(i + 1))
      const attempt = attemptOf(intent, 1, { nonce: BigInt(i + 1) })
      yield* outbox.persist(intent, attempt)
      const state = outcome === "ambiguous" ? "unknown" : outcome === "accepted" ? "accepted" : "refused"
      for (const first of [true, false]) yield* answered(intent, { framing: "bare", first, outcome, code: 0, state })
    }
    assert.deepStrictEqual(yield* outbox.acceptance(0), { accepted: 1, refused: 1, lost: 1 })
  })

  test("names the wire forms that were not decoded since the last one that was", function* () {
    const outbox = yield* Outbox
    const refusedBy = Effect.fnUntraced(function* (id: string, framing: Framing, code: number) {
      const intent = yield* reserved(id)
      yield* outbox.persist(intent, attemptOf(intent, 1, { nonce: BigInt(id) }))
      return {
        intent,
        attempt: yield* answered(intent, { framing, first: true, outcome: "refused", code, state: "refused" }),
      }
    })
    const undecoded = Effect.map(outbox.undecoded(0), (forms) => [...forms].sort())
    const first = yield* refusedBy("1", "prefixed", 60)
    assert.deepStrictEqual(yield* undecoded, ["prefixed"])
    const second = yield* refusedBy("2", "bare", 60)
    assert.deepStrictEqual(yield* undecoded, ["bare", "prefixed"])
    yield* outbox.settle(first.intent, first.attempt, "confirmed", "confirmed", { detail: "" })
    assert.deepStrictEqual(yield* undecoded, ["bare"], "the ledger executed the older one")
    yield* outbox.settle(second.intent, second.attempt, "confirmed", "confirmed", { detail: "" })
    assert.deepStrictEqual(yield* undecoded, [])
    yield* refusedBy("3", "bare", 60)
    yield* refusedBy("4", "prefixed", 51)
    assert.deepStrictEqual(yield* undecoded, [], "a mempool decoded what it refused for another reason")
  })
})
