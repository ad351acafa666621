import { assert, describe, it } from "vitest"
import { installCrashPoints } from "./CrashPoints.ts"
import { playYear } from "./playYear.ts"
import { shortYear } from "./YearWorld.ts"

/** Some fifteen seconds of work, which a machine under load may draw out to minutes. */
const timeout = 1_800_000

describe("a year of the whole daemon", () => {
  it("pays all once over every clock, with growth by payments alone", {
    timeout,
  }, async () => {
    installCrashPoints()
    const { violations, payments } = await playYear(shortYear)
    assert.deepStrictEqual(violations, [])
    assert.isAtLeast(payments, 60)
  })
})
