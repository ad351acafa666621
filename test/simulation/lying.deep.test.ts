import { assert, describe, it } from "vitest"
import { simulate } from "./simulate.ts"

describe("the simulation of a single gateway that lies at random", () => {
  it("finds a way out of each stop, alike in each run", async () => {
    const options = { first: 1, seeds: 4, gateways: () => "lying" as const, workers: 2 }
    const verdicts = await simulate(options)
    assert.deepStrictEqual(
      verdicts.flatMap(({ seed, violations }) => violations.map((violation) => `seed ${seed}: ${violation}`)),
      [],
    )
    assert.isAtLeast(
      verdicts.reduce((sum, { executed }) => sum + executed, 0),
      16,
    )
    assert.isAbove(verdicts.filter(({ notes }) => !notes?.includes("untold")).length, 2)
    const [again] = await simulate({ ...options, seeds: 1 })
    assert.deepStrictEqual(again, verdicts[0])
  })

  it.each([
    [59, "rows of an asset in capitals", ["stopped", "reconcile, balances rebase"]],
    [151, "rows of another asset", []],
    [271, "rows of next to nothing", ["stopped", "reconcile, balances rebase"]],
    [273, "rows of nothing, and no operation that tells balances", ["stopped", "intents resolve (manual)"]],
    [113, "ended by a person's word and a rebase", ["stopped", "intents resolve (manual)", "balances rebase"]],
    [116, "ended by a rebase", ["reconcile, balances rebase", "rows agree by a verb"]],
    [152, "ended by resume", ["stopped", "resume (chain_changed)"]],
  ] as const)("agrees with the ledger again after it (seed %i: %s)", async (first, _, notes) => {
    const [verdict] = await simulate({ first, seeds: 1, gateways: () => "lying" as const, workers: 1 })
    assert.deepStrictEqual([verdict?.violations, [...new Set(verdict?.notes)]], [[], notes])
  })
})
