import { assert, describe, it } from "@effect/vitest"
import {
  type AssetStatusWord,
  assetStatusNumbers,
  isExpectedTransition,
  statusText,
  statusWord,
  statusWords,
} from "../../src/domain/Asset.ts"

const words: ReadonlyArray<AssetStatusWord> = ["unspecified", "proposed", "rejected", "pendingListing", "enabled"]

describe("Asset", () => {
  it("has a word for each status of the wire", () => {
    assert.deepStrictEqual(Object.keys(statusWords), Object.keys(assetStatusNumbers))
    assert.deepStrictEqual(Object.keys(statusWords).map(statusWord), words)
  })

  it.each(["", "STATUS_NEW", "5", "enabled", "toString", "constructor", "__proto__", "hasOwnProperty"])(
    "calls the unknown status %s unspecified",
    (status) => {
      assert.strictEqual(statusWord(status), "unspecified")
    },
  )

  it("expects exactly the five changes that networks make", () => {
    const expected: Array<string> = []
    for (const from of [undefined, ...words]) {
      for (const to of words) if (isExpectedTransition(from, to)) expected.push(`${from ?? "new"} → ${to}`)
    }
    assert.deepStrictEqual(expected, [
      "new → proposed",
      "proposed → rejected",
      "proposed → pendingListing",
      "proposed → enabled",
      "pendingListing → enabled",
    ])
  })

  it("writes a status for people", () => {
    assert.strictEqual(statusText("pendingListing"), "pending listing")
    assert.strictEqual(statusText("enabled"), "enabled")
  })
})
