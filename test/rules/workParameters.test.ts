import { assert, describe, it } from "@effect/vitest"
import { noteWork, oddWork, type WorkKnown, type WorkParameters, windowAt } from "../../src/rules/workParameters.ts"

const work: WorkParameters = {
  hashFunction: "sha3_24_rounds",
  difficulty: 15,
  pastBlocks: 100,
  txPerBlock: 2,
  increasing: true,
}

describe("what a network may ask of transactions", () => {
  it.each<[string, Partial<WorkParameters>, RegExp | undefined]>([
    ["the usual", {}, undefined],
    ["the smallest window", { pastBlocks: 5 }, undefined],
    ["a smaller window", { pastBlocks: 4 }, /window of 4 blocks, and legal are 5 to 500/],
    ["the largest window", { pastBlocks: 500 }, undefined],
    ["a larger window", { pastBlocks: 501 }, /window of 501/],
    ["a window of centuries", { pastBlocks: 4_294_967_295 }, /window of 4294967295/],
    ["all bits", { difficulty: 256 }, undefined],
    ["more bits than a hash has", { difficulty: 257 }, /difficulty 257/],
    ["another hash", { hashFunction: "md5" }, /unknown proof of work/],
    ["no transactions", { txPerBlock: 0 }, /no number of transactions/],
  ])("%s", (_, change, says) => {
    const odd = oddWork({ ...work, ...change })
    if (says === undefined) assert.isUndefined(odd)
    else assert.match(odd ?? "", says)
  })
})

describe("the window by which nodes may judge", () => {
  const told = (...windows: ReadonlyArray<readonly [height: bigint, pastBlocks: number]>) =>
    windows.reduce<WorkKnown | undefined>(
      (known, [height, pastBlocks]) => noteWork(known, { chainId: "c", height, work: { ...work, pastBlocks } }),
      undefined,
    )!

  it.each<[string, WorkKnown, bigint, number]>([
    ["is what the first head tells", told([10n, 100]), 10n, 100],
    ["is a larger one at once", told([10n, 100], [20n, 300]), 20n, 300],
    ["stays the larger one for as many blocks", told([10n, 100], [20n, 7]), 119n, 100],
    ["is the smaller one after them", told([10n, 100], [20n, 7]), 120n, 7],
    ["keeps the largest of several", told([10n, 100], [20n, 300], [21n, 7], [22n, 50]), 321n, 300],
    ["takes no window that is not legal", told([10n, 100], [20n, 4_294_967_295]), 20n, 100],
    ["is the largest legal one before a legal one is told", told([10n, 0]), 10n, 500],
  ])("%s", (_, known, height, expected) => {
    assert.strictEqual(windowAt(known, height), expected)
  })

  it("begins anew with another chain", () => {
    const other = noteWork(told([10n, 300], [20n, 7]), { chainId: "d", height: 30n, work })
    assert.deepStrictEqual(other, { chainId: "d", work, window: 100 })
  })
})
