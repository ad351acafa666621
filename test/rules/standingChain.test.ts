import { assert, describe, it } from "@effect/vitest"
import { type Belief, believed, doubted, fits, headBounds, nothingBelieved } from "../../src/rules/headBelief.ts"

const start = 1_700_000_000_000

/** What one gateway tells at a second, and its row headers' block, where it names one. */
type Told = readonly [second: number, height: bigint, rows?: bigint | undefined]

const play = (told: ReadonlyArray<Told>): Belief =>
  told.reduce((belief: Belief, [second, height, block]) => {
    const now = start + second * 1_000
    const one = { height, rows: block === undefined ? undefined : { height: block, at: now } }
    return fits(belief, one, now, headBounds)
      ? believed(belief, one, now)
      : doubted(belief, { ...one, now, bounds: headBounds })
  }, nothingBelieved)

const seconds = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)
/** A block a second, and then four seconds of a head that is 900 ahead. */
const lied: ReadonlyArray<Told> = [
  ...seconds(0, 9).map((s): Told => [s, 1_000n + BigInt(s), 1_000n + BigInt(s)]),
  ...seconds(10, 13).map((s): Told => [s, 1_900n + BigInt(s), 1_009n]),
]
const still = (from: number, to: number, rows?: bigint) => seconds(from, to).map((s): Told => [s, 1_010n, rows])

describe("a chain that stands still after four seconds of a false height", () => {
  it.each<[string, ReadonlyArray<Told>]>([
    ["the rows name the same block", still(14, 44, 1_010n)],
    ["the rows came to the block a second later", [[14, 1_010n, 1_009n], ...still(15, 45, 1_010n)]],
    ["a new process has no row headers at first", [...still(14, 14), ...still(15, 45, 1_010n)]],
    ["the rows stay one block behind", [...still(14, 14), ...still(15, 45, 1_009n)]],
    ["one answer was a block ahead", [[14, 1_010n, 1_010n], [15, 1_011n, 1_010n], ...still(16, 44, 1_010n)]],
    ["a clock is put back", [...still(50, 79, 1_010n), ...still(20, 50, 1_010n)]],
  ])("is believed again after 30 seconds where %s", (_, told) => {
    assert.isDefined(play([...lied, ...told.slice(0, -1)]).doubt)
    const { trusted, doubt } = play([...lied, ...told])
    assert.deepStrictEqual([trusted?.height, doubt], [1_010n, undefined])
  })

  it.each<[string, ReadonlyArray<Told>]>([
    ["no rows are named", still(14, 3_600)],
    ["the rows go on", seconds(14, 900).map((s): Told => [s, 1_950n, 1_000n + BigInt(s)])],
    [
      "the rows go on, seen every third second alone",
      seconds(14, 900).map((s): Told => [s, 1_950n, 1_000n + BigInt(s - (s % 3))]),
    ],
    ["two answers come in a minute", [14, 74].map((s): Told => [s, 1_010n, 1_010n])],
  ])("is not believed where %s", (_, told) => {
    const known = seconds(0, 13).map((s): Told => [s, 5_000n, 5_000n])
    assert.isDefined(play([...known, ...told]).doubt)
  })
})
