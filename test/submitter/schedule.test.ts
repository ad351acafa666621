import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { baseUnits } from "../../src/domain/Amount.ts"
import { type Attempt, deadlineHeight, marginBlocks } from "../../src/domain/Attempt.ts"
import type { IntentId, PublicKey, TransferId } from "../../src/domain/Hex.ts"
import type { Intent } from "../../src/domain/Intent.ts"
import { referenceText } from "../../src/domain/Reference.ts"
import { movementOf, stepsOf } from "../../src/payments/movements.ts"
import { maySend, rebroadcastBlocks } from "../../src/payments/planSend.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { loadEnds } from "../../src/submitter/loadEnds.ts"
import { it } from "../support/it.ts"
import { attemptOf, intentOf } from "../support/Payments.ts"
import { testStore } from "../support/TestStore.ts"

const signedAt = 1_800_000_000_000
const intentId = "cd".repeat(32) as IntentId
const attempt = attemptOf(intentOf("1", { id: intentId }), 1, {
  nonce: 1n,
  transferId: "ef".repeat(32) as TransferId,
  createdAt: signedAt,
  updatedAt: signedAt,
})

describe("when the same bytes may be sent", () => {
  it.each([
    [5, 2n, 3n],
    [10, 2n, 3n],
    [31, 4n, 4n],
    [100, 10n, 10n],
    [500, 50n, 10n],
  ] as const)("a window of %i blocks: again each %i blocks, never in its last %i", (windowBlocks, again, margin) => {
    assert.strictEqual(rebroadcastBlocks(windowBlocks), again)
    assert.strictEqual(marginBlocks(windowBlocks), margin)
    const of = { ...attempt, windowBlocks }
    const last = deadlineHeight(of) - margin - 1n
    assert.isTrue(maySend(of, last))
    assert.isFalse(maySend(of, last + 1n))
    assert.isFalse(maySend(of, deadlineHeight(of) + 1n))
  })
})

describe("the reference of a payment", () => {
  it("has at most 100 bytes", () => {
    const seq = Number.MAX_SAFE_INTEGER
    const longest = referenceText({ installation: "ffffffff", seq, hash: "f".repeat(64), tag: "f".repeat(16) })
    assert.isAtMost(Buffer.byteLength(longest), 100)
  })
})

const asset = "c".repeat(64)
const from = "a".repeat(64)
const to = "b".repeat(64)
const general = "ACCOUNT_TYPE_GENERAL"
const intent = intentOf("1", {
  id: intentId,
  payment: {
    from: "a",
    fromKey: from as PublicKey,
    to: "b",
    toKey: to as PublicKey,
    asset: "TOK",
    assetId: asset,
    amount: baseUnits(100n),
  },
  decimals: 0,
  feeMax: 2n,
  state: "in_flight",
  createdAt: signedAt,
  updatedAt: signedAt,
})

/** Seconds after the signature, party, balance. */
type Row = readonly [number, string, bigint]
const opening: ReadonlyArray<Row> = [
  [-10, from, 1_000n],
  [-10, to, 50n],
]
const rowOf = ([second, party, balance]: Row) => ({
  party,
  asset,
  market: "",
  type: general,
  balance,
  timestamp: BigInt(signedAt + second * 1_000) * 1_000_000n,
})

const at = (second: number) => BigInt(signedAt + second * 1_000) * 1_000_000n

/** Another payment of the payer, which is confirmed by the block of this second. */
const confirmed = (change: Partial<Intent["payment"]>) =>
  Effect.fnUntraced(function* (second: number) {
    yield* TestClock.setTime(signedAt)
    const outbox = yield* Outbox
    const payment = { ...intent.payment, ...change }
    const other: Intent = { ...intent, payment, id: "d".repeat(64) as IntentId, episode: 2, state: "proposed" }
    yield* outbox.record(other)
    const reserved = yield* outbox.move(other, "reserved", { detail: "" })
    const sent = yield* outbox.move(reserved, "in_flight", { detail: "" })
    yield* outbox.move(sent, "confirmed", { detail: "", fee: 1n, settledAt: at(second) })
  })
const confirmedBefore = confirmed({})

const movement = Effect.fnUntraced(function* (
  rows: ReadonlyArray<Row>,
  own: Attempt = attempt,
  first: typeof confirmedBefore | undefined = undefined,
  second = 0,
) {
  const store = testStore()
  return yield* Effect.gen(function* () {
    const observations = yield* Observations
    yield* observations.advance(rows.map(rowOf), { timestamp: BigInt(signedAt + 60_000) * 1_000_000n, height: 1n })
    if (first !== undefined) yield* first(second)
    return movementOf(intent, own, yield* loadEnds(intent, own))
  }).pipe(Effect.provide(store.layer()), Effect.ensuring(Effect.sync(store.remove)))
})

describe("the movement of balances", () => {
  it("is made of the steps of the general account alone", () => {
    const rows = [
      rowOf([0, from, 10n]),
      { ...rowOf([1, from, 99n]), type: "ACCOUNT_TYPE_MARGIN", market: "m" },
      rowOf([2, from, 4n]),
      rowOf([3, from, 9n]),
    ]
    assert.deepStrictEqual(
      stepsOf(rows).map(({ by }) => by),
      [-6n, 5n],
    )
    assert.deepStrictEqual(stepsOf(rows.slice(0, 1)), [])
  })

  it.effect("proves an execution of accounts that stood still for weeks before", function* () {
    const seen = yield* movement([
      [-2_000_000, from, 1_000n],
      [-2_000_000, to, 50n],
      [5, from, 899n],
      [5, to, 150n],
    ])
    assert.deepStrictEqual(seen, { fee: 1n, settledAt: at(5) })
  })

  it.effect("proves an execution if both ends moved in one block with a valid fee", function* () {
    const seen = yield* movement([...opening, [5, from, 899n], [5, to, 150n]])
    assert.deepStrictEqual(seen, { fee: 1n, settledAt: BigInt(signedAt + 5_000) * 1_000_000n })
  })

  const paidOnce: ReadonlyArray<Row> = [...opening, [5, from, 899n], [5, to, 150n]]
  const paidTwice: ReadonlyArray<Row> = [...paidOnce, [9, from, 798n], [9, to, 250n]]

  it.effect("is not that of an earlier equal payment under a slow clock", function* () {
    assert.isUndefined(yield* movement(paidOnce, { ...attempt, signedAfter: at(7) }))
    const seen = yield* movement(paidTwice, { ...attempt, signedAfter: at(7) })
    assert.strictEqual(seen?.settledAt, at(9))
    const ahead = { ...attempt, createdAt: signedAt + 3_600_000, signedAfter: at(1) }
    assert.strictEqual((yield* movement(paidOnce, ahead))?.settledAt, at(5), "nor missed where it was ahead")
  })

  it.effect("is not one that another payment of the same has", function* () {
    const own = { ...attempt, signedAfter: at(1) }
    assert.isUndefined(yield* movement(paidOnce, own, confirmedBefore, 5))
    assert.strictEqual((yield* movement(paidTwice, own, confirmedBefore, 5))?.settledAt, at(9))
    assert.isUndefined(yield* movement(paidOnce, own, confirmedBefore, 4), "whose block nobody knows")
  })

  it.effect("is not hidden by a payment of another asset in its block", function* () {
    const elsewhere = confirmed({ asset: "ANY", assetId: "d".repeat(64), amount: baseUnits(1n) })
    assert.deepStrictEqual(yield* movement(paidOnce, attempt, elsewhere, 5), { fee: 1n, settledAt: at(5) })
  })

  it.effect("is not one whose fee may hold another payment", function* () {
    const small = confirmed({ to: "c", toKey: "e".repeat(64) as PublicKey, amount: baseUnits(2n) })
    const rows: ReadonlyArray<Row> = [...opening, [3, from, 997n], [5, from, 895n], [5, to, 150n]]
    assert.isUndefined(yield* movement(rows, attempt, small, 5), "of the same block")
    assert.isUndefined(yield* movement(rows, attempt, small, 4), "whose block nobody knows")
    assert.deepStrictEqual(yield* movement(rows, attempt, small, 3), { fee: 2n, settledAt: at(5) })
  })

  const noProofs: ReadonlyArray<readonly [string, ReadonlyArray<Row>]> = [
    ["the receiver gained nothing", [[5, from, 899n]]],
    [
      "the receiver gained more",
      [
        [5, from, 899n],
        [5, to, 151n],
      ],
    ],
    [
      "the ends moved in different blocks",
      [
        [5, from, 899n],
        [6, to, 150n],
      ],
    ],
    [
      "the fee is above what was allowed",
      [
        [5, from, 897n],
        [5, to, 150n],
      ],
    ],
    [
      "less than the amount was lost",
      [
        [5, from, 901n],
        [5, to, 150n],
      ],
    ],
    [
      "it was before the signature",
      [
        [-5, from, 899n],
        [-5, to, 150n],
      ],
    ],
    [
      "two blocks fit",
      [
        [5, from, 899n],
        [5, to, 150n],
        [9, from, 799n],
        [9, to, 250n],
      ],
    ],
  ]
  for (const [what, rows] of noProofs) {
    it.effect(`proves nothing where ${what}`, () =>
      Effect.map(movement([...opening, ...rows]), (seen) => assert.isUndefined(seen)),
    )
  }
})
