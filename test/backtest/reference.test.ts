import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { readTests } from "../../src/backtest/readTests.ts"
import { runPlan } from "../../src/backtest/runPlan.ts"
import { it } from "../support/it.ts"
import { treasuryWith } from "../support/RulesInCode.ts"
import { ruleExamples, rulesCode } from "../support/ruleExamples.ts"

const played = (block: string) => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-reference-"))
  mkdirSync(join(dir, "secrets"))
  for (const name of ["reserve", "maker-1", "maker-2"]) {
    writeFileSync(join(dir, "secrets", name), Buffer.alloc(32, name), { mode: 0o600 })
  }
  writeFileSync(join(dir, "treasury.yaml"), treasuryWith(block))
  writeFileSync(join(dir, "rules.ts"), rulesCode)
  writeFileSync(join(dir, "tests.yaml"), block.slice(block.search(/^tests:/m)))
  return readTests(join(dir, "tests.yaml"), [join(dir, "treasury.yaml")]).pipe(
    Effect.ensuring(Effect.sync(() => rmSync(dir, { recursive: true, force: true }))),
  )
}

describe("the reference of rules", () => {
  it("has an example of each kind", () => {
    for (const kind of ["topUp", "sweep", "rebalance", "split", "payout", "request", "withdraw", "notify"]) {
      assert.isTrue(
        ruleExamples.some((block) => block.includes(`    ${kind}:`)),
        kind,
      )
    }
    assert.lengthOf(
      ruleExamples.filter((block) => block.includes("rules: ./rules.ts")),
      1,
    )
  })

  it.effect.each(ruleExamples.map((block, i) => [i + 1, block] as const))(
    "does what example %i says",
    function* ([, block]) {
      const plans = yield* played(block)
      const results = yield* Effect.forEach(plans, (plan) => Effect.promise(() => runPlan(plan)))
      assert.isAbove(results.length, 0)
      const unmet = results.flatMap((result) =>
        result.unmet.map(
          ({ when, expected, got, why }) => `${result.plan.name} at ${when}: ${expected}; got ${got}; ${why}`,
        ),
      )
      assert.deepStrictEqual(unmet, [])
    },
  )
})
