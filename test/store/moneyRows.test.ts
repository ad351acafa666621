import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import type { PublicKey } from "../../src/domain/Hex.ts"
import type { Intent } from "../../src/domain/Intent.ts"
import { nanosOf } from "../../src/domain/Time.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { Approvals } from "../../src/store/controls/Approvals.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { ChainState } from "../../src/store/network/ChainState.ts"
import { LedgerAudit } from "../../src/store/payments/LedgerAudit.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { SpendLog } from "../../src/store/payments/SpendLog.ts"
import { effectOf, type Work } from "../support/it.ts"
import { attemptOf, intentOf } from "../support/Payments.ts"
import { testStore } from "../support/TestStore.ts"

const start = 1_800_000_000_000
const day = 86_400_000
const words = { reason: "audit", author: "ana" }

const withStore = Effect.fnUntraced(function* (
  use: Work<Layer.Success<ReturnType<ReturnType<typeof testStore>["layer"]>> | SqlClient.SqlClient>,
) {
  const store = testStore()
  yield* TestClock.setTime(start)
  yield* effectOf(use).pipe(Effect.provide(store.layer()), Effect.ensuring(Effect.sync(store.remove)))
})

describe("a person's resume", () => {
  it.effect("of one scope leaves the pauses of others, and every halt", () =>
    withStore(function* () {
      const controls = yield* Controls
      const pause = (scope: string, until?: number) => controls.pause({ scope, ...words, until })
      yield* pause("rule:a")
      yield* pause("rule:b")
      yield* pause("rule:c", start + 1_000)
      yield* controls.halt("operator", "looks at it")
      yield* controls.halt("store_error", "takes nothing")
      assert.strictEqual(yield* controls.resume({ scope: "rule:a", ...words }), 1)
      assert.deepStrictEqual(
        (yield* controls.pauses).map(({ scope }) => scope),
        ["rule:b", "rule:c"],
      )
      assert.deepStrictEqual(
        (yield* controls.halts).map(({ reason }) => reason),
        ["operator", "store_error"],
      )
      assert.strictEqual(yield* controls.resume({ scope: "rule:a", ...words }), 0, "a second time")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* controls.resume({ scope: "rule:c", ...words }), 0, "one whose time is over")
      yield* (yield* Observations).rebase([], { timestamp: nanosOf(start), height: 1n })
      assert.strictEqual(yield* controls.resume({ scope: "rule:c", ...words }), 1, "over by our clock alone")
    }),
  )

  it.effect("of all ends the halts but those that end otherwise, once each", () =>
    withStore(function* () {
      const controls = yield* Controls
      yield* controls.halt("operator", "looks at it")
      yield* controls.halt("disk_full", "no room")
      yield* controls.halt("restored_store", "put back")
      yield* controls.halt("store_error", "takes nothing")
      assert.strictEqual(yield* controls.resume({ scope: "all", ...words }), 2)
      assert.deepStrictEqual(
        (yield* controls.halts).map(({ reason }) => reason),
        ["disk_full", "restored_store"],
      )
      assert.strictEqual(yield* controls.resume({ scope: "all", ...words }), 0, "a second time")
    }),
  )

  it.effect("takes no payment for known that our keys made elsewhere", () =>
    withStore(function* () {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* LedgerAudit
      const row = { party: "p", receiver: "r", asset: "a", amount: "1", reference: "", status: "done", timestamp: 1n }
      for (const [id, own] of Object.entries({ known: 0, foreign: 0, own: 1 }))
        yield* sql.withTransaction(sql`INSERT INTO listed_transfers ${sql.insert({ ...row, id, own, seen_at: start })}`)
      yield* audit.acknowledge(["known"], "adopted")
      yield* (yield* Controls).resume({ scope: "all", ...words })
      const rows = yield* sql`SELECT id, known_as FROM listed_transfers ORDER BY id`
      assert.deepStrictEqual(
        rows.map(({ id, known_as }) => [id, known_as]),
        [
          ["foreign", null],
          ["known", "adopted"],
          ["own", null],
        ],
      )
    }),
  )
})

describe("a halt whose cause is gone", () => {
  it.effect("ends alone, and is written down once", () =>
    withStore(function* () {
      const [controls, journal] = [yield* Controls, yield* Journal]
      yield* controls.halt("operator", "looks at it")
      yield* controls.halt("halt_file", "HALT")
      const ended = Effect.map(journal.about("halt_file"), (all) => all.filter(({ kind }) => kind === "resume").length)
      yield* controls.release("halt_file", "the file is gone")
      assert.strictEqual(yield* ended, 1)
      yield* controls.release("halt_file", "the file is gone")
      assert.strictEqual(yield* ended, 1, "there is nothing to end")
      assert.deepStrictEqual(
        (yield* controls.halts).map(({ reason }) => reason),
        ["operator"],
      )
    }),
  )
})

const moved = Effect.fnUntraced(function* (id: string, more: Partial<Intent> = {}) {
  const outbox = yield* Outbox
  const intent = intentOf(id, more)
  yield* outbox.record(intent)
  return yield* outbox.move(intent, "reserved", { detail: "permitted" })
})

const spend = Effect.fnUntraced(function* (intent: Intent, k: number, more: { readonly assetId?: string } = {}) {
  const { fromKey: from, toKey: to, assetId, amount } = intent.payment
  const of = { intentId: intent.id, from, to, assetId, amount, ...more }
  yield* (yield* SpendLog).record({ ...of, k, digest: `${k}`, signature: "", policy: "", line: 1, spentAt: start })
})

describe("what is spent", () => {
  const used = Effect.fnUntraced(function* (since: number) {
    const { fromKey, toKey, assetId } = intentOf("1").payment
    const window = { from: new Set([fromKey]), to: new Set([toKey]), assetId, since, except: new Set<string>() }
    return (yield* (yield* SpendLog).used(window)).count
  })

  it.effect("is counted once for a payment with several attempts, and for its own asset", () =>
    withStore(function* () {
      const intent = yield* moved("1")
      yield* spend(intent, 1)
      yield* spend(intent, 2)
      yield* spend(yield* moved("2"), 1, { assetId: "another" })
      assert.strictEqual(yield* used(start - 1), 1)
    }),
  )

  it.effect("stays spent where another payment ends, and where its own ended before", () =>
    withStore(function* () {
      const spends = yield* SpendLog
      const [one, two] = [yield* moved("1"), yield* moved("2")]
      yield* spend(one, 1)
      yield* spend(two, 1)
      yield* spends.close(one.id, start + 5)
      assert.strictEqual(yield* used(start + day), 1, "the second is open")
      yield* spends.close(one.id, start + 2 * day)
      assert.strictEqual(yield* used(start + day), 1, "the first has its end")
    }),
  )
})

describe("what a key used of the network's epoch", () => {
  const key = intentOf("1").payment.fromKey
  const another = "f".repeat(64) as PublicKey
  const nanos = (millis: number) => BigInt(millis) * 1_000_000n
  let nonce = 100n
  /** A payment that was sent; executed at the given time. */
  const sent = Effect.fnUntraced(function* (id: string, more: Partial<Intent>, executedAt?: number) {
    const outbox = yield* Outbox
    const intent = yield* moved(id, more)
    const attempt = attemptOf(intent, 1, { nonce: nonce++ })
    yield* outbox.persist(intent, attempt)
    if (executedAt === undefined) return
    yield* outbox.beginSend({ attempt, gateway: "g", framing: "bare", first: true, txHash: "" })
    const inFlight = { ...intent, state: "in_flight" as const }
    const end = { detail: "", settledAt: nanos(executedAt), fee: 0n }
    yield* outbox.settle(inFlight, { ...attempt, state: "sending" }, "confirmed", "confirmed", end)
  })
  const of = (fromKey: PublicKey): Partial<Intent> => ({ payment: { ...intentOf("1").payment, fromKey } })
  const tell = Effect.fnUntraced(function* (readAt: number, told: number | undefined) {
    const count = { seq: 1, used: told ?? 0, limit: 10, asOf: nanos(start - day), readAt }
    const endsAtMillis = start + 12 * 3_600_000
    yield* (yield* ChainState).noteEpoch({
      seq: 1,
      startAt: nanos(start),
      endsAtMillis,
      told: { [key]: count },
      readAt,
    })
  })
  const used = Effect.gen(function* () {
    return (yield* (yield* ChainState).quota(key))?.used
  })

  it.effect("is its own open and executed transfers, and no withdrawal", () =>
    withStore(function* () {
      yield* tell(start, undefined)
      yield* sent("1", {})
      yield* sent("2", { ...of(another) })
      yield* sent("3", { command: "withdraw" })
      assert.strictEqual(yield* used, 1, "open ones")
      yield* sent("4", {}, start + 1)
      yield* sent("5", { ...of(another) }, start + 1)
      yield* sent("6", { command: "withdraw" }, start + 1)
      yield* sent("7", {}, start - 2 * day)
      assert.strictEqual(yield* used, 2, "open ones, and those executed since the epoch began")
    }),
  )

  it.effect("is unknown if the epoch is over, old or without limit", () =>
    withStore(function* () {
      const state = yield* ChainState
      assert.isUndefined(yield* state.quota(key), "no epoch")
      yield* tell(start, undefined)
      assert.isUndefined(yield* state.quota(another), "no limit of that key")
      assert.strictEqual(yield* used, 0)
      yield* TestClock.adjust("13 hours")
      assert.isUndefined(yield* state.quota(key), "its end is past")
      yield* TestClock.setTime(start)
      yield* tell(start - 2 * day, undefined)
      assert.isUndefined(yield* state.quota(key), "told two days ago")
    }),
  )
})

describe("an operator's signature", () => {
  it.effect("is kept and written down once", () =>
    withStore(function* () {
      const [approvals, journal] = [yield* Approvals, yield* Journal]
      const approval = { subject: "s", operator: "ana", key: "k", text: "t", signature: "x" }
      assert.isTrue(yield* approvals.give(approval))
      assert.isFalse(yield* approvals.give(approval))
      assert.lengthOf(yield* approvals.about("s"), 1)
      assert.lengthOf(yield* journal.about("s"), 1)
    }),
  )
})

describe("a payment that movements showed before the list did", () => {
  it.effect("is found by its tag once the list names its reference", () =>
    withStore(function* () {
      const audit = yield* LedgerAudit
      const from = "aa".repeat(32)
      const tag = "0123456789abcdef"
      const moved = { id: "bb".repeat(32), from, to: "", asset: "usdt", amount: 5n, reference: "", status: "done" }
      const reference = `c3.51a51a51.a.${"A".repeat(43)}.${tag}`
      const note = (transfer: typeof moved) =>
        audit.note({
          party: from,
          cursor: undefined,
          transfers: [{ ...transfer, timestamp: 7n }],
          isOwn: () => false,
        })
      assert.lengthOf((yield* note(moved)).unrecognized, 1)
      assert.lengthOf(yield* audit.withTag(from, tag), 0)
      const listed = { ...moved, to: "cc".repeat(32), reference }
      assert.lengthOf((yield* note(listed)).unrecognized, 0, "it is no news")
      yield* note({ ...listed, to: "dd".repeat(32), reference: "another" })
      const found = yield* audit.withTag(from, tag)
      assert.deepStrictEqual(
        found.map(({ to, reference }) => ({ to, reference })),
        [{ to: listed.to, reference }],
        "and what was listed stays",
      )
    }),
  )
})
