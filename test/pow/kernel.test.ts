import { assert, describe, it } from "vitest"
import { makeKernel, widths } from "../../src/pow/kernel.ts"
import { makeSearch } from "../../src/pow/search.ts"
import { leadingZeroBits, powHash, powPreimage } from "../../src/tx/ProofOfWork.ts"
import { makeDice } from "../support/Dice.ts"
import { differing, solvedWorks, workOf } from "./solves.ts"

const work = workOf(makeDice("kernel"))
const zeroBits = Array.from({ length: 4_096 }, (_, n) => leadingZeroBits(powHash(work, BigInt(n))))
/** The nonces below 4,096 that solve the work, by other code. */
const solving = (difficulty: number) => zeroBits.flatMap((bits, n) => (bits >= difficulty ? [n] : []))
const works = solvedWorks(150, "quick")

describe.each([
  ["two nonces at a time", makeKernel(widths.two)],
  ["one nonce at a time", makeKernel(widths.one)],
])("the search of %s", (_, kernel) => {
  it("finds the nonces that the oracle finds", () => assert.deepStrictEqual(differing(kernel, works), []))

  it("finds every nonce that solves, in order, and no other", () => {
    const search = makeSearch(powPreimage(work, 0n), 4, kernel)
    const found: Array<number> = []
    for (let from = 0; from < 4_096; from += 2) {
      const first = search(from, 2)
      if (first === undefined) continue
      found.push(first)
      if (first === from && leadingZeroBits(powHash(work, BigInt(from + 1))) >= 4) found.push(from + 1)
    }
    assert.deepStrictEqual(found, solving(4))
  })

  it("finds the lower of two beside each other, whichever solve", () => {
    const both = solving(2).filter((n, i, all) => n % 2 === 0 && all[i + 1] === n + 1)
    assert.isAbove(both.length, 64)
    const search = makeSearch(powPreimage(work, 0n), 2, kernel)
    for (const n of both) assert.strictEqual(search(n, 2), n)
  })

  it("goes on where it ended, and tells that nothing was found", () => {
    const search = makeSearch(powPreimage(work, 0n), 9, kernel)
    const all = solving(9)
    const [first = assert.fail(), second = assert.fail()] = all
    const after = first + 1 + ((first + 1) % 2)
    assert.strictEqual(search(0, 4_096), first)
    assert.isUndefined(search(0, first - (first % 2)))
    assert.strictEqual(search(after, 4_096), second)
  })

  it("searches beyond 32 bits of nonces", () => {
    const first = (from: number, difficulty: number) => {
      while (leadingZeroBits(powHash(work, BigInt(from))) < difficulty) from++
      return from
    }
    for (const bits of [32, 39]) {
      const end = 2 ** bits
      const before = first(end - 64, 4)
      assert.isBelow(before, end)
      assert.strictEqual(makeSearch(powPreimage(work, 0n), 4, kernel)(end - 64, 4_096), before)
      const beyond = first(end - 64, 9)
      assert.isAtLeast(beyond, end, "one call goes across")
      assert.strictEqual(makeSearch(powPreimage(work, 0n), 9, kernel)(end - 64, 4_096), beyond)
    }
  })

  it("searches two works in turns", () => {
    const other = workOf(makeDice("other"))
    const [a, b] = [work, other].map((one) => makeSearch(powPreimage(one, 0n), 10, kernel))
    const apart = [a?.(0, 2 ** 16), b?.(0, 2 ** 16)]
    const found: Array<number | undefined> = [undefined, undefined]
    for (let from = 0; from < 2 ** 16; from += 64) {
      found[0] ??= a?.(from, 64)
      found[1] ??= b?.(from, 64)
    }
    assert.deepStrictEqual(found, apart)
    assert.notInclude(found, undefined)
  })

  it("refuses a message that is not of two blocks with the nonce in the second", () => {
    assert.throws(() => makeSearch(new Uint8Array(148), 4, kernel), /149 bytes, not 148/)
  })
})
