import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import type { Attempt } from "../../src/domain/Attempt.ts"
import type { PublicKey } from "../../src/domain/Hex.ts"
import type { Intent } from "../../src/domain/Intent.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { LedgerAudit } from "../../src/store/payments/LedgerAudit.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { effectOf, type Work } from "../support/it.ts"
import { attemptOf, intentOf } from "../support/Payments.ts"
import { isOnPostgres, testStore } from "../support/TestStore.ts"

const start = 1_800_000_000_000

const withStore = Effect.fnUntraced(function* (use: Work<LedgerAudit | Observations | Outbox | SqlClient.SqlClient>) {
  const store = testStore()
  yield* TestClock.setTime(start)
  yield* effectOf(use).pipe(Effect.provide(store.layer()), Effect.ensuring(Effect.sync(store.remove)))
})

const reserved = Effect.fnUntraced(function* (intent: Intent) {
  const outbox = yield* Outbox
  yield* outbox.record(intent)
  return yield* outbox.move(intent, "reserved", { detail: "permitted" })
})

let nonce = 1n
/** Its next attempt, signed and stored. */
const signed = Effect.fnUntraced(function* (intent: Intent, k: number, more: Partial<Attempt> = {}) {
  const attempt = attemptOf(intent, k, { nonce: nonce++, ...more })
  yield* (yield* Outbox).persist(intent, attempt)
  return attempt
})

const sending = Effect.fnUntraced(function* (attempt: Attempt, first = true) {
  const outbox = yield* Outbox
  const seq = yield* outbox.beginSend({ attempt, gateway: "g", framing: "bare", first, txHash: "" })
  return { seq, attempt: { ...attempt, state: "sending" as const, sends: attempt.sends + 1 } }
})

/** Two payments: of each an attempt that ended, and a live one. */
const twoPayments = Effect.gen(function* () {
  const outbox = yield* Outbox
  const live: Array<Attempt> = []
  const over: Array<Attempt> = []
  for (const id of ["1", "2"]) {
    const intent = yield* reserved(intentOf(id))
    const first = yield* signed(intent, 1)
    const inFlight = { ...intent, state: "in_flight" as const }
    yield* outbox.settle(inFlight, first, "expired", "reserved", { detail: "its window is over" })
    live.push(yield* signed(intent, 2))
    over.push({ ...first, state: "expired" })
  }
  return { live: live[0]!, over: over[0]! }
})

const rows = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const all = yield* sql`SELECT * FROM attempts ORDER BY intent_id, k`
  return new Map(all.map((row) => [`${String(row["intent_id"]).slice(0, 1)}/${row["k"]}`, { ...row }]))
})

/** Names of the attempts that the act changes. */
const changed = Effect.fnUntraced(function* <E, R>(act: Effect.Effect<unknown, E, R>) {
  const before = yield* rows
  yield* act
  const after = yield* rows
  return [...after].flatMap(([name, row]) => (JSON.stringify(row) === JSON.stringify(before.get(name)) ? [] : [name]))
})

const work = { tid: "t", nonce: 7n, hashBare: "b", hashPrefixed: "p" }
const end = { gateway: "g", outcome: "accepted", code: 0, data: "", log: "", evidence: "accepted" } as const

describe("what is stored of one attempt", () => {
  it.effect("changes no other attempt, of its payment or of another", () =>
    withStore(function* () {
      const outbox = yield* Outbox
      const { live } = yield* twoPayments
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* changed(outbox.saveWork(live, work)), ["1/2"], "its work")
      assert.deepStrictEqual(yield* changed(outbox.schedule(live, start + 5, 9n)), ["1/2"], "its next send")
      assert.deepStrictEqual(yield* changed(outbox.dropWork(live, start + 6)), ["1/2"], "work that was refused")
      const { seq, attempt } = yield* sending({ ...live, workIndex: 1 })
      yield* TestClock.adjust("1 second")
      const ending = outbox.endSend({ ...end, seq, attempt, state: "accepted", nextAt: start + 9, nextHeight: 4n })
      assert.deepStrictEqual(yield* changed(ending), ["1/2"], "the answer")
      assert.deepStrictEqual(yield* changed(sending({ ...attempt, state: "accepted" })), ["1/2"], "another send")
    }),
  )

  it.effect("changes nothing of one that is over", () =>
    withStore(function* () {
      const outbox = yield* Outbox
      const { over } = yield* twoPayments
      assert.deepStrictEqual(yield* changed(outbox.saveWork(over, work)), [], "its work")
      assert.deepStrictEqual(yield* changed(outbox.dropWork(over, start + 6)), [], "work that was refused")
      assert.deepStrictEqual(yield* changed(Effect.exit(sending(over))), [], "a send")
      assert.deepStrictEqual(yield* changed(outbox.noteWindow(50)), ["1/2", "2/2"], "a shorter window")
    }),
  )

  it.effect("takes an answer that comes after its end, and changes nothing by it", () =>
    withStore(function* () {
      const outbox = yield* Outbox
      const { live } = yield* twoPayments
      const { seq, attempt } = yield* sending(live)
      const inFlight = { ...intentOf("1"), state: "in_flight" as const }
      yield* outbox.settle(inFlight, attempt, "expired", "reserved", { detail: "its window is over" })
      const [other] = (yield* outbox.live).filter(({ intentId }) => intentId !== live.intentId)
      yield* sending(other!)
      const answer = outbox.endSend({ ...end, seq, attempt, state: "accepted", nextAt: 0, nextHeight: 0n })
      assert.deepStrictEqual(yield* changed(answer), [])
      assert.deepStrictEqual(
        (yield* outbox.sends(live.intentId)).map(({ outcome }) => outcome),
        ["accepted"],
      )
    }),
  )

  it.effect("keeps a signature's first solution, and none of dropped work", () =>
    withStore(function* () {
      const outbox = yield* Outbox
      const { live } = yield* twoPayments
      yield* outbox.saveWork(live, work)
      assert.deepStrictEqual(yield* changed(outbox.saveWork(live, { ...work, nonce: 8n })), [], "a second one")
      yield* outbox.dropWork(live, start)
      assert.deepStrictEqual(yield* changed(outbox.saveWork(live, work)), [], "one of before")
    }),
  )

  it.effect("moves only the payment that it is about", () =>
    withStore(function* () {
      const outbox = yield* Outbox
      const [one, other] = [yield* reserved(intentOf("1")), yield* reserved(intentOf("2"))]
      yield* outbox.move(one, "cancelled", { detail: "need gone" })
      assert.deepStrictEqual(yield* outbox.open, [other])
    }),
  )
})

describe("what is read of payments", () => {
  const subject = { treasury: "test", rule: "keep", subject: "hot" }
  // Where many treasuries share a database, the rows of another cannot even be written: `test/store/postgres.test.ts`.
  const foreign: ReadonlyArray<Partial<Intent>> = isOnPostgres ? [] : [{ treasury: "another" }]
  const others: ReadonlyArray<Partial<Intent>> = [...foreign, { rule: "another" }, { subject: "another" }]

  it.effect("tells siblings by treasury, rule and episode", () =>
    withStore(function* () {
      const outbox = yield* Outbox
      const mine = intentOf("1")
      const more = [...foreign, { rule: "another" }].map((other, i) => intentOf(`${i + 3}`, other))
      const all = [mine, intentOf("2"), ...more]
      for (const intent of [...all, intentOf("5", { episode: 2 })]) yield* outbox.record(intent)
      assert.deepStrictEqual(yield* outbox.siblings(mine), [intentOf("2")])
    }),
  )

  it.effect("alerts when the last executed payment of a subject was signed", () =>
    withStore(function* () {
      const outbox = yield* Outbox
      const pay = Effect.fnUntraced(function* (id: string, more: Partial<Intent>, createdAt: number) {
        const intent = yield* reserved(intentOf(id, { ...subject, ...more }))
        const { attempt } = yield* sending(yield* signed(intent, 1, { createdAt }))
        return { intent: { ...intent, state: "in_flight" as const }, attempt }
      })
      const confirm = ({ intent, attempt }: { readonly intent: Intent; readonly attempt: Attempt }) =>
        outbox.settle(intent, attempt, "confirmed", "confirmed", { detail: "", settledAt: 1n, fee: 0n })
      yield* confirm(yield* pay("1", { episode: 1 }, 100))
      for (const [i, more] of others.entries()) {
        yield* confirm(yield* pay(String(i + 2), { episode: 2, ...more }, 200 + i))
        assert.strictEqual(yield* outbox.lastSigned(subject), 100, "that of another subject")
      }
      yield* pay("6", { episode: 3 }, 300)
      assert.strictEqual(yield* outbox.lastSigned(subject), 100, "one that is not executed")
      const again = yield* pay("7", { episode: 4 }, 400)
      yield* outbox.settle(again.intent, again.attempt, "expired", "reserved", { detail: "" })
      const { attempt } = yield* sending(yield* signed({ ...again.intent, state: "reserved" }, 2, { createdAt: 500 }))
      yield* confirm({ ...again, attempt })
      assert.strictEqual(yield* outbox.lastSigned(subject), 400, "the first of its attempts")
    }),
  )

  it.effect("tells since when a subject's payments are dropped", () =>
    withStore(function* () {
      const outbox = yield* Outbox
      const open = (id: string, more: Partial<Intent>) => reserved(intentOf(id, { ...subject, ...more }))
      const dropped = Effect.fnUntraced(function* (id: string, more: Partial<Intent>) {
        return yield* outbox.move(yield* open(id, more), "cancelled", { detail: "" })
      })
      yield* open("1", { episode: 1, createdAt: 10 })
      yield* dropped("2", { episode: 2, createdAt: 20 })
      const newest = yield* dropped("3", { episode: 3, createdAt: 30 })
      for (const [i, more] of others.entries()) {
        yield* open(String(i + 4), { episode: 9, createdAt: 1, ...more })
        yield* dropped(String(i + 7), { episode: 10, createdAt: 2, ...more })
      }
      assert.strictEqual(yield* outbox.droppedSince(newest), 20)
    }),
  )

  it.effect("tells those that settled of late, and no open ones", () =>
    withStore(function* () {
      const outbox = yield* Outbox
      const [early, late] = [yield* reserved(intentOf("1")), yield* reserved(intentOf("2"))]
      yield* outbox.move(early, "cancelled", { detail: "" })
      yield* TestClock.adjust("1 hour")
      yield* outbox.move(late, "cancelled", { detail: "" })
      yield* reserved(intentOf("3"))
      assert.deepStrictEqual(
        (yield* outbox.settledSince(start + 1)).map(({ id }) => id),
        [late.id],
      )
    }),
  )

  it.effect("tells those whose block is of late, whatever our clock said when they settled", () =>
    withStore(function* () {
      const outbox = yield* Outbox
      const intent = yield* reserved(intentOf("1"))
      const { attempt } = yield* sending(yield* signed(intent, 1))
      const settledAt = BigInt(start + 7_200_000) * 1_000_000n
      yield* (yield* Observations).rebase([], { timestamp: settledAt, height: 9n })
      yield* outbox.settle({ ...intent, state: "in_flight" }, attempt, "confirmed", "confirmed", {
        detail: "",
        settledAt,
      })
      const since = (hours: number) =>
        Effect.map(outbox.settledSince(start + hours * 3_600_000), (settled) => settled.length)
      assert.deepStrictEqual([yield* since(1), yield* since(3)], [1, 0])
    }),
  )

  it.effect("tells what may take from a key's balance of an asset since a block", () =>
    withStore(
      Effect.gen(function* () {
        const outbox = yield* Outbox
        const settled = Effect.fnUntraced(function* (id: string, settledAt: bigint, to: "confirmed" | "failed") {
          const intent = yield* reserved(intentOf(id))
          const { attempt } = yield* sending(yield* signed(intent, 1))
          yield* outbox.settle({ ...intent, state: "in_flight" }, attempt, to, to, { detail: "", settledAt })
        })
        yield* settled("1", 99n, "confirmed")
        yield* settled("2", 100n, "confirmed")
        yield* settled("3", 101n, "failed")
        yield* reserved(intentOf("4"))
        const { payment } = intentOf("5")
        yield* reserved(intentOf("5", { payment: { ...payment, assetId: "other" } }))
        yield* reserved(intentOf("6", { payment: { ...payment, fromKey: payment.toKey as PublicKey } }))
        const claimed = Effect.fnUntraced(function* (asOf: bigint) {
          return (yield* outbox.claims(payment, asOf)).map(({ id }) => id).toSorted()
        })
        const idsOf = (...names: ReadonlyArray<string>) => names.map((name) => intentOf(name).id as string).toSorted()
        assert.deepStrictEqual(yield* claimed(100n), idsOf("1", "2", "4"), "of the first no movement is seen")
        const [moved] = yield* outbox.attempts(intentOf("1").id)
        yield* outbox.addEvidence(moved!, "moved", { gateway: "node", height: 99n, detail: "" })
        assert.deepStrictEqual(yield* claimed(100n), idsOf("2", "4"))
        const [seen] = yield* outbox.attempts(intentOf("2").id)
        yield* outbox.addEvidence(seen!, "moved", { gateway: "node", height: 100n, detail: "" })
        assert.deepStrictEqual(yield* claimed(100n), idsOf("2", "4"), "balances of its block lack it")
        assert.deepStrictEqual(yield* claimed(101n), idsOf("4"))
      }),
    ),
  )

  it.effect("names the newest listed payment whose movement was seen", () =>
    withStore(function* () {
      const [outbox, audit] = [yield* Outbox, yield* LedgerAudit]
      const { fromKey, toKey, assetId, amount } = intentOf("1").payment
      const attempts: Array<Attempt> = []
      for (const [n, [status, evidence]] of [
        ["done", "moved"],
        ["done", "moved"],
        ["done", "executed"],
        ["pending", "moved"],
      ].entries() as Iterable<[number, [string, "moved" | "executed"]]>) {
        const attempt = yield* signed(yield* reserved(intentOf(`${n + 1}`)), 1)
        attempts.push(attempt)
        yield* outbox.addEvidence(attempt, evidence, { gateway: "node", height: 99n, detail: "" })
        const listed = {
          id: attempt.transferId,
          from: fromKey,
          to: toKey,
          asset: assetId,
          amount,
          reference: "",
          status,
        }
        const transfers = [{ ...listed, timestamp: BigInt(n) }]
        yield* audit.note({ party: fromKey, cursor: undefined, transfers, isOwn: () => true })
      }
      assert.strictEqual(yield* audit.newestListed(fromKey, "transfer"), attempts[1]?.transferId)
      assert.isUndefined(yield* audit.newestListed(fromKey, "withdraw"))
      assert.isUndefined(yield* audit.newestListed(toKey, "transfer"))
    }),
  )

  it.effect("counts what a key signed on a block, and what was sent of late", () =>
    withStore(function* () {
      const outbox = yield* Outbox
      const party = intentOf("1").payment.fromKey
      const attempt = yield* signed(yield* reserved(intentOf("1")), 1, { anchorHeight: 100n })
      yield* signed(yield* reserved(intentOf("2")), 1, { anchorHeight: 101n })
      const another = "f".repeat(64) as PublicKey
      yield* signed(yield* reserved(intentOf("3")), 1, { party: another, anchorHeight: 100n })
      const both = yield* outbox.signedFrom(party, 100n)
      assert.deepStrictEqual([both.size, both.get(100n), both.get(101n)], [2, 1, 1])
      assert.deepStrictEqual([...(yield* outbox.signedFrom(party, 101n))], [[101n, 1]])
      const send = Effect.fnUntraced(function* (of: Attempt, first: boolean) {
        const begun = yield* sending(of, first)
        const done = { ...end, ...begun, state: "accepted", nextAt: 0, nextHeight: 0n } as const
        yield* outbox.endSend(done)
        return { ...begun.attempt, state: "accepted" as const }
      })
      const sent = yield* send(attempt, true)
      yield* TestClock.adjust("1 hour")
      yield* send(sent, false)
      const none = { accepted: 0, refused: 0, lost: 0 }
      assert.deepStrictEqual(yield* outbox.acceptance(start), none, "an early one, and a probe")
      assert.deepStrictEqual(yield* outbox.acceptance(start - 1), { ...none, accepted: 1 })
    }),
  )
})
