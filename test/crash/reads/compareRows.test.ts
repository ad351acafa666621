import { assert, describe, it } from "vitest"
import { makeDice } from "../../support/Dice.ts"
import { compareRows } from "./compareRows.ts"
import { readsTreasury } from "./traffic.ts"

const row = (key: string, balance = "1") => ({ key, balance })
const ledger = [row("a"), row("b"), row("c")]

describe("the judge of stored rows", () => {
  it.each([
    ["a store that holds all of them", ledger, [0, 0, 0]],
    ["one that lacks a row", [row("a"), row("c")], [1, 0, 0]],
    ["one that holds a row twice", [...ledger, row("b")], [0, 1, 0]],
    ["one that holds a row with another balance", [row("a"), row("b", "2"), row("c")], [0, 0, 1]],
    ["one that holds a row of which the ledger knows nothing", [...ledger, row("d")], [0, 0, 1]],
    ["an empty one", [], [3, 0, 0]],
  ] as const)("sees %s", (_, stored, counts) => {
    const { rows, missing, duplicate, wrong } = compareRows(ledger, stored)
    assert.deepStrictEqual([rows, missing, duplicate, wrong], [3, ...counts])
  })
})

describe("the traffic of a run of reads", () => {
  it("is the same for the same seed, 1 to 40 rows a block", () => {
    const plan = (seed: string) => readsTreasury("http://127.0.0.1:1", 50, makeDice(seed))
    assert.deepStrictEqual(plan("a"), plan("a"))
    assert.notStrictEqual(plan("a").text, plan("b").text)
    assert.isAtLeast(plan("a").rows, 50)
    assert.isAtMost(plan("a").rows, 2_000)
  })
})
