import { assert, describe, it } from "@effect/vitest"
import { type Belief, believed, doubted, fits, headBounds, nothingBelieved } from "../../src/rules/headBelief.ts"
import { lowForLong, lowNow } from "../../src/rules/lowHeads.ts"

const start = 1_700_000_000_000
const at = (second: number) => start + second * 1_000

type Told = readonly [second: number, height: bigint]

const play = (told: ReadonlyArray<Told>, from: Belief = nothingBelieved): Belief =>
  told.reduce((belief, [second, height]) => {
    const one = { height, rows: undefined }
    return fits(belief, one, at(second), headBounds)
      ? believed(belief, one, at(second))
      : doubted(belief, { ...one, now: at(second), bounds: headBounds })
  }, from)

const seconds = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)
const honest = (from: number, to: number) => seconds(from, to).map((s): Told => [s, 1_000n + BigInt(s)])
/** One of three nodes tells block 1,000 for ever. */
const frozen = (from: number, to: number) =>
  honest(from, to).map(([s, height]): Told => [s, s % 3 === 0 ? 1_000n : height])

/** A gateway that is asked once in so many seconds, where every other answer is of a node that stands still. */
const slow = (every: number, from: number, to: number): ReadonlyArray<Told> =>
  honest(0, 0).concat(
    seconds(Math.ceil(from / every), Math.floor(to / every)).map((n) => [
      n * every,
      n % 2 === 0 ? 1_000n : 1_000n + BigInt(n * every),
    ]),
  )

/** What keeps blocks from being sure at a second, and what of it people hear. */
const seen = ({ low, trusted }: Belief, second: number) => [
  lowNow(low, trusted?.at, at(second)),
  lowForLong(low, trusted?.at, at(second)),
]

describe("blocks far below the trusted one, told in between", () => {
  it.each<[string, ReadonlyArray<Told>, number, ReadonlyArray<bigint | undefined>]>([
    ["are none where all answers go on", honest(0, 400), 400, [undefined, undefined]],
    ["are none where nodes differ by a few blocks", frozen(0, 10), 10, [undefined, undefined]],
    ["keep blocks from being sure", frozen(0, 20), 20, [1_000n, undefined]],
    ["are told of after five minutes", frozen(0, 312), 312, [1_000n, 1_000n]],
    ["and not before", frozen(0, 311), 311, [1_000n, undefined]],
    ["are told of where answers come every 35 s", slow(35, 35, 420), 420, [1_000n, 1_000n]],
    ["and not before either", slow(35, 35, 385), 385, [1_000n, undefined]],
    ["are told of where answers come every two minutes", slow(120, 120, 720), 720, [1_000n, 1_000n]],
    [
      "are over where later blocks alone come every 35 s",
      [...slow(35, 35, 420), [455, 1_455n], [525, 1_525n]],
      525,
      [undefined, undefined],
    ],
    [
      "are not told of for one, followed by silence",
      [...honest(0, 20), [21, 1_000n], [22, 1_022n]],
      400,
      [undefined, undefined],
    ],
    ["are over a minute after the last", [...frozen(0, 400), ...honest(401, 460)], 460, [undefined, undefined]],
    [
      "begin the time anew then",
      [...frozen(0, 400), ...honest(401, 500), ...frozen(501, 700)],
      700,
      [1_000n, undefined],
    ],
    ["are a doubt where nothing else is told", [...honest(0, 50), [51, 5n], [400, 6n]], 400, [undefined, undefined]],
    [
      "count from the first again where the clock is put back",
      [...frozen(0, 400), [9, 5n], [10, 1_400n]],
      10,
      [5n, undefined],
    ],
  ])("%s", (_, told, second, expected) => assert.deepStrictEqual(seen(play(told), second), [...expected]))

  it("have one beginning over pauses of less than an hour", () => {
    const once = play([...frozen(0, 400), ...honest(401, 3_000), ...frozen(3_001, 3_400)])
    assert.strictEqual(once.low?.first, at(12))
    const anew = play([...honest(3_401, 7_200), ...frozen(7_201, 7_210)], once)
    assert.strictEqual(anew.low?.first, at(7_203))
  })

  it("always count: a chain that stands still looks the same", () => {
    assert.strictEqual(play(frozen(0, 7_200)).stood?.height, 1_000n)
    const over = play([...frozen(0, 7_200), ...honest(7_201, 7_230)])
    assert.isAtLeast(Number(over.stood?.height), 8_200)
  })
})
