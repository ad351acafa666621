import { assert, describe, it } from "vitest"
import { answers, awaited, doubled, half, isBetween, left, note } from "./guarded.ts"

describe("the example", () => {
  it("halves", () => assert.deepStrictEqual([half(4), half(3)], [2, undefined]))
  it("doubles", () => assert.deepStrictEqual([doubled(0), doubled(3)], [0, 6]))
  it("waits", () => assert.strictEqual(awaited(3), 3))
  it("lies between", () => assert.deepStrictEqual([isBetween(2, 1, 3), isBetween(4, 1, 3)], [true, false]))
  it("notes", () => assert.strictEqual(note(1), 0))
  it("has noted nothing", () => assert.strictEqual(left.length, 0))
  it("asks both", () => {
    const asked = answers()
    assert.deepStrictEqual(
      [asked.next().value, asked.next(true).value, asked.next(true).value],
      ["first?", "second?", "both"],
    )
  })
})
