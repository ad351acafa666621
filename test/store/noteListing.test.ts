import { assert, describe } from "@effect/vitest"
import { Effect, Tracer } from "effect"
import { Database } from "../../src/store/database/Database.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { LedgerAudit } from "../../src/store/payments/LedgerAudit.ts"
import type { ListedTransfer } from "../../src/store/payments/noteListing.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { itWith } from "../support/it.ts"
import { attemptOf, intentOf } from "../support/Payments.ts"
import { testStore } from "../support/TestStore.ts"

const it = itWith(() => testStore().layer())

const { fromKey: from, toKey: to } = intentOf("1").payment
const idOf = (n: number) => n.toString(16).padStart(64, "0")
const transferOf = (id: string, more: { readonly status?: string; readonly reference?: string } = {}) => {
  const terms = { from, to, asset: "aa".repeat(32), amount: 5n, reference: "", status: "done", timestamp: 7n }
  return { id, ...terms, ...more }
}

const signedBefore = Effect.gen(function* () {
  const outbox = yield* Outbox
  const intent = intentOf("1")
  yield* outbox.record(intent)
  const attempt = attemptOf(intent, 1)
  yield* outbox.persist(yield* outbox.move(intent, "reserved", { detail: "permitted" }), attempt)
  return attempt
})

const note = Effect.fnUntraced(function* (transfers: ReadonlyArray<ListedTransfer>) {
  const { write } = yield* Database
  const { note: noted } = yield* LedgerAudit
  return yield* write(noted({ party: from, cursor: undefined, transfers, isOwn: () => false }))
})

/** Statements that the act sends. */
const counted = Effect.fnUntraced(function* <A, E, R>(act: Effect.Effect<A, E, R>) {
  let statements = 0
  const tracer = Tracer.make({
    span: (made) => {
      if (made.kind === "client") statements++
      return new Tracer.NativeSpan(made)
    },
  })
  const answer = yield* act.pipe(Effect.withTracerEnabled(true), Effect.provideService(Tracer.Tracer, tracer))
  return { answer, statements }
})

/** Numbers that change with each write of these tables. */
const versions = Effect.map(Database, ({ versionWithin }) =>
  ["listed_transfers", "executions", "journal"].map(versionWithin),
)

describe("a listing of many transfers", () => {
  it.effect("costs a few statements, and writes none where nothing is new", function* () {
    const { transferId } = yield* signedBefore
    const foreign = Array.from({ length: 500 }, (_, n) => transferOf(idOf(n)))
    const listing = [...foreign, transferOf(transferId)]
    const first = yield* counted(note(listing))
    assert.deepStrictEqual(
      first.answer.unrecognized.map(({ id }) => id),
      foreign.map(({ id }) => id),
    )
    const before = yield* versions
    const { seq } = yield* (yield* Journal).head
    const again = yield* counted(note(listing))
    assert.deepStrictEqual(yield* versions, before, "no row is written")
    assert.strictEqual((yield* (yield* Journal).head).seq, seq)
    assert.deepStrictEqual(again.answer.unrecognized, [])
    assert.isAbove(again.statements, 0, "statements are seen")
    assert.isAtMost(again.statements, 10)
    assert.isAtMost(first.statements, 40)
  })

  it.effect("stores the last state of a transfer that is listed twice", function* () {
    const { transferId } = yield* signedBefore
    const [pending, done] = [transferOf(idOf(1), { status: "pending" }), transferOf(idOf(1))]
    const first = yield* note([pending, done, transferOf(transferId), { ...transferOf(transferId), timestamp: 9n }])
    assert.deepStrictEqual(first.unrecognized, [{ ...pending, own: false }])
    assert.deepStrictEqual(
      first.done.map(({ executions }) => executions),
      [2, 2],
      "seen in two blocks",
    )
    const { countExecutions, unacknowledged } = yield* LedgerAudit
    const statuses = Effect.map(unacknowledged, (all) => all.map(({ status }) => status))
    assert.strictEqual(yield* countExecutions(transferId), 2)
    assert.deepStrictEqual(yield* statuses, ["done"])
    yield* note([pending, done])
    assert.deepStrictEqual(yield* statuses, ["done"])
    yield* note([done, pending])
    assert.deepStrictEqual(yield* statuses, ["pending"])
  })

  it.effect("completes the movement that it names, and no other", function* () {
    const movements = [1, 2].map((n) => ({ ...transferOf(idOf(n)), to: "" }))
    yield* note(movements)
    yield* note([transferOf(idOf(1), { reference: "rent" })])
    const known = yield* (yield* LedgerAudit).unacknowledged
    assert.deepStrictEqual(
      known.map(({ id, to: receiver, reference }) => [id, receiver, reference]),
      [
        [idOf(1), to, "rent"],
        [idOf(2), "", ""],
      ],
    )
  })

  it.effect("stores the block of a later version whose status is the same", function* () {
    yield* note([transferOf(idOf(1))])
    yield* note([{ ...transferOf(idOf(1)), timestamp: 9n }])
    const times = (yield* (yield* LedgerAudit).unacknowledged).map(({ timestamp }) => timestamp)
    assert.deepStrictEqual(times, [9n])
  })
})

describe("what is remembered of the ledger", () => {
  it.effect("is read again after a lookup saw an attempt as done", function* () {
    const { transferId } = yield* signedBefore
    const { countExecutions, noteExecution } = yield* LedgerAudit
    assert.strictEqual(yield* countExecutions(transferId), 0)
    yield* noteExecution(transferId, 7n)
    assert.strictEqual(yield* countExecutions(transferId), 1)
  })

  it.effect("names no transfer as another copy's once it is an attempt", function* () {
    const tag = "0123456789abcdef"
    const { transferId } = attemptOf(intentOf("1"), 1)
    yield* note([transferOf(transferId, { reference: `c3.51a51a51.a.${"A".repeat(43)}.${tag}` })])
    const { withTag } = yield* LedgerAudit
    assert.lengthOf(yield* withTag(from, tag), 1)
    yield* signedBefore
    assert.lengthOf(yield* withTag(from, tag), 0)
  })

  it.effect("shows a watched attempt as it is after each change", function* () {
    const attempt = yield* signedBefore
    const { beginSend, settle } = yield* Outbox
    const { watched } = yield* LedgerAudit
    const states = Effect.map(watched, (all) => all.map(({ state }) => state))
    yield* beginSend({ attempt, gateway: "g", framing: "bare", first: true, txHash: "" })
    assert.deepStrictEqual(yield* states, ["sending"])
    const sent = { ...attempt, state: "sending" as const }
    const settlement = { detail: "", fee: 0n, settledAt: 7n }
    yield* settle({ ...intentOf("1"), state: "in_flight" }, sent, "confirmed", "confirmed", settlement)
    assert.deepStrictEqual(yield* states, ["confirmed"])
  })
})
