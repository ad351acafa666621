import { assert, describe, it } from "@effect/vitest"
import { majorityOf, quorumTip } from "../../src/domain/chain.ts"

describe("a quorum", () => {
  it("is more than half where nothing else is said", () => {
    assert.deepStrictEqual([1, 2, 3, 4, 5].map(majorityOf), [1, 2, 2, 3, 3])
  })

  it("believes the newest block that enough gateways have reached", () => {
    assert.strictEqual(quorumTip([7n], 1), 7n)
    assert.strictEqual(quorumTip([10n ** 18n, 100n, 101n], 2), 101n)
    assert.strictEqual(quorumTip([0n, 100n, 101n], 2), 100n)
    assert.strictEqual(quorumTip([0n, 100n, 101n], 3), 0n)
    assert.isUndefined(quorumTip([100n], 2))
    assert.isUndefined(quorumTip([], 1))
  })
})
