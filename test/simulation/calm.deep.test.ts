import { assert, describe, it } from "vitest"
import { installCrashPoints } from "./CrashPoints.ts"
import { calmNames } from "./calm.ts"
import { playCalm } from "./playMonth.ts"

/** Some seconds of work each, which a machine under load may draw out to minutes. */
const timeout = 600_000

describe("the daemon where nobody lies", () => {
  it.each(calmNames)("holds no payment for a guard: %s", { timeout }, async (name) => {
    installCrashPoints()
    const { waits, violations, payments } = await playCalm("0.75", name, true)
    assert.deepStrictEqual([...waits, ...violations], [])
    assert.isAtLeast(payments, 8)
  })
})
