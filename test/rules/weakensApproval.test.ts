import { assert, describe, it } from "@effect/vitest"
import { baseUnits } from "../../src/domain/Amount.ts"
import type { ApprovalGroup } from "../../src/domain/Approval.ts"
import { approvalFor, type Policy, type PolicyLine } from "../../src/rules/policy/Policy.ts"
import { approvalWords as wordsOf } from "../../src/rules/policy/weakens.ts"

const amount = (assetId: string, units: bigint) => `${units} ${assetId}`
const approvalWords = (old: Policy, next: Policy) => wordsOf(old, next, { old: amount, next: amount })
const desk: ApprovalGroup = {
  name: "desk",
  need: 2,
  withinMillis: 60_000,
  of: new Map([
    ["ana", "a"],
    ["ben", "b"],
    ["chloe", "c"],
  ]),
}
const line = (approval: PolicyLine["approval"]): PolicyLine => ({
  line: 1,
  from: new Set(["f"]),
  to: new Set(["t"]),
  assetId: "x",
  perTransfer: baseUnits(100n),
  per24h: baseUnits(100n),
  transfersPer24h: 1,
  approval,
})
const policy = (approval: PolicyLine["approval"]): Policy => ({
  maxFee: { numerator: 0n, denominator: 1n },
  lines: [line(approval)],
  digest: "",
  hash: "",
})
const asks = (change: Partial<ApprovalGroup> = {}, above = 10n) => ({
  group: { ...desk, ...change },
  above: baseUnits(above),
})

describe("a policy that asks less of people", () => {
  it("is told: nobody, fewer, others, later, or for larger payments only", () => {
    const weaker = [
      undefined,
      asks({ need: 1 }),
      asks({ of: new Map([...desk.of, ["eve", "e"]]) }),
      asks({ of: new Map([...desk.of, ["ana", "e"]]) }),
      asks({ withinMillis: 60_001 }),
      asks({}, 11n),
    ]
    for (const next of weaker) assert.lengthOf(approvalWords(policy(asks()), policy(next)), 1)
    const same = "policy line 1: 2 of ana, ben, chloe above 10 x must approve, before 2 of ana, ben, chloe above 10 x"
    assert.deepStrictEqual(
      [asks({ of: new Map([...desk.of, ["ana", "e"]]) }), asks({ withinMillis: 120_000 })].flatMap((next) =>
        approvalWords(policy(asks()), policy(next)),
      ),
      [`${same}, ana has another key, e`, `${same}, they have 2 min, before 60 s`],
    )
    assert.match(
      approvalWords(policy(asks()), policy(undefined))[0] ?? "",
      /^policy line 1: nobody must approve, before 2 of ana, ben, chloe above 10 x$/,
    )
    assert.strictEqual(
      approvalWords(policy(asks({}, 0n)), policy(asks({ need: 1 }, 0n)))[0],
      "policy line 1: 1 of ana, ben, chloe must approve, before 2 of ana, ben, chloe",
    )
  })

  it("is told where another may end halts, or fewer than two must", () => {
    const night = { ...desk, name: "night", of: new Map([["eve", "e"]]) }
    const of = (...groups: ReadonlyArray<ApprovalGroup>) => ({ ...policy(undefined), groups })
    assert.deepStrictEqual(approvalWords(of(desk), of(desk, night)), ["eve may approve"])
    assert.deepStrictEqual(approvalWords(of(desk, night), of(night)), ["1 operators, before 4"])
    assert.deepStrictEqual(approvalWords(of(desk), of()), ["0 operators, before 3"])
  })

  it("is not one that asks as much or more", () => {
    const two = new Map([...desk.of].slice(0, 2))
    for (const next of [asks(), asks({ need: 3 }), asks({ of: two }), asks({ name: "night" }), asks({}, 0n)]) {
      assert.deepStrictEqual(approvalWords(policy(asks()), policy(next)), [])
    }
    assert.deepStrictEqual(approvalWords(policy(undefined), policy(asks())), [])
    const none = { ...policy(asks()), groups: [] }
    assert.deepStrictEqual(approvalWords(none, { ...none, groups: [desk] }), [], "the first ones")
    assert.deepStrictEqual(approvalWords(policy(asks()), { ...policy(asks()), lines: [] }), [])
  })
})

describe("who must approve", () => {
  it("is asked above the line's amount alone", () => {
    assert.strictEqual(approvalFor(line(asks()), 11n)?.name, "desk")
    assert.isUndefined(approvalFor(line(asks()), 10n))
    assert.isUndefined(approvalFor(line(undefined), 11n))
    assert.isUndefined(approvalFor(undefined, 11n))
  })
})
