import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { baseUnits } from "../../src/domain/Amount.ts"
import type { Intent } from "../../src/domain/Intent.ts"
import type { Terms } from "../../src/rules/policy/weakens.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { Approvals } from "../../src/store/controls/Approvals.ts"
import type { Database } from "../../src/store/database/Database.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { SpendLog } from "../../src/store/payments/SpendLog.ts"
import { effectOf, type Work } from "../support/it.ts"
import { attemptOf, intentOf } from "../support/Payments.ts"
import { testStore } from "../support/TestStore.ts"

const hour = 3_600_000
const day = 24 * hour
const start = 20_000 * day

const withStore = Effect.fnUntraced(function* (
  use: Work<Approvals | Database | Observations | Outbox | SpendLog | SqlClient.SqlClient>,
) {
  const store = testStore()
  yield* TestClock.setTime(start)
  yield* effectOf(use).pipe(Effect.provide(store.layer()), Effect.ensuring(Effect.sync(store.remove)))
})

/** A payment that was signed at the start, in flight. */
const signed = Effect.fnUntraced(function* (id: string) {
  const outbox = yield* Outbox
  const intent = intentOf(id)
  yield* outbox.record(intent)
  const reserved = yield* outbox.move(intent, "reserved", { detail: "" })
  const attempt = attemptOf(intent, 1, { nonce: BigInt(id) })
  const { fromKey: from, toKey: to, assetId, amount } = intent.payment
  const spend = { k: 1, digest: id, signature: id, from, to, assetId, amount, policy: "", line: 1, spentAt: start }
  yield* (yield* SpendLog).record({ ...spend, intentId: intent.id })
  yield* outbox.persist(reserved, attempt)
  yield* outbox.beginSend({ attempt, gateway: "g", framing: "bare", first: true, txHash: "" })
  return { intent: { ...reserved, state: "in_flight" } satisfies Intent, attempt }
})

const usedSince = Effect.fnUntraced(function* (since: number, assetId = intentOf("1").payment.assetId) {
  const { fromKey, toKey } = intentOf("1").payment
  const window = { from: new Set([fromKey]), to: new Set([toKey]), assetId, since, except: new Set<string>() }
  return yield* (yield* SpendLog).used(window)
})
const countSince = (since: number) => Effect.map(usedSince(since), ({ count }) => count)

/** Terms whose one line permits payments of the test's key to these receivers. */
const termsTo = (...to: ReadonlyArray<string>): Terms => {
  const { fromKey, assetId } = intentOf("1").payment
  const limits = { perTransfer: baseUnits(1n), per24h: baseUnits(1n), transfersPer24h: 1 }
  const lines = [{ line: 1, from: new Set([fromKey]), to: new Set(to), assetId, ...limits }]
  const digest = to.join()
  const policy = { maxFee: { numerator: 1n, denominator: 100n }, lines, groups: [], digest, hash: digest.slice(0, 8) }
  const none = { parties: new Map(), assets: new Map(), code: [], fee: undefined }
  return { ...none, chainId: "chain", mode: "live", maxAgeMillis: 30_000, quorum: 1, policy }
}
const alerts = { receivers: [], routes: [] }

describe("what a payment takes of its window", () => {
  it.effect("is taken for as long as the payment is open", () =>
    withStore(function* () {
      yield* signed("1")
      assert.strictEqual(yield* countSince(start + 300 * day), 1)
    }),
  )

  it.effect("is taken until 24 hours after it executed, by the block that executed it", () =>
    withStore(function* () {
      const { intent, attempt } = yield* signed("1")
      yield* TestClock.setTime(start + 9 * day)
      const settledAt = BigInt(start + 5 * hour) * 1_000_000n
      yield* (yield* Outbox).settle(intent, attempt, "confirmed", "confirmed", { detail: "", settledAt })
      assert.strictEqual(yield* countSince(start + 5 * hour), 1)
      assert.strictEqual(yield* countSince(start + 5 * hour + 1), 0)
    }),
  )

  it.effect("is not taken for ever by a block of the year 2200", () =>
    withStore(function* () {
      const { intent, attempt } = yield* signed("1")
      const settledAt = BigInt(Date.UTC(2200, 0)) * 1_000_000n
      yield* TestClock.setTime(start + hour)
      yield* (yield* Outbox).settle(intent, attempt, "confirmed", "confirmed", { detail: "", settledAt })
      assert.strictEqual(yield* countSince(start + hour - 1), 1)
      assert.strictEqual(yield* countSince(start + hour), 0)
    }),
  )

  it.effect("is taken by the newest block where our clock is behind it", () =>
    withStore(function* () {
      const { intent, attempt } = yield* signed("1")
      const block = { timestamp: BigInt(start + 25 * hour) * 1_000_000n, height: 9n }
      yield* (yield* Observations).rebase([], block)
      const settledAt = block.timestamp - 1_000_000_000n
      yield* (yield* Outbox).settle(intent, attempt, "confirmed", "confirmed", { detail: "", settledAt })
      assert.strictEqual(yield* countSince(start + 25 * hour - 1_000), 1)
      assert.strictEqual(yield* countSince(start + 25 * hour), 0)
    }),
  )

  it.effect("is taken for 24 hours even if it never executed", () =>
    withStore(function* () {
      const outbox = yield* Outbox
      const one = yield* signed("1")
      const two = yield* signed("2")
      yield* TestClock.setTime(start + 2 * day)
      yield* outbox.settle(one.intent, one.attempt, "expired", "abandoned", { detail: "" })
      yield* outbox.settle(two.intent, two.attempt, "expired", "reserved", { detail: "" })
      assert.strictEqual(yield* countSince(start - 1), 2)
      assert.strictEqual(yield* countSince(start + day), 1, "the second may be signed again: it is open")
    }),
  )

  it.effect("is taken of its own asset alone, in whatever order limits are asked for", () =>
    withStore(function* () {
      yield* signed("1")
      assert.strictEqual((yield* usedSince(start - 1)).count, 1)
      assert.strictEqual((yield* usedSince(start - 1, "another")).count, 0)
    }),
  )

  it.effect("is named as free again 24 hours after it executed", () =>
    withStore(function* () {
      const { intent, attempt } = yield* signed("1")
      yield* TestClock.setTime(start + 9 * hour)
      const settledAt = BigInt(start + 5 * hour) * 1_000_000n
      yield* (yield* Outbox).settle(intent, attempt, "confirmed", "confirmed", { detail: "", settledAt })
      const { leaving } = yield* usedSince(start)
      assert.deepStrictEqual(leaving, [{ amount: intent.payment.amount, at: start + 5 * hour + 1 + day }])
    }),
  )

  it.effect.each([
    ["when the period begins", 0],
    ["when a clock that is behind the blocks brings others into force", 90 * day],
  ] as const)("is taken as the terms bounded it that are in force %s", ([, behind]) =>
    withStore(function* () {
      const { putTerms } = yield* Approvals
      const { toKey } = intentOf("1").payment
      const other = "e".repeat(64)
      yield* putTerms({ seq: 1, terms: termsTo(toKey, other), alerts })
      yield* TestClock.setTime(start + day)
      yield* signed("1")
      yield* (yield* Observations).rebase([], { timestamp: BigInt(start + day) * 1_000_000n, height: 9n })
      yield* TestClock.setTime(start + day - behind)
      const { policy } = termsTo(other)
      yield* putTerms({ seq: 2, terms: termsTo(other), alerts })
      const period = { since: start + day - hour, except: new Set<string>() }
      const used = (yield* SpendLog).usedIn(policy, policy.lines[0]!, period)
      assert.strictEqual((yield* used).count, 1, "a line that loses a receiver begins with what it had used")
    }),
  )
})
