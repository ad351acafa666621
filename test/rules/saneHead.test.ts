import { assert, describe, it } from "@effect/vitest"
import {
  acceptAfterResume,
  afterHead,
  type HeadKnown,
  headFits,
  isAnotherChain,
  isStrayBlock,
  type ReportedHead,
} from "../../src/rules/saneHead.ts"

const start = 1_700_000_000_000
const at = (second: number): number => start + second * 1_000
const timeOf = (second: number): bigint => BigInt(at(second)) * 1_000_000n

/** A head, and where there are row headers their block and its second. */
type Answer = readonly [second: number, height: bigint, rows?: readonly [height: bigint, second: number]]

const told = ([, height, rows]: Answer): ReportedHead => ({
  height,
  rows: rows && { height: rows[0], timestamp: timeOf(rows[1]) },
})
const hear = (known: HeadKnown, ...answers: ReadonlyArray<Answer>): HeadKnown =>
  answers.reduce((before, answer) => afterHead(before, told(answer), at(answer[0])), known)
/** Block 1,000 is accepted in second 0, with its time. */
const known = hear({}, [-10, 990n, [990n, -10]], [0, 1_000n, [1_000n, 0]])
const outcome = ({ accepted, stray }: HeadKnown) => stray?.kind ?? String(accepted?.height)
/** One answer a second of a chain with a block a second. */
const seconds = (from: number, to: number, of: (second: number) => Answer): ReadonlyArray<Answer> =>
  Array.from({ length: to - from + 1 }, (_, i) => of(from + i))

describe("the first head of a chain", () => {
  it("counts once a second one fits it ten seconds later", () => {
    assert.strictEqual(outcome(hear({}, [0, 50n])), "first")
    assert.strictEqual(outcome(hear({}, [0, 50n], [9.9, 60n])), "first")
    assert.strictEqual(outcome(hear({}, [0, 50n], [10, 60n])), "60")
  })

  it("is another where the next one does not fit it", () => {
    const lied = hear({}, [0, 9_000_000n], [5, 50n])
    assert.strictEqual(outcome(hear(lied, [10, 55n])), "first")
    assert.strictEqual(outcome(hear(lied, [15, 60n])), "60")
  })

  it("does not count, however long it lasts, where it is 51 blocks above its own row headers", () => {
    const lies = seconds(0, 60, (second) => [second, BigInt(100_061 + second), [BigInt(10 + second), second]])
    assert.strictEqual(outcome(hear({}, ...lies)), "first")
    assert.strictEqual(outcome(hear({}, ...lies, [61, 71n, [71n, 61]], [71, 81n, [81n, 71]])), "81")
    assert.strictEqual(outcome(hear({}, [0, 60n, [10n, 0]], [10, 70n, [20n, 10]])), "70", "50 blocks are usual")
    assert.strictEqual(outcome(hear({}, [0, 61n, [10n, 0]], [10, 71n, [20n, 10]])), "first")
  })

  it("begins again where the clock is put back", () => {
    assert.strictEqual(outcome(hear({}, [100, 50n], [0, 51n], [9, 60n])), "first")
    assert.strictEqual(outcome(hear({}, [100, 50n], [0, 51n], [10, 60n])), "60")
  })
})

describe("the next head", () => {
  it.each<[string, number, bigint, string]>([
    ["may be ten lower, and the highest stays", 1, 990n, "1000"],
    ["may not be eleven lower", 1, 989n, "behind"],
    ["may be ten higher at once", 0, 1_010n, "1010"],
    ["may not be eleven higher at once", 0, 1_011n, "higher"],
    ["may be twenty more a second later", 1, 1_030n, "1030"],
    ["may not be twenty-one more a second later", 1, 1_031n, "higher"],
    ["counts no time where the clock was put back", -3_600, 1_011n, "higher"],
  ])("%s", (_, second, height, expected) => {
    assert.strictEqual(outcome(hear(known, [second, height, [1_000n, 0]])), expected)
  })

  it.each<[string, ReadonlyArray<Answer>, string]>([
    [
      "no higher in many answers than in one",
      [
        [0, 1_005n],
        [0, 1_010n],
        [0, 1_011n],
      ],
      "higher",
    ],
    [
      "twenty more a second, whatever was ahead before",
      [
        [0, 1_010n],
        [1, 1_030n],
      ],
      "1030",
    ],
    [
      "not twenty-one more",
      [
        [0, 1_010n],
        [1, 1_031n],
      ],
      "higher",
    ],
    [
      "ten at once again when time has brought the first",
      [
        [0, 1_010n],
        [2, 1_011n],
        [2, 1_021n],
      ],
      "1021",
    ],
    [
      "ten at once after the clock was put back",
      [
        [100, 1_000n],
        [0, 1_010n],
      ],
      "1010",
    ],
  ])("may be %s", (_, answers, expected) => {
    assert.strictEqual(outcome(hear(known, ...answers)), expected)
  })
})

describe("what happens to chains", () => {
  it("a node behind: it is waited for, however long", () => {
    const behind = seconds(1, 4_000, (second) => [second, 500n + BigInt(second) / 20n, [500n, -500]])
    assert.strictEqual(outcome(hear(known, ...behind)), "behind")
    assert.strictEqual(outcome(hear(known, ...behind, [4_001, 5_001n, [5_001n, 4_001]])), "5001")
  })

  it("two nodes of different height behind one address: the later one counts between answers of the other", () => {
    const mixed = seconds(1, 600, (second) =>
      second % 2 === 0 ? [second, 900n, [900n, -100]] : [second, 1_000n + BigInt(second)],
    )
    assert.strictEqual(outcome(hear(known, ...mixed)), "behind")
    assert.strictEqual(hear(known, ...mixed).accepted?.height, 1_599n)
  })

  it("a node without block times: a lower line of five minutes is another chain", () => {
    const bare = hear({}, [-10, 990n], [0, 1_000n])
    const lower = seconds(1, 301, (second) => [second, BigInt(second)])
    assert.strictEqual(outcome(hear(bare, ...lower.slice(0, -1))), "lower")
    assert.strictEqual(outcome(hear(bare, ...lower)), "changed")
    assert.strictEqual(outcome(hear(bare, ...lower.slice(0, -1), [301, 1_300n], [302, 5n])), "lower", "it began anew")
  })

  it("a height that was never true, accepted after an hour of silence: people judge the heads below it", () => {
    const fooled = hear(known, [3_600, 70_000n, [1_000n, 0]])
    const lower = seconds(3_601, 3_901, (second) => [
      second,
      1_000n + BigInt(second),
      [1_000n + BigInt(second), second],
    ])
    assert.strictEqual(outcome(hear(fooled, ...lower.slice(0, -1))), "lower")
    assert.strictEqual(outcome(hear(fooled, ...lower)), "changed")
    assert.match(hear(fooled, ...lower).stray?.why ?? "", /below block 70000,/)
  })

  it("a node that is stuck while another one's rows go on: it is waited for", () => {
    const stuck = seconds(1, 600, (second) => [second, 900n, [1_000n + BigInt(second), second]])
    assert.strictEqual(outcome(hear(known, ...stuck)), "behind")
  })

  it("a node that is stuck, and whose rows lagged more before: it is waited for", () => {
    const later = seconds(0, 60, (second) => [second, 1_000n + BigInt(second), [1_000n, 0]])
    const stuck = seconds(61, 600, (second) => [second, 1_040n, [1_030n, 30]])
    assert.strictEqual(outcome(hear(known, ...later, ...stuck)), "behind")
  })

  it("a quiet chain: the same block counts for hours, and what follows it as well", () => {
    const quiet = Array.from({ length: 720 }, (_, i): Answer => [60 * i, 1_000n, [1_000n, 0]])
    assert.strictEqual(outcome(hear(known, ...quiet, [43_141, 1_001n, [1_001n, 43_141]])), "1001")
  })

  it("a week of outage: the first answer after it counts", () => {
    const week = 7 * 86_400
    assert.strictEqual(outcome(hear(known, [week, 1_000n + BigInt(week), [1_000n + BigInt(week), week]])), "605800")
  })

  it.each([6, -6])("our clock %i hours wrong: heads count by their heights", (hours) => {
    const wrong = hours * 3_600
    const heads = seconds(1, 30, (second) => [
      wrong + second,
      1_000n + BigInt(second),
      [1_000n + BigInt(second), second],
    ])
    assert.strictEqual(outcome(hear(known, ...heads)), "1030")
    assert.strictEqual(outcome(hear(known, ...heads, [31, 1_031n, [1_031n, 31]])), "1031", "it was put right")
  })

  it("a reset under the same chain id: its first answer is another chain, until a head fits", () => {
    const reset = hear(known, [60, 5n, [4n, 59]])
    assert.strictEqual(outcome(reset), "changed")
    assert.strictEqual(reset.stray?.why, "begins again below block 1000, which was known")
    assert.strictEqual(outcome(hear(reset, [61, 6n])), "changed", "a new process has no row headers yet")
    assert.strictEqual(outcome(hear(reset, [62, 1_062n, [1_062n, 62]])), "1062")
    assert.strictEqual(outcome(hear(acceptAfterResume(6n, at(61)), [62, 7n, [7n, 62]])), "7", "people accepted it")
  })

  it("a lie far above: it is not used for five minutes, nor after a head that fits", () => {
    const lie = seconds(1, 300, (second): Answer => [second, 9n * 10n ** 18n + BigInt(second), [1_000n, 0]])
    assert.strictEqual(outcome(hear(known, ...lie)), "higher")
    assert.strictEqual(outcome(hear(known, ...lie, [301, 1_301n, [1_301n, 301]])), "1301")
    assert.strictEqual(
      outcome(hear(known, ...lie, [301, 1_301n], ...lie.map(([s, h]): Answer => [s + 301, h]))),
      "higher",
    )
  })

  it("a higher line of five minutes: it is accepted where nodes differ by ten blocks, and not by more", () => {
    const line = seconds(1, 301, (second): Answer => [second, 1_000_000n + BigInt(second)])
    assert.strictEqual(outcome(hear(known, ...line)), "1000301")
    const apart = (blocks: bigint) => line.map(([s, h]): Answer => [s, s % 3 === 0 ? h - blocks : h])
    assert.strictEqual(outcome(hear(known, ...apart(9n))), "1000301")
    assert.strictEqual(outcome(hear(known, ...apart(12n))), "higher")
    const sinking = line.map(([s, h]): Answer => [s, h - 6n * BigInt(s)])
    assert.strictEqual(outcome(hear(known, ...sinking)), "higher", "each is near the one before it")
  })

  it("a clock that was a day ahead, then a gap, and nodes of different height: heads count after five minutes", () => {
    const ahead = hear(known, [86_400, 1_030n])
    const later = seconds(60, 361, (second): Answer => [second, 1_000n + BigInt(second) - (second % 2 === 0 ? 7n : 0n)])
    assert.strictEqual(outcome(hear(ahead, ...later.slice(0, 100))), "higher")
    assert.match(outcome(hear(ahead, ...later)), /^13[0-9]{2}$/)
  })

  it("a higher line that its row headers do not bear out: it is not used, however long it lasts", () => {
    const line = seconds(
      1,
      900,
      (second): Answer => [second, 100_000n + BigInt(second), [1_000n + BigInt(second), second]],
    )
    assert.strictEqual(outcome(hear(known, ...line)), "higher")
    assert.strictEqual(outcome(hear(known, ...line, [901, 1_901n, [1_901n, 901]])), "1901")
  })

  it("a higher line with its row headers, and the truth after it: another chain, for people", () => {
    const line = seconds(
      1,
      302,
      (second): Answer => [second, 100_000n + BigInt(second), [100_000n + BigInt(second), second]],
    )
    assert.strictEqual(outcome(hear(known, ...line, [303, 1_303n, [1_303n, 303]])), "changed")
  })

  it("a false time of rows makes no other chain: it is ahead of our clock", () => {
    const lied = hear(known, [1, 1_001n, [1_001n, 86_400]])
    assert.strictEqual(lied.accepted?.block?.height, 1_000n)
    assert.isFalse(isAnotherChain(told([2, 900n, [900n, -100]]), lied))
  })

  it("keeps since when no head fits, whatever is told instead", () => {
    const strays = hear(known, [1, 5_000n], [30, 10n, [10n, -1_000]], [60, 900_000n])
    assert.deepInclude(strays.stray, { kind: "higher", since: at(1), kindSince: at(60) })
  })
})

describe("row headers", () => {
  it.each<[number, number, bigint, boolean]>([
    [0, 0, 990n, false],
    [0, 0, 989n, true],
    [0, 0, 1_010n, false],
    [0, 0, 1_011n, true],
    [600, 0, 990n, false],
    [600, 0, 989n, true],
    [2, 2, 950n, false],
    [2, 2, 949n, true],
    [2, 0, 1_050n, false],
    [2, 0, 1_051n, true],
  ])("%i s after the head, waited for during %i s, block %i is stray: %s", (second, waited, height, expected) => {
    assert.strictEqual(isStrayBlock(height, known, at(second), at(second - waited)), expected)
  })

  it("count nothing while the chain is another one", () => {
    const reset = hear(known, [60, 5n, [4n, 59]])
    assert.isTrue(isStrayBlock(1_000n, reset, at(61)))
  })

  it("are judged by the first head before one is accepted, and by nothing before that", () => {
    assert.isFalse(isStrayBlock(9n, {}, start))
    assert.isTrue(isStrayBlock(9n, hear({}, [0, 50n]), start))
    assert.isFalse(headFits({}, 50n, start))
  })
})
