import { assert, describe, it } from "@effect/vitest"
import { baseUnits } from "../../src/domain/Amount.ts"
import { general } from "../../src/domain/Balance.ts"
import type { Intent } from "../../src/domain/Intent.ts"
import {
  type Ends,
  excessOf,
  hasFallen,
  hasMoved,
  isInBalances,
  judgeExecuted,
  mayHaveLeft,
  movementOf,
  stepsOf,
} from "../../src/payments/movements.ts"
import { attemptOf, intentOf } from "../support/Payments.ts"

const second = (n: number): bigint => BigInt(n) * 1_000_000_000n

const payment = (amount: bigint, more: Partial<Intent> = {}): Intent => {
  const intent = intentOf("a", { feeMax: 5n, ...more })
  return { ...intent, payment: { ...intent.payment, amount: baseUnits(amount) } }
}
/** A hundred, signed at second ten. */
const hundred = payment(100n)
const withdrawal = payment(100n, { command: "withdraw" })
const attempt = attemptOf(hundred, 1, { createdAt: 10_000 })
/** A confirmed payment of another one, in the block of that second. */
const other = (amount: bigint, at: number): Intent =>
  payment(amount, { id: intentOf("e").id, state: "confirmed", fee: 0n, settledAt: second(at) })

/** Steps of the payer, and of the receiver, by the second of their block; rows are known before second thirty. */
const endsOf = (
  lost: Readonly<Record<number, bigint>>,
  gained: Readonly<Record<number, bigint>> = {},
  others: ReadonlyArray<Intent> = [],
): Ends => {
  const steps = (by: Readonly<Record<number, bigint>>, sign: bigint) =>
    Object.entries(by).map(([at, amount]) => ({ at: second(Number(at)), by: sign * amount }))
  return { lost: steps(lost, -1n), gained: steps(gained, 1n), others, until: second(30) }
}

describe("steps of an account", () => {
  const rows = [50n, 80n].map((balance, n) => ({
    type: general,
    market: "",
    balance: baseUnits(balance),
    timestamp: second(n),
  }))
  const by = (before?: bigint, opens?: bigint) => stepsOf(rows, before, opens).map((step) => step.by)

  it("begin at the balance before, or at nothing where the first is what a new account has", () => {
    assert.deepStrictEqual(by(), [30n])
    assert.deepStrictEqual(by(20n), [30n, 30n])
    assert.deepStrictEqual(by(undefined, 50n), [50n, 30n])
    assert.deepStrictEqual(by(undefined, 49n), [30n])
    assert.deepStrictEqual(by(20n, 50n), [30n, 30n])
  })
})

describe("the time at which a gateway says that a payment executed", () => {
  const rows: ReadonlyArray<readonly [string, Intent, Ends, number, boolean]> = [
    ["is shown by a fall of the amount in its block", hundred, endsOf({ 20: 103n }), 20, true],
    ["is not shown by a smaller fall", hundred, endsOf({ 20: 99n }), 20, false],
    ["is not shown by a fall in another block", hundred, endsOf({ 21: 103n }), 20, false],
    [
      "is not shown by a fall that another payment explains",
      hundred,
      endsOf({ 20: 103n }, {}, [other(50n, 20)]),
      20,
      false,
    ],
    [
      "is not shown by a fall that another payment with the fee that it allows explains",
      hundred,
      endsOf({ 20: 155n }, {}, [{ ...other(51n, 20), fee: undefined }]),
      20,
      false,
    ],
    ["is none that was before the signature", hundred, endsOf({ 9: 103n }), 9, false],
    ["is not known yet where balances do not reach it", hundred, endsOf({ 30: 103n }), 30, false],
    ["is a withdrawal's own: its block is another one", withdrawal, endsOf({}), 20, true],
    ["is not a withdrawal's before its signature", withdrawal, endsOf({}), 9, false],
  ]
  it.each(rows)("%s", (_, intent, ends, told, expected) => {
    assert.strictEqual(isInBalances(intent, attempt, ends, second(told)), expected)
  })
})

describe("balances", () => {
  it("show that a transfer moved at both ends of one block alone", () => {
    assert.isTrue(hasMoved(hundred, attempt, endsOf({ 20: 103n }, { 20: 100n })))
    assert.isFalse(hasMoved(hundred, attempt, endsOf({ 20: 103n }, { 21: 100n })))
    assert.isFalse(hasMoved(hundred, attempt, endsOf({ 20: 103n }, { 20: 99n })))
    assert.isFalse(hasMoved(hundred, attempt, endsOf({ 20: 106n }, { 20: 100n })), "more than the fee may be")
    assert.isTrue(hasMoved(withdrawal, attempt, endsOf({ 20: 103n })))
    assert.isFalse(hasMoved(withdrawal, attempt, endsOf({ 20: 99n })))
  })

  it("show a fall by the payment and its fee from the block of the signature on", () => {
    const fallen = (lost: Readonly<Record<number, bigint>>) => hasFallen(hundred, attempt, endsOf(lost))
    assert.deepStrictEqual(
      [fallen({ 20: 100n }), fallen({ 20: 105n }), fallen({ 20: 106n }), fallen({ 20: 99n }), fallen({ 10: 100n })],
      [true, true, false, false, false],
    )
  })

  it("say nothing of what may have left before they are known so far", () => {
    assert.isUndefined(mayHaveLeft(hundred, attempt, endsOf({}), second(30)))
    assert.isFalse(mayHaveLeft(hundred, attempt, endsOf({ 20: 99n }), second(29)))
    assert.isTrue(mayHaveLeft(hundred, attempt, endsOf({ 20: 400n }), second(29)))
  })

  it("show one movement where exactly one block fits that no other payment has", () => {
    const one = { fee: 3n, settledAt: second(20) }
    const both = endsOf({ 20: 103n, 25: 103n }, { 20: 100n, 25: 100n })
    assert.deepStrictEqual(movementOf(hundred, attempt, endsOf({ 20: 103n }, { 20: 100n })), one)
    assert.isUndefined(movementOf(hundred, attempt, endsOf({ 20: 103n })))
    assert.isUndefined(movementOf(hundred, attempt, endsOf({ 10: 103n }, { 10: 100n })), "signed after it")
    assert.isUndefined(movementOf(hundred, attempt, both), "either may be it")
    assert.deepStrictEqual(movementOf(hundred, attempt, { ...both, others: [other(100n, 25)] }), one)
    assert.isUndefined(movementOf(hundred, attempt, { ...both, others: [other(100n, 22)] }), "its block is not known")
    const unplaced = (amount: bigint) => ({ ...other(amount, 22), settledAt: undefined })
    const maybeOther = endsOf({ 20: 103n }, { 20: 100n }, [unplaced(100n)])
    assert.isUndefined(movementOf(hundred, attempt, maybeOther), "nobody says its block")
    const maybeSmall = endsOf({ 20: 103n }, { 20: 100n }, [unplaced(3n)])
    assert.isUndefined(movementOf(hundred, attempt, maybeSmall), "the fee may be the one without a block")
    const withSmall = endsOf({ 20: 103n }, { 20: 100n }, [other(3n, 22)])
    assert.isUndefined(movementOf(hundred, attempt, withSmall), "the fee may be the small one")
    assert.deepStrictEqual(
      movementOf(hundred, attempt, endsOf({ 20: 103n, 22: 3n }, { 20: 100n }, [other(3n, 22)])),
      one,
      "another block shows the small one",
    )
  })

  it("show as many executions too many as no payment explains", () => {
    const both = endsOf({ 20: 103n, 25: 103n }, { 20: 100n, 25: 100n })
    const count = (...known: ReadonlyArray<Intent>) => excessOf(hundred, both, known)
    assert.strictEqual(count(hundred), 1)
    assert.strictEqual(count(hundred, other(100n, 25)), 0)
    assert.strictEqual(count(hundred, { ...other(100n, 25), state: "abandoned" }), 1)
    assert.strictEqual(count(hundred, other(50n, 25)), 1)
  })
})

describe("an attempt that is now shown as failed", () => {
  const sends = {
    counts: new Map<string, number>(),
    shown: new Set<string>(),
    complete: true,
    mark: { height: 9n, timestamp: second(20) },
  }
  const moved = { ...sends, counts: new Map([[attempt.transferId as string, 1]]) }
  const context = {
    intent: hundred,
    attempt,
    failedAt: second(20),
    isListed: false,
    isAlone: false,
    sends: undefined,
    ends: endsOf({}),
  }
  const fallen = endsOf({ 15: 103n })
  const rows: ReadonlyArray<readonly [string, Partial<Parameters<typeof judgeExecuted>[0]>, string]> = [
    ["has executed where the ledger moved money for it", { sends: moved }, "yes"],
    ["has executed where its only gateway listed it as done", { isListed: true, isAlone: true, sends }, "yes"],
    ["has not by the word of one gateway of several", { isListed: true, sends }, "no"],
    ["has not where whole movements up to its block have none of it", { sends }, "no"],
    ["may have where movements are not whole", { sends: { ...sends, complete: false } }, "unknown"],
    ["may have where movements end before its block", { sends, failedAt: second(21) }, "unknown"],
    ["has not where movements have no end", { sends: { ...sends, mark: undefined }, failedAt: second(21) }, "no"],
    ["has not where its block is not known", { sends, failedAt: undefined }, "no"],
    ["may have where movements have none of it, and its sum left", { sends, ends: fallen }, "unknown"],
    ["has not where balances alone show that nothing left", {}, "no"],
    ["may have where its sum left before that block", { ends: fallen }, "unknown"],
    ["may have where balances do not reach that block", { failedAt: second(30) }, "unknown"],
    ["has not where balances alone are known, and not its block", { failedAt: undefined }, "no"],
    ["may have where it was listed as done, whatever balances show", { isListed: true }, "unknown"],
  ]
  it.each(rows)("%s", (_, known, verdict) => {
    assert.strictEqual(judgeExecuted({ ...context, ...known }), verdict)
  })
})
