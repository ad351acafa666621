import { assert, describe, it } from "@effect/vitest"
import { hasElapsed } from "../../src/domain/Time.ts"
import { isLater } from "../../src/payments/planSend.ts"
import { clockGap } from "../../src/rules/checks/wrongClock.ts"
import { advance } from "../../src/rules/SubjectFacts.ts"

describe("a clock and the newest trusted block", () => {
  const cases: ReadonlyArray<readonly [string, number, number | undefined, string | undefined]> = [
    ["agree", 1_000_000, 1_000_000, undefined],
    ["agree within the limit, the block behind", 1_030_000, 1_000_000, undefined],
    ["agree within the limit, the block ahead", 970_000, 1_000_000, undefined],
    ["are apart, the block behind", 1_030_001, 1_000_000, "behind"],
    ["are apart, the block ahead", 969_999, 1_000_000, "ahead"],
    ["are not both known", 1_000_000, undefined, "unknown"],
  ]
  it.each(cases)("%s", (_, now, block, kind) => {
    assert.strictEqual(clockGap(now, block, 30_000)?.kind, kind)
  })
})

describe("what was done later than now", () => {
  it("was done while a clock was wrong, and is done again", () => {
    assert.isFalse(hasElapsed(1_000, 1_500, 1_000))
    assert.isTrue(hasElapsed(1_000, 2_000, 1_000))
    assert.isTrue(hasElapsed(1_000_000, 2_000, 1_000))
  })

  it("makes no send wait longer than any does", () => {
    assert.isTrue(isLater(8_000, 0))
    assert.isFalse(isLater(8_001, 0))
    assert.isFalse(isLater(86_400_000, 0))
    assert.isFalse(isLater(1_000, 1_000))
  })

  it("begins now as the start of a condition, and continues from there", () => {
    const ahead = { firingSince: 9_000_000, observations: 2, lastObservation: 5n }
    const same = advance(ahead, { firing: true, now: 1_000, observation: 5n })
    assert.deepStrictEqual(same, { ...ahead, firingSince: 1_000 })
    const later = advance(same, { firing: true, now: 2_000, observation: 6n })
    assert.deepStrictEqual(later, { firingSince: 1_000, observations: 3, lastObservation: 6n })
  })
})
