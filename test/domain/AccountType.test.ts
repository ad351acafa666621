import { assert, describe, it } from "@effect/vitest"
import {
  accountTypeName,
  accountTypeNumbers,
  general,
  specifiedAccountTypes,
  totalTypes,
} from "../../src/domain/Balance.ts"

describe("AccountType", () => {
  it("knows 29 specified types and five later ones, each numbered", () => {
    const numbers = Object.values(accountTypeNumbers)
    assert.strictEqual(specifiedAccountTypes.length, 29)
    assert.strictEqual(numbers.length, 34)
    assert.strictEqual(new Set(numbers).size, numbers.length)
    assert.deepStrictEqual(
      Array.from({ length: 35 }, (_, n) => n).filter((n) => !new Set<number>(numbers).has(n)),
      [8],
    )
  })

  it("names a number and keeps one that has no name", () => {
    for (const [name, number] of Object.entries(accountTypeNumbers)) assert.strictEqual(accountTypeName(number), name)
    assert.strictEqual(accountTypeName(8), "8")
    assert.strictEqual(accountTypeName(99), "99")
  })

  it("counts the free balance into the total", () => {
    assert.strictEqual(accountTypeNumbers[general], 4)
    assert.isTrue(totalTypes.has(general))
    for (const type of totalTypes) assert.property(accountTypeNumbers, type)
  })
})
