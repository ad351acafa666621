import { assert, describe, it } from "@effect/vitest"
import {
  type Belief,
  begunAgain,
  begunAnew,
  believed,
  ceilingOf,
  doubted,
  fits,
  headBounds,
  isPlausible,
  type NamedBlock,
  nothingBelieved,
  reviewed,
  taken,
} from "../../src/rules/headBelief.ts"

const wild = 9_000_000_000_000_000_000n
const start = 1_700_000_000_000

/** What one gateway tells at a second, and its row headers' block, where it names one. */
type Told = readonly [second: number, height: bigint, rows?: bigint]

/** All answers of a gateway that is alone, one after the other, as the adapter judges them. */
const play = (told: ReadonlyArray<Told>, from: Belief = nothingBelieved): Belief =>
  told.reduce((belief: Belief, [second, height, block]) => {
    const now = start + second * 1_000
    const rows: NamedBlock | undefined = block === undefined ? undefined : { height: block, at: now }
    const before = reviewed(belief, [{ height, rows }], { quorum: 1, bounds: headBounds })
    const one = { height, rows }
    return fits(before, one, now, headBounds)
      ? believed(before, one, now)
      : doubted(before, { ...one, now, bounds: headBounds })
  }, from)

const shown = ({ trusted, doubt }: Belief) => [trusted?.height, doubt?.height]
const seconds = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)
/** One block a second from block 1,000 on, in chain and rows. */
const honest = (from: number, to: number) =>
  seconds(from, to).map((s): Told => [s, 1_000n + BigInt(s), 1_000n + BigInt(s)])

describe("a height is plausible after another", () => {
  it.each<[string, bigint, number, boolean]>([
    ["the same", 5_000n, 0, true],
    ["1,000 blocks on at once", 6_000n, 0, true],
    ["one more at once", 6_001n, 0, false],
    ["20 blocks more a second later", 6_020n, 1, true],
    ["21 blocks more a second later", 6_021n, 1, false],
    ["a week of one block a second", 5_000n + 604_800n, 604_800, true],
    ["a night of one block a second", 5_000n + 28_800n, 28_800, true],
    ["ten blocks back", 4_990n, 0, true],
    ["eleven blocks back", 4_989n, 0, false],
    ["eleven blocks back after a week", 4_989n, 604_800, false],
    ["1,000 blocks on where the clock was put back", 6_000n, -90_000, true],
    ["one more where the clock was put back", 6_001n, -90_000, false],
    ["far more where the clock went 25 h forward", 5_000n + 1_000_000n, 90_000, true],
    ["9*10^18", wild, 0, false],
    ["9*10^18 after a year", wild, 31_536_000, false],
  ])("%s", (_, height, elapsed, plausible) => {
    const after = { height: 5_000n, at: start }
    assert.strictEqual(isPlausible(height, after, start + elapsed * 1_000, headBounds), plausible)
  })

  it("has a ceiling that takes fractions of a second", () =>
    assert.strictEqual(ceilingOf({ height: 0n, at: start }, start + 550, headBounds), 1_011n))
})

describe("a belief in heads", () => {
  it.each<[string, ReadonlyArray<Told>, ReadonlyArray<bigint | undefined>]>([
    ["the first is believed at once", [[0, 1_000n]], [1_000n, undefined]],
    ["the first that row headers contradict is not", [[0, wild, 1_000n]], [undefined, wild]],
    ["nor a first that they are far above", [[0, 5n, 1_000n]], [undefined, 5n]],
    [
      "what is behind by ten stays below what was believed",
      [
        [0, 1_000n],
        [1, 990n],
      ],
      [1_000n, undefined],
    ],
    [
      "steps back do not add up",
      [
        [0, 1_000n],
        [1, 992n],
        [2, 984n],
      ],
      [1_000n, 984n],
    ],
    [
      "a wild one is doubted",
      [
        [0, 1_000n],
        [1, wild],
      ],
      [1_000n, wild],
    ],
    [
      "the next plausible answer ends the doubt",
      [
        [0, 1_000n],
        [1, wild],
        [5, 1_005n],
      ],
      [1_005n, undefined],
    ],
    [
      "four seconds of it leave nothing",
      [...honest(0, 9), [10, wild], [13, wild], ...honest(14, 20)],
      [1_020n, undefined],
    ],
    [
      "standing still it is never believed where no rows are",
      [[0, 1_000n], ...seconds(1, 600).map((s): Told => [s, wild])],
      [1_000n, wild],
    ],
    [
      "nor where the rows go on",
      [[0, 1_000n], ...seconds(1, 600).map((s): Told => [s, wild, 1_000n + BigInt(s)])],
      [1_000n, wild],
    ],
    [
      "growing slowly it is, where no rows contradict",
      [[0, 1_000n], ...seconds(1, 31).map((s): Told => [s, wild + BigInt(s)])],
      [wild + 31n, undefined],
    ],
    [
      "growing slowly it is not where they do",
      [[0, 1_000n], ...seconds(1, 600).map((s): Told => [s, wild + BigInt(s), 1_000n])],
      [1_000n, wild + 600n],
    ],
    [
      "nor before 30 seconds",
      [[0, 1_000n], ...seconds(1, 30).map((s): Told => [s, wild + BigInt(s)])],
      [1_000n, wild + 30n],
    ],
    [
      "nor with two answers",
      [
        [0, 1_000n],
        [1, wild],
        [40, wild + 1n],
      ],
      [1_000n, wild + 1n],
    ],
    [
      "three answers suffice",
      [
        [0, 1_000n],
        [1, wild],
        [20, wild + 1n],
        [40, wild + 2n],
      ],
      [wild + 2n, undefined],
    ],
    [
      "wild jumps begin the time anew",
      [
        [0, 1_000n],
        [1, wild],
        [20, wild + 100_000n],
        [40, wild + 1n],
        [60, wild + 2n],
      ],
      [1_000n, wild + 2n],
    ],
    [
      "a chain that stands still is believed while its rows' block does",
      [
        [0, 1_000n],
        [1, 50n, 50n],
        [16, 50n, 50n],
        [31, 50n, 50n],
      ],
      [50n, undefined],
    ],
    [
      "a chain that began anew is believed after 30 seconds",
      [[0, 1_000n], ...seconds(1, 31).map((s): Told => [s, BigInt(s), BigInt(s)])],
      [31n, undefined],
    ],
    [
      "a false first belief is forgotten when rows contradict it",
      [
        [0, wild],
        [1, 1_001n, 1_001n],
      ],
      [1_001n, undefined],
    ],
    [
      "and taken back by persistence where there are none",
      [[0, wild], ...seconds(1, 31).map((s): Told => [s, 1_000n + BigInt(s)])],
      [1_031n, undefined],
    ],
    [
      "a plausible lie is taken back in the same way",
      [[0, 1_000n], [1, 1_999n], ...honest(2, 32)],
      [1_032n, undefined],
    ],
    ["and not before", [[0, 1_000n], [1, 1_999n], ...honest(2, 31)], [1_999n, 1_031n]],
    ["an outage of a week is none", [...honest(0, 5), [604_800, 605_800n, 605_790n]], [605_800n, undefined]],
  ])("%s", (_, told, expected) => assert.deepStrictEqual(shown(play(told)), [...expected]))

  it("counts a new epoch if the chain went back, and only then", () => {
    const back = play([[0, 1_000n], ...seconds(1, 31).map((s): Told => [s, BigInt(s), BigInt(s)])])
    assert.strictEqual(back.trusted?.epoch, 1)
    const on = play([[0, 1_000n], ...seconds(1, 31).map((s): Told => [s, wild + BigInt(s)])])
    assert.strictEqual(on.trusted?.epoch, 0)
    assert.strictEqual(play(honest(0, 5), back).trusted?.height, 1_005n)
  })

  it("continues over a clock that is put back, for 30 seconds at most", () => {
    const doubtful = play([[0, 1_000n], ...seconds(1, 20).map((s): Told => [s, BigInt(s), BigInt(s)])])
    const later = seconds(21, 52).map((s): Told => [s - 90_000, BigInt(s), BigInt(s)])
    assert.deepStrictEqual(shown(play(later.slice(0, 29), doubtful)), [1_000n, 49n])
    assert.deepStrictEqual(shown(play(later, doubtful)), [52n, undefined])
    assert.strictEqual(play(later.slice(0, 1), doubtful).doubt?.since, start - 89_979_000)
  })

  it("is what people say it is where they take a head", () => {
    const belief = play([
      [0, 1_000n],
      [1, 50n],
    ])
    assert.deepStrictEqual(taken(belief, 50n, start), {
      trusted: { height: 50n, at: start, epoch: 1, isFirst: false },
      doubt: undefined,
      stood: { height: 0n, next: { height: 50n, at: start } },
    })
  })

  describe("of a chain that begins again", () => {
    const nanos = (second: number) => BigInt(start + second * 1_000) * 1_000_000n
    /** Head and row headers of a node of which the newest block is of this second, or of another. */
    const node = (belief: Belief, second: number, height: bigint, blockSecond = second): Belief => {
      const now = start + second * 1_000
      const one = { height, rows: { height, at: now, timestamp: nanos(blockSecond) } }
      return fits(belief, one, now, headBounds)
        ? believed(belief, one, now)
        : doubted(belief, { ...one, now, bounds: headBounds })
    }
    /** It has stood: no answer of the last seconds was below it. */
    const known = seconds(-30, 0).reduce((belief, s) => node(belief, s, 1_000n), nothingBelieved)
    const anew = (last: number, from: Belief = known) =>
      seconds(1, last).reduce((belief, s) => node(belief, s, BigInt(s)), from)

    it("is never believed by itself, and told of after half a minute", () => {
      assert.strictEqual(known.block?.height, 1_000n)
      assert.strictEqual(begunAgain(anew(30), start + 30_000), undefined)
      assert.strictEqual(begunAgain(anew(31), start + 31_000)?.begunBelow, 1_000n)
      const belief = anew(600)
      assert.deepStrictEqual([belief.trusted?.height, belief.block?.height], [1_000n, 1_000n])
      assert.strictEqual(belief.doubt?.why, "its chain begins again: block 600 came later than block 1000")
    })

    it("is remembered by a process that has no row headers yet", () => {
      const belief = doubted(anew(20), { height: 60n, rows: undefined, now: start + 60_000, bounds: headBounds })
      assert.strictEqual(belief.trusted?.height, 1_000n)
      assert.strictEqual(begunAgain(belief, start + 60_000)?.begunBelow, 1_000n)
    })

    it("is over with the first answer of the right one", () => {
      const belief = node(anew(40), 41, 1_041n)
      assert.deepStrictEqual([belief.trusted?.height, belief.doubt, belief.trusted?.epoch], [1_041n, undefined, 0])
    })

    it("is none where a node is behind: its lower block is older", () => {
      const belief = seconds(1, 31).reduce((one, s) => node(one, s, 500n + BigInt(s), s - 500), known)
      assert.deepStrictEqual([belief.trusted?.height, belief.trusted?.epoch], [531n, 1])
    })

    it("is seen as well where a lower head was believed before its rows came", () => {
      const low = play(
        seconds(1, 31).map((s): Told => [s, BigInt(s), BigInt(s)]),
        known,
      )
      assert.deepStrictEqual([low.trusted?.height, low.block?.height], [31n, 1_000n])
      const belief = seconds(32, 70).reduce((one, s) => node(one, s, BigInt(s)), low)
      assert.strictEqual(begunAgain(belief, start + 70_000)?.begunBelow, 1_000n)
    })

    it("is the chain from then on where people accept it", () => {
      const belief = begunAnew(anew(40), 40n, start + 40_000)
      assert.deepStrictEqual(belief, {
        trusted: { height: 40n, at: start + 40_000, epoch: 1, isFirst: false },
        doubt: undefined,
        stood: { height: 0n, next: { height: 40n, at: start + 40_000 } },
      })
      const later = seconds(41, 80).reduce((one, s) => node(one, s, BigInt(s)), belief)
      assert.deepStrictEqual(later.block, { height: 70n, timestamp: nanos(70) })
    })

    it("has no anchor in row headers far above head or clock", () => {
      const told = (height: bigint, second: number) =>
        seconds(1, 30).reduce(
          (belief, s) =>
            believed(
              belief,
              { height: 1_001n, rows: { height, at: start, timestamp: nanos(s + second) } },
              start + s * 1_000,
            ),
          known,
        ).block?.height
      assert.strictEqual(told(1_600n, 0), 1_000n)
      assert.strictEqual(told(1_001n, 40), 1_000n)
      assert.strictEqual(told(1_001n, 0), 1_001n)
    })

    it("ends after a short lie, even if head and row headers agree", () => {
      const lied = seconds(1, 8).reduce((belief, s) => node(belief, s, 1_900n + BigInt(s)), known)
      const belief = seconds(9, 60).reduce((one, s) => node(one, s, 1_000n + BigInt(s)), lied)
      assert.deepStrictEqual([belief.trusted?.height, belief.doubt, belief.trusted?.epoch], [1_060n, undefined, 1])
    })
  })

  it("says what is wrong in words", () => {
    assert.strictEqual(
      play([
        [0, 1_000n],
        [1, wild],
      ]).doubt?.why,
      `block ${wild} is above block 2020, the highest that can be begun by now`,
    )
    assert.strictEqual(
      play([
        [0, 1_000n],
        [1, 7n, 1_001n],
      ]).doubt?.why,
      "block 7 is far below block 1000, which was believed, and its row headers name block 1001",
    )
  })
})
