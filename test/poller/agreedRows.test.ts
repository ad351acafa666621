import { assert, describe, it } from "@effect/vitest"
import { baseUnits } from "../../src/domain/Amount.ts"
import type { BalanceChange } from "../../src/domain/Balance.ts"
import { agreedRows, type NamedAnswer, noAnswer } from "../../src/poller/agreedRows.ts"
import type { WindowAnswer } from "../../src/poller/askWindow.ts"
import { judged, nothingCompared } from "../../src/poller/Comparison.ts"
import { makeDice } from "../support/Dice.ts"
import { textOf } from "../support/Poller.ts"

const row = (timestamp: bigint, balance = timestamp, party = "alice"): BalanceChange => ({
  timestamp,
  party,
  asset: "usdt",
  market: "",
  type: "ACCOUNT_TYPE_GENERAL",
  balance: baseUnits(balance),
})
type Rows = WindowAnswer & { readonly _tag: "Rows" }
const rowsOf = (until: bigint, rows: ReadonlyArray<BalanceChange>, more: Partial<Rows> = {}): Rows => ({
  _tag: "Rows",
  rows,
  unsettled: [],
  until,
  height: until,
  more: false,
  cut: "no",
  mark: { height: until + 1n, timestamp: until },
  ...more,
})
const given = (...answers: ReadonlyArray<WindowAnswer>): ReadonlyArray<NamedAnswer> =>
  answers.map((answer, i) => ({ name: "abcdef"[i]!, answer }))

const agreedOf = (all: ReadonlyArray<NamedAnswer>, quorum = 2, since = 10n) => {
  const agreement = agreedRows(all, quorum, since)
  if (agreement._tag !== "Agreed") return assert.fail(`${agreement._tag}`)
  return agreement
}

describe("rows that gateways give alike", () => {
  it("reach up to the newest block that a quorum has begun", () => {
    const { answer, by, apart } = agreedOf(
      given(rowsOf(30n, [row(25n), row(12n)]), rowsOf(20n, [row(12n)]), rowsOf(22n, [row(12n)])),
    )
    assert.deepStrictEqual([answer.until, answer.rows.map(textOf)], [22n, [textOf(row(12n))]])
    assert.deepStrictEqual([by, apart], [["a", "c"], []])
  })

  it("tell who gave others", () => {
    const { answer, by, apart } = agreedOf(
      given(rowsOf(20n, [row(12n, 999n)]), rowsOf(20n, [row(12n)]), rowsOf(20n, [row(12n)])),
    )
    assert.deepStrictEqual([by, apart], [["b", "c"], ["a"]])
    assert.deepStrictEqual(answer.rows.map(textOf), [textOf(row(12n))])
    const missing = agreedOf(given(rowsOf(20n, []), rowsOf(20n, [row(12n)]), rowsOf(20n, [row(12n)])))
    assert.deepStrictEqual(missing.apart, ["a"])
  })

  it("are none where no quorum gives the same, which names the sides", () => {
    const two = agreedRows(given(rowsOf(20n, [row(12n, 999n)]), rowsOf(20n, [row(12n)])), 2, 10n)
    assert.deepStrictEqual(two, { _tag: "Apart", until: 20n, detail: "a, b show different balance changes" })
    const five = given(...[1n, 1n, 2n, 2n, 3n].map((balance) => rowsOf(20n, [row(12n, balance)])))
    const sides = agreedRows(five, 3, 10n)
    assert.strictEqual(sides._tag === "Apart" && sides.detail, "a and b, c and d, e show different balance changes")
  })

  it("are awaited while fewer than a quorum have anything new", () => {
    const ahead: WindowAnswer = { _tag: "Ahead", mark: { height: 1n, timestamp: 1n } }
    assert.deepStrictEqual(agreedRows(given(rowsOf(20n, []), ahead, noAnswer), 2, 10n), {
      _tag: "Waiting",
      answer: ahead,
    })
    assert.deepStrictEqual(agreedRows([], 2, 10n), { _tag: "Waiting", answer: noAnswer })
  })

  it("come late, from before the watermark, only where a quorum shows them", () => {
    const late = row(5n, 7n)
    const forged = row(9n, 1_000_000n)
    const one = agreedOf(given(rowsOf(20n, [forged, row(12n)]), rowsOf(20n, [row(12n)]), rowsOf(20n, [row(12n)])))
    assert.deepStrictEqual(one.answer.rows.map(textOf), [textOf(row(12n))], "one of three forges nothing")
    const twice = agreedOf(given(rowsOf(20n, [forged, forged, row(12n)]), rowsOf(20n, [row(12n)])))
    assert.deepStrictEqual(twice.answer.rows.map(textOf), [textOf(row(12n))], "nor by saying it twice")
    const two = agreedOf(given(rowsOf(20n, [late, row(12n)]), rowsOf(20n, []), rowsOf(20n, [late, row(12n)])))
    assert.deepStrictEqual(two.answer.rows.map(textOf), [late, row(12n)].map(textOf))
  })

  it("call for more at once only where a quorum has more", () => {
    assert.isFalse(agreedOf(given(rowsOf(30n, []), rowsOf(20n, []), rowsOf(20n, []))).answer.more)
    assert.isFalse(agreedOf(given(rowsOf(20n, [], { more: true }), rowsOf(20n, []))).answer.more)
    assert.isTrue(agreedOf(given(rowsOf(20n, [], { more: true }), rowsOf(20n, [], { more: true }))).answer.more)
  })

  it("are of a height that no single one can push up", () => {
    const high = rowsOf(20n, [], { height: 10n ** 18n })
    assert.strictEqual(agreedOf(given(high, rowsOf(20n, []), rowsOf(20n, []))).answer.height, 20n)
    assert.strictEqual(agreedOf(given(high, rowsOf(22n, []))).answer.height, 22n, "the other is there and further")
    assert.strictEqual(agreedOf(given(rowsOf(20n, [], { height: 0n }), rowsOf(22n, []))).answer.height, 0n, "not known")
  })

  it("hold nothing that one liar of three invented, and miss nothing", () => {
    for (let seed = 0; seed < 500; seed++) {
      const dice = makeDice(`agreed ${seed}`)
      const some = (from: number, n: number) =>
        Array.from({ length: n }, () => row(BigInt(from + dice.below(30)), BigInt(dice.below(3)), "abc"[dice.below(3)]))
      const ledger = some(10, dice.below(8))
      const show = (until: bigint) =>
        rowsOf(
          until,
          ledger.filter(({ timestamp }) => timestamp < until),
        )
      const [one, other] = [BigInt(11 + dice.below(30)), BigInt(11 + dice.below(30))]
      const lie = rowsOf(BigInt(11 + dice.below(60)), [...some(0, dice.below(4)), ...ledger.slice(dice.below(4))])
      const places = [show(one), show(other)].toSpliced(dice.below(3), 0, lie)
      const agreement = agreedRows(given(...places), 2, 10n)
      if (agreement._tag !== "Agreed") continue
      const { answer } = agreement
      const truth = ledger.filter(({ timestamp }) => timestamp < answer.until)
      assert.deepStrictEqual(answer.rows.map(textOf).sort(), truth.map(textOf).sort(), `seed ${seed}`)
      assert.isTrue(answer.until <= (one > other ? one : other), `seed ${seed}: no further than an honest one is`)
    }
  })
})

describe("rows held against several listings", () => {
  const of = (agreeing: string, differing: string, silent = "") => ({
    ...nothingCompared(),
    agreeing: new Set(agreeing),
    differing: new Set(differing),
    silent: new Set(silent),
  })
  const three = { gateways: 3, quorum: 2 }

  it("are right by quorum, in doubt without one, else another is asked", () => {
    assert.strictEqual(judged(of("a", ""), { gateways: 1, quorum: 1 }), "agreed")
    assert.strictEqual(judged(of("", "a"), { gateways: 1, quorum: 1 }), "drift")
    assert.strictEqual(judged(of("ab", "c"), three), "agreed")
    assert.strictEqual(judged(of("a", "b"), three), "more")
    assert.strictEqual(judged(of("a", "bc"), three), "drift")
    assert.strictEqual(judged(of("ab", "c"), { gateways: 3, quorum: 3 }), "drift")
  })

  it("are neither right nor in doubt by who tells nothing", () => {
    assert.strictEqual(judged(of("a", "", "bc"), three), "more")
    assert.strictEqual(judged(of("a", "b", "c"), three), "more")
    assert.strictEqual(judged(of("", "", "abc"), three), "more")
  })
})
