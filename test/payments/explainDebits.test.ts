import { assert, describe, it } from "@effect/vitest"
import {
  type DebitBaseline,
  explainDebits,
  type KnownPayment,
  type Movements,
} from "../../src/payments/explainDebits.ts"

describe("what explains a debit", () => {
  const second = 1_000_000_000n
  const before: DebitBaseline = {
    until: second,
    held: new Map([["a", { balance: 100n, since: second }]]),
    used: new Map(),
  }
  const row = (at: bigint, balance: bigint, isOpening = false) => ({
    asset: "a",
    balance,
    timestamp: at * second,
    isOpening,
  })
  const paid = (
    id: string,
    cost: bigint,
    settled: bigint | undefined,
    more: Partial<KnownPayment> = {},
  ): KnownPayment => ({
    id,
    asset: "a",
    cost,
    times: 1,
    isOpen: settled === undefined,
    createdAt: 0,
    updatedAt: 0,
    settledAt: settled === undefined ? undefined : settled * second + 7n,
    ...more,
  })
  const balancesOf = (rows: ReadonlyArray<ReturnType<typeof row>>, end = 9_999n * second) => ({ rows, gaps: [], end })
  const cases = [
    ["a payment in its block", [row(2n, 90n)], [paid("p", 10n, 2n)], []],
    ["a payment with a smaller fee than was foreseen", [row(2n, 91n)], [paid("p", 10n, 2n)], []],
    ["a payment and what came in at once", [row(2n, 95n)], [paid("p", 10n, 2n)], []],
    ["two payments in one block", [row(2n, 80n)], [paid("p", 10n, 2n), paid("q", 10n, 2n)], []],
    [
      "two payments of one block, and the third of the next, whose ends nobody tells",
      [row(2n, 76n), row(3n, 59n)],
      [paid("p", 21n, undefined), paid("q", 18n, undefined), paid("r", 5n, undefined)],
      [],
    ],
    ["two payments whose first row is missing", [row(3n, 80n)], [paid("p", 10n, 2n), paid("q", 10n, 3n)], []],
    ["a payment whose time is later than its row", [row(2n, 90n)], [paid("p", 10n, 9n)], []],
    ["a payment without an end", [row(2n, 90n)], [paid("p", 10n, undefined)], []],
    ["a second execution that is known", [row(2n, 90n), row(8n, 80n)], [paid("p", 10n, 2n, { times: 2 })], []],
    ["a refund", [row(2n, 110n), row(3n, 110n)], [], []],
    ["an account begun anew", [row(2n, 50n, true)], [], []],
    ["nothing", [row(2n, 90n)], [], [10n]],
    ["nothing after an account begun anew", [row(2n, 50n, true), row(3n, 40n)], [], [10n]],
    ["nothing the second time", [row(2n, 90n), row(3n, 80n)], [paid("p", 10n, 2n)], [10n]],
    ["a payment, but not all", [row(2n, 70n)], [paid("p", 10n, 2n)], [20n]],
    ["only a payment of long before", [row(100n, 90n)], [paid("p", 10n, 2n)], [10n]],
    ["only a payment of long after", [row(2n, 90n)], [paid("p", 10n, undefined, { createdAt: 90_000 })], [10n]],
    ["only a payment without an end of long before", [row(2_000n, 90n)], [paid("p", 10n, undefined)], [10n]],
    ["only what another asset paid", [row(2n, 90n)], [paid("p", 10n, 2n, { asset: "b" })], [10n]],
  ] as const

  it.each(cases)("is %s", (_, rows, payments, expected) => {
    const { unexplained } = explainDebits(before, { payments, balances: balancesOf(rows) })
    assert.deepStrictEqual(
      unexplained.map(({ amount, kind }) => ({ amount, kind })),
      expected.map((amount) => ({ amount, kind: "fall" as const })),
    )
  })

  it("is none where no balance has moved", () => {
    const nothing = explainDebits(before, { payments: [], balances: balancesOf([]) })
    assert.deepStrictEqual([nothing.unexplained, nothing.baseline.until], [[], second])
    const held = new Map([["b", { balance: 50n, since: 0n }]])
    const first = explainDebits({ ...before, held }, { payments: [], balances: balancesOf([row(2n, 90n)]) })
    assert.deepStrictEqual(first.unexplained, [], "an account without a balance before it")
    const both = [row(2n, 110n), { ...row(2n, 60n), asset: "b" }]
    const risen = explainDebits(
      { ...before, held: new Map([...before.held, ...held]) },
      { payments: [], balances: balancesOf(both) },
    )
    assert.deepStrictEqual([risen.unexplained, risen.baseline.until], [[], 2n * second], "two accounts in one block")
  })

  it("is not lost rows", () => {
    const lost = (since: bigint, until: bigint) => [{ since: since * second, until: until * second }]
    const fallsIn = (gaps: ReadonlyArray<{ since: bigint; until: bigint }>) =>
      explainDebits(before, { payments: [], balances: { rows: [row(9n, 90n)], gaps, end: 0n } }).unexplained
    assert.lengthOf(fallsIn(lost(3n, 6n)), 0)
    assert.lengthOf(fallsIn(lost(0n, 1n)), 1)
    assert.lengthOf(fallsIn(lost(9n, 12n)), 1)
  })

  it("remembers over several looks how often a payment has explained a debit", () => {
    const payments = [paid("p", 10n, 20n)]
    const first = explainDebits(before, { payments, balances: balancesOf([row(2n, 90n)]) })
    assert.deepStrictEqual(first.unexplained, [])
    const next = explainDebits(first.baseline, { payments, balances: balancesOf([row(3n, 80n)]) })
    assert.deepStrictEqual(
      next.unexplained.map(({ timestamp, amount }) => [timestamp, amount]),
      [[3n * second, 10n]],
    )
  })

  it("remembers of payments that explained debits the 500 newest", () => {
    const used = new Map(Array.from({ length: 600 }, (_, n) => [`p${n}`, 1]))
    const { baseline } = explainDebits({ ...before, used }, { payments: [], balances: balancesOf([]) })
    assert.deepStrictEqual([...baseline.used.keys()], [...used.keys()].slice(100))
  })

  it("is judged for good before an open payment alone, for an hour", () => {
    const [open, ended] = [{ ...paid("p", 10n, 20n), isOpen: true }, paid("q", 10n, 20n)]
    const until = (payment: KnownPayment, ...rows: ReadonlyArray<ReturnType<typeof row>>) =>
      explainDebits(before, { payments: [payment], balances: balancesOf(rows) }).baseline.until / second
    assert.strictEqual(until(open, row(2n, 110n), row(3n, 100n)), 2n)
    assert.strictEqual(until(ended, row(2n, 110n), row(3n, 100n)), 3n)
    assert.strictEqual(until(open, row(3n, 90n), row(3_602n, 90n)), 1n)
    assert.strictEqual(until(open, row(3n, 90n), row(3_604n, 90n)), 3n)
  })

  const moved = (at: bigint, transferId: string, quantity = 10n, type = "TRANSFER_TYPE_TRANSFER_FUNDS_SEND") => ({
    timestamp: at * second + 1_000n,
    quantity,
    type,
    asset: "a",
    transferId,
  })
  const out = (at: bigint) => moved(at, "", 10n, "TRANSFER_TYPE_WITHDRAW")
  const listed = (id: string, at: bigint, amount = 10n) => ({
    id,
    to: "",
    asset: "a",
    amount,
    reference: "",
    status: "done",
    timestamp: at * second,
  })
  const told = (entries: Movements["entries"], known: ReadonlyArray<string>, more: Partial<Movements> = {}) => ({
    entries,
    known: new Set(known),
    withdrawals: [],
    ...more,
  })
  const rows = [row(2n, 90n), row(3n, 80n)]
  const byMovements = [
    ["trading, which moves nothing to others", told([], []), []],
    ["transfers that are known, a recurring one twice", told([moved(2n, "t"), moved(3n, "t")], ["t"]), []],
    ["none that is unknown", told([moved(2n, "t"), moved(3n, "s")], ["t"]), [["s", "transfer"]]],
    ["none that is unknown, told once", told([moved(2n, "s"), moved(3n, "s")], []), [["s", "transfer"]]],
    ["nothing that was before", told([moved(1n, "s"), moved(2n, "t")], ["t"]), []],
    [
      "withdrawals by their time and amount, each once",
      told([out(2n), out(3n), out(3n)], ["w", "v"], { withdrawals: [listed("v", 3n), listed("w", 2n)] }),
      [[`debit ${3n * second + 1_000n}`, "withdrawal"]],
    ],
    [
      "no withdrawal of another amount or block",
      told([out(2n)], ["w", "v"], { withdrawals: [listed("v", 2n, 9n), listed("w", 4n)] }),
      [[`debit ${2n * second + 1_000n}`, "withdrawal"]],
    ],
    [
      "of two withdrawals of an amount the one that began later, beside a movement",
      told([out(3n)], ["v"], {
        withdrawals: [
          { ...listed("u", 3n), timestamp: 3n * second - 700n },
          listed("v", 3n),
          { ...listed("w", 3n), timestamp: 3n * second - 500n },
        ],
      }),
      [],
    ],
    ["no movement without an id", told([moved(2n, "")], []), [[`debit ${2n * second + 1_000n}`, "fall"]]],
  ] as const

  it.each(byMovements)("is among movements %s", (_, movements, expected) => {
    const { unexplained, baseline } = explainDebits(before, { movements, payments: [], balances: balancesOf(rows) })
    assert.deepStrictEqual(
      unexplained.map(({ id, kind }) => [id, kind]),
      expected.map(([id, kind]) => [id, kind]),
    )
    assert.strictEqual(baseline.until, 3n * second)
  })

  it("is judged for good up to the mark of complete movements, and found before", () => {
    const movements = told([moved(3n, "s")], [])
    const upTo = (end: bigint) => explainDebits(before, { movements, payments: [], balances: balancesOf(rows, end) })
    assert.deepStrictEqual(
      [0n, 2n * second, 2n * second + 1n, 4n * second].map((end) => upTo(end).baseline.until / second),
      [1n, 1n, 2n, 3n],
    )
    assert.lengthOf(upTo(0n).unexplained, 1)
    const later = balancesOf([...rows, row(3_603n, 80n)], 0n)
    assert.strictEqual(explainDebits(before, { movements, payments: [], balances: later }).baseline.until, 2n * second)
    assert.deepStrictEqual(upTo(3n * second).baseline.held.get("a"), { balance: 90n, since: 2n * second })
  })

  it("may be a known transfer once more, where no payment is left for its movement", () => {
    const againAmong = (payments: ReadonlyArray<KnownPayment>) =>
      explainDebits(before, {
        movements: told([moved(2n, "p"), moved(3n, "p")], ["p"]),
        payments,
        balances: balancesOf(rows),
      }).again
    assert.deepStrictEqual(againAmong([paid("p", 10n, 2n)]), ["p"])
    assert.deepStrictEqual(againAmong([paid("p", 10n, 2n, { times: 2 })]), [])
  })
})
