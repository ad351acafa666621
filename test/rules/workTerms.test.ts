import { assert, describe, it } from "@effect/vitest"
import {
  boundedWork,
  workBounds as bounds,
  doubtOf,
  isAskingWork,
  oddWork,
  seeWork,
  trustWork,
  type WorkKnown,
  type WorkTerms,
  windowNow,
} from "../../src/rules/workTerms.ts"

const honest: WorkTerms = {
  hashFunction: "sha3_24_rounds",
  difficulty: 15,
  pastBlocks: 100,
  txPerBlock: 2,
  increasing: true,
}
const but = (change: Partial<WorkTerms>): WorkTerms => ({ ...honest, ...change })
const settled: WorkKnown = { chainId: "c", work: honest }

interface Told {
  readonly work: WorkTerms
  readonly height: number
  /** Seconds. */
  readonly at?: number
  readonly isVouched?: boolean
}

const see = (known: WorkKnown | undefined, { work, height, at = height, isVouched = false }: Told) =>
  seeWork(known, { chainId: "c", height: BigInt(height), work, now: at * 1_000, isVouched, bounds })
const play = (known: WorkKnown | undefined, ...told: ReadonlyArray<Told>) => told.reduce(see, known)
const kindAt = (known: WorkKnown | undefined, height: number) => doubtOf(known, BigInt(height), bounds)?.kind
const from = (first: number, last: number, work: WorkTerms): ReadonlyArray<Told> =>
  Array.from({ length: last - first + 1 }, (_, i) => ({ work, height: first + i }))

describe("the first terms of work", () => {
  it.each<readonly [string, ReadonlyArray<Told>, "first" | "odd" | undefined]>([
    [
      "are believed at once where something else says the same",
      [{ work: honest, height: 7, isVouched: true }],
      undefined,
    ],
    ["wait where nothing else does", [{ work: honest, height: 7 }], "first"],
    ["wait for nine blocks", from(7, 16, honest), "first"],
    ["are believed after ten", from(7, 17, honest), undefined],
    ["are believed by two answers ten blocks apart", [7, 17].map((height) => ({ work: honest, height })), undefined],
    [
      "wait where ten blocks are told within ten seconds",
      [0, 4, 9.9].map((at, i) => ({ work: honest, height: 7 + 20 * i, at })),
      "first",
    ],
    [
      "are believed once ten seconds passed as well",
      [0, 4, 10].map((at, i) => ({ work: honest, height: 7 + 20 * i, at })),
      undefined,
    ],
    [
      "are believed once something else says the same",
      [...from(7, 9, honest), { work: honest, height: 9, isVouched: true }],
      undefined,
    ],
    [
      "are believed after half a minute without a block",
      [7, 9, 9].map((height, i) => ({ work: honest, height, at: i * 30 })),
      undefined,
    ],
    [
      "wait while blocks come, though slowly",
      [7, 8, 9].map((height, i) => ({ work: honest, height, at: i * 30 })),
      "first",
    ],
    ["begin anew with each other answer", [...from(7, 16, honest), ...from(17, 17, but({ pastBlocks: 5 }))], "first"],
    ["are not believed by a height that fell", [...from(500, 505, honest), ...from(20, 29, honest)], "first"],
    ["are never odd, whoever vouches", [{ work: but({ difficulty: 25 }), height: 7, isVouched: true }], "odd"],
    ["are never odd, however long", from(7, 60, but({ pastBlocks: 501 })), "odd"],
    [
      "are those after the odd ones",
      [...from(7, 60, but({ pastBlocks: 501 })), { work: honest, height: 61, isVouched: true }],
      undefined,
    ],
  ])("%s", (_, told, kind) => {
    const known = play(undefined, ...told)
    assert.strictEqual(kindAt(known, told.at(-1)?.height ?? 0), kind)
    assert.strictEqual(isAskingWork(known, bounds), kind !== undefined, "the head is asked for with each poll")
  })

  it("begin anew where the clock went back", () => {
    const known = play(undefined, { work: honest, height: 7, at: 100 }, { work: honest, height: 7, at: 10 })
    assert.strictEqual(known?.first?.at, 10_000)
    assert.strictEqual(kindAt(see(known, { work: honest, height: 7, at: 40 }), 7), undefined)
  })

  it("are those of a chain", () => {
    const other = seeWork(settled, { chainId: "d", height: 9n, work: honest, now: 0, isVouched: false, bounds })
    assert.strictEqual(kindAt(other, 9), "first")
  })
})

describe("odd terms", () => {
  it.each<readonly [string, Partial<WorkTerms>, string | undefined]>([
    ["a difficulty of 24", { difficulty: 24 }, undefined],
    ["a difficulty of 25", { difficulty: 25 }, "network.work.maxDifficulty"],
    ["a window of 500", { pastBlocks: 500 }, undefined],
    ["a window of 501", { pastBlocks: 501 }, "network.work.maxWindow"],
    ["a window of 2^32-1", { pastBlocks: 4_294_967_295 }, "network.work.maxWindow"],
    ["no window", { pastBlocks: 0 }, "another node"],
    ["no allowance", { txPerBlock: 0 }, "another node"],
    ["another function", { hashFunction: "md5" }, "another node"],
  ])("%s", (_, change, remedy) => {
    const odd = oddWork(but(change), bounds)
    if (remedy === undefined) assert.isUndefined(odd)
    else assert.include(odd?.remedy, remedy)
  })

  it("are those of the configuration", () => {
    const wide = { maxDifficulty: 32, maxWindow: 1_000 }
    assert.isUndefined(oddWork(but({ difficulty: 32, pastBlocks: 1_000 }), wide))
    assert.isDefined(oddWork(but({ difficulty: 33 }), wide))
  })
})

const lies: ReadonlyArray<readonly [string, Partial<WorkTerms>]> = [
  ["a window of 2^32-1", { pastBlocks: 4_294_967_295 }],
  ["a window of 500", { pastBlocks: 500 }],
  ["a window of 5", { pastBlocks: 5 }],
  ["a difficulty of 32", { difficulty: 32 }],
  ["a difficulty of 16", { difficulty: 16 }],
  ["no allowance", { txPerBlock: 0 }],
  ["another function", { hashFunction: "md5" }],
  ["no increase", { increasing: false }],
]

describe("a change of the terms", () => {
  const lie = but({ pastBlocks: 500 })
  const told = (seconds: ReadonlyArray<number>) =>
    seconds.map((at, i): Told => ({ work: lie, height: 101 + 20 * i, at: 101 + at }))

  it("is taken back if a head that runs ahead told it briefly", () => {
    for (const seconds of [[0], [0, 0.4], [0, 1, 2, 3, 4], [0, 9.9]]) {
      const during = play(settled, ...told(seconds))
      assert.strictEqual(kindAt(during, 102), "changed")
      assert.isTrue(isAskingWork(during, bounds))
      // The doubt of the head is over by now: it is where it was.
      assert.deepStrictEqual(see(during, { work: honest, height: 102 + 4, at: 141 }), settled)
    }
  })

  it("persists after ten seconds, counted again if the clock goes back", () => {
    assert.isTrue(play(settled, ...told([0, 10]))?.changed?.persisted)
    const back = play(settled, ...told([0, -50]))
    assert.isUndefined(back?.changed?.persisted)
    assert.isUndefined(see(back, { work: lie, height: 141, at: 60 }).changed?.persisted)
    assert.isTrue(see(back, { work: lie, height: 141, at: 61 }).changed?.persisted)
  })

  it.each(lies)("%s is doubted at once, and taken back where it passes", (_, change) => {
    const lie = but(change)
    for (const blocks of [1, 4, 9]) {
      const during = play(settled, ...from(100, 99 + blocks, lie))
      assert.isDefined(kindAt(during, 99 + blocks))
      assert.isTrue(isAskingWork(during, bounds))
      const after = see(during, { work: honest, height: 100 + blocks })
      assert.deepStrictEqual(after, settled)
    }
  })

  it.each(lies)("%s is no passing lie after ten blocks, with a bounded wait", (_, change) => {
    const lie = but(change)
    const during = play(settled, ...from(100, 110, lie))
    const odd = oddWork(lie, bounds) !== undefined
    assert.strictEqual(kindAt(during, 110), odd ? "odd" : "changed")
    assert.strictEqual(kindAt(during, 10_000), odd ? "odd" : undefined)
    const back = see(during, { work: honest, height: 111 })
    assert.strictEqual(kindAt(back, 111), "changed")
    assert.isTrue((back?.changed?.until ?? 0n) <= 611n)
    assert.strictEqual(kindAt(back, 611), undefined)
  })

  it("waits for the larger of both windows, and says so", () => {
    const known = play(settled, ...from(100, 102, but({ pastBlocks: 7, difficulty: 4 })))
    const doubt = doubtOf(known, 102n, bounds)
    assert.include(doubt?.detail, "difficulty 15 -> 4, window 100 -> 7")
    assert.include(doubt?.detail, "changed at block 100; payments go on after block 200")
    assert.strictEqual(kindAt(known, 199), "changed")
    assert.strictEqual(kindAt(known, 200), undefined)
  })

  it("is not taken back by a node that lags", () => {
    const vote = but({ pastBlocks: 200 })
    const known = play(settled, { work: vote, height: 100 }, { work: honest, height: 99 })
    assert.strictEqual(kindAt(known, 100), "changed")
    assert.deepStrictEqual(known?.work, vote)
  })

  it("at a height that was made up is taken back at the true one", () => {
    const known = play(settled, { work: but({ pastBlocks: 500 }), height: 1_000 }, { work: honest, height: 100 })
    assert.deepStrictEqual(known, settled)
  })

  it("is one from what was before, however many answers come between", () => {
    const known = play(
      settled,
      { work: but({ difficulty: 3 }), height: 100 },
      { work: but({ pastBlocks: 499 }), height: 101 },
      { work: but({ txPerBlock: 9 }), height: 102 },
    )
    assert.deepStrictEqual(known?.changed?.before, honest)
    assert.isTrue((known?.changed?.until ?? 0n) <= 602n)
    assert.deepStrictEqual(see(known, { work: honest, height: 103 }), settled)
  })

  it("of a vote keeps its wait where a lie passes in the middle", () => {
    const vote = but({ pastBlocks: 200 })
    const known = play(settled, ...from(100, 120, vote), ...from(121, 123, but({ difficulty: 32 })))
    assert.strictEqual(kindAt(known, 123), "odd")
    const back = see(known, { work: vote, height: 124 })
    assert.strictEqual(kindAt(back, 299), "changed")
    assert.strictEqual(kindAt(back, 300), undefined)
  })

  it.each<readonly [string, Partial<WorkTerms>, number]>([
    ["difficulty", { difficulty: 20 }, 100],
    ["window, up", { pastBlocks: 500 }, 500],
    ["window, down", { pastBlocks: 5 }, 100],
    ["allowance", { txPerBlock: 1 }, 100],
    ["increase", { increasing: false }, 100],
  ])("by a vote on the %s leads to one window's wait and no more", (_, change, blocks) => {
    const known = play(settled, ...from(1_000, 1_000 + blocks, but(change)))
    assert.strictEqual(kindAt(known, 999 + blocks), "changed")
    assert.strictEqual(kindAt(known, 1_000 + blocks), undefined)
    assert.isFalse(isAskingWork(known, bounds))
    assert.strictEqual(windowNow(known!, 1_000n, bounds), Math.max(100, change.pastBlocks ?? 100))
    assert.strictEqual(windowNow(known!, 1_000n + BigInt(blocks), bounds), change.pastBlocks ?? 100)
  })
})

describe("people's word", () => {
  it("ends the waits of first and changed terms, not a proof's window", () => {
    assert.isUndefined(kindAt(trustWork(see(undefined, { work: honest, height: 7 })), 7))
    const known = trustWork(see(settled, { work: but({ pastBlocks: 5 }), height: 100 }))
    assert.isUndefined(kindAt(known, 100))
    assert.strictEqual(windowNow(known, 101n, bounds), 100, "what is signed now is dead once both windows are over")
    assert.strictEqual(windowNow(known, 200n, bounds), 5)
  })
})

describe("what an older release stored", () => {
  const lie = but({ pastBlocks: 4_294_967_295 })
  it("of a wait after odd terms is let go", () => {
    const stored = { chainId: "c", work: honest, changed: { before: lie, at: 987n, until: 4_294_968_282n } }
    assert.deepStrictEqual(boundedWork(stored, bounds), settled)
  })
  it("of odd terms in force is taken back by the next honest answer", () => {
    const stored = { chainId: "c", work: lie, changed: { before: honest, at: 987n, until: 4_294_968_282n } }
    const known = boundedWork(stored, bounds)
    assert.strictEqual(known?.changed?.until, 1_487n)
    assert.deepStrictEqual(see(known, { work: honest, height: 990 }), settled)
  })
  it("of first terms that were odd is nothing", () => {
    assert.isUndefined(boundedWork({ chainId: "c", work: lie }, bounds))
    assert.deepStrictEqual(boundedWork(settled, bounds), settled)
  })
})
