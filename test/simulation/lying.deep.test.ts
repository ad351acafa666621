import { assert, beforeAll, describe, it } from "vitest"
import type { Verdict } from "./runSeed.ts"
import { simulate } from "./simulate.ts"

const gateways = "lying"

const ends = [
  [59, "rows of an asset in capitals", ["stopped", "reconcile, balances rebase"]],
  [151, "rows of another asset", []],
  [271, "rows of next to nothing", ["stopped", "reconcile, balances rebase"]],
  [527, "ended by a person's word", ["stopped", "intents resolve (manual)"]],
  [113, "ended by a person's word and a rebase", ["stopped", "intents resolve (manual)", "balances rebase"]],
  [1425, "ended by adopting", ["stopped", "adopt (foreign_payment)"]],
  [152, "ended by resume", ["stopped", "resume (chain_changed)"]],
] as const

describe("a daemon whose single gateway lied", () => {
  let verdicts: ReadonlyArray<Verdict> = []
  // In one run: each thread loads the whole daemon.
  beforeAll(async () => {
    verdicts = await simulate({ asked: ends.map(([seed]) => ({ seed, gateways })), workers: 1 })
  })

  it("finds a way out of each stop, alike in each run", async () => {
    assert.deepStrictEqual(
      verdicts.flatMap(({ seed, violations }) => violations.map((violation) => `seed ${seed}: ${violation}`)),
      [],
    )
    assert.isAtLeast(
      verdicts.reduce((sum, { executed }) => sum + executed, 0),
      16,
    )
    assert.isAbove(verdicts.filter(({ notes }) => !notes?.includes("untold")).length, 2)
    const [again] = await simulate({ asked: [{ seed: 59, gateways }], workers: 1 })
    assert.deepStrictEqual(
      again,
      verdicts.find(({ seed }) => seed === 59),
    )
  })

  it.each(ends)("agrees with the ledger again after it (seed %i: %s)", (seed, _, notes) => {
    const verdict = verdicts.find((one) => one.seed === seed)
    assert.deepStrictEqual([verdict?.violations, [...new Set(verdict?.notes)]], [[], notes])
  })
})
