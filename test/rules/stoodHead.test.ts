import { assert, describe, it } from "@effect/vitest"
import { believed, doubted, headBounds, nothingBelieved, taken } from "../../src/rules/headBelief.ts"
import { type Stood, stoodAfter } from "../../src/rules/stoodHead.ts"

const start = 1_700_000_000_000

type Told = readonly [second: number, height: bigint]

const play = (told: ReadonlyArray<Told>, from?: Stood) =>
  told.reduce<Stood | undefined>((stood, [second, height]) => stoodAfter(stood, height, start + second * 1_000), from)
    ?.height
const honest = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i): Told => [from + i, 1_000n + BigInt(from + i)])

describe("a block that has stood", () => {
  it.each<[string, ReadonlyArray<Told>, bigint | undefined]>([
    ["is none before anything was told", [], undefined],
    ["is none for ten seconds", honest(0, 9), 0n],
    ["is the first one then", honest(0, 10), 1_000n],
    ["follows behind", honest(0, 35), 1_020n],
    ["is the lowest of those ten seconds", [...honest(0, 5), [6, 997n], ...honest(7, 10)], 997n],
    ["is not a lie of four seconds", [...honest(0, 12), [13, 1_900n], [16, 1_903n], ...honest(17, 30)], 1_020n],
    ["nor in it, wherever it begins", [...honest(0, 10), [10, 1_900n], [14, 1_904n]], 1_000n],
    ["nor one that lasts for ten", [...honest(0, 10), [11, 1_900n], [20, 1_909n]], 1_010n],
    ["is a jump that persists", [...honest(0, 10), [11, 1_900n], [20, 1_909n], [31, 1_920n]], 1_909n],
    ["goes back at once with what is told", [...honest(0, 35), [36, 500n]], 500n],
    ["waits anew where the clock is put back", [...honest(0, 35), [-5_000, 9_000n], [-4_991, 9_000n]], 1_020n],
    ["and for no longer", [...honest(0, 35), [-5_000, 9_000n], [-4_990, 9_000n]], 9_000n],
    ["is what was told before a silence", [...honest(0, 10), [3_600, 4_600n]], 1_010n],
  ])("%s", (_, told, expected) => assert.strictEqual(play(told), expected))

  it("is delayed, not stopped, by a node that lags far behind", () => {
    const told = honest(0, 200).map(([s, height]): Told => [s, s % 2 === 0 ? height : height - 50n])
    assert.isAtLeast(Number(play(told)), 1_000 + 200 - 50 - 21)
  })

  it("is lowered when a false belief is contradicted, never raised by doubt", () => {
    const at = (second: number) => start + second * 1_000
    const head = (height: bigint) => ({ height, rows: undefined })
    const lied = believed(nothingBelieved, head(1_900n), at(0))
    const stray = (height: bigint, second: number) => ({ ...head(height), now: at(second), bounds: headBounds })
    const low = doubted(lied, stray(1_001n, 1))
    assert.strictEqual(low.stood?.next.height, 1_001n)
    assert.strictEqual(doubted(lied, stray(9_000_000n, 30)).stood?.next.height, 1_900n)
    assert.strictEqual(taken(low, 9_000_000n, at(12)).stood?.height, 1_001n, "people raise it no sooner")
  })
})
