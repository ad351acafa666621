import { assert, describe, it } from "@effect/vitest"
import {
  finalIntentStates,
  intentStates,
  isFinalIntent,
  openIntentStates,
  setAsideOf,
} from "../../src/domain/Intent.ts"
import { mayMoveIntent } from "../support/mayMove.ts"
import { intentOf } from "../support/Payments.ts"

describe("Intent", () => {
  it("is either open or final in each state", () => {
    assert.deepStrictEqual(intentStates, [...openIntentStates, ...finalIntentStates])
    assert.strictEqual(new Set(intentStates).size, intentStates.length)
    assert.deepStrictEqual(intentStates.filter(isFinalIntent), [...finalIntentStates])
  })

  it("reserves its amount, and its fee if there is one, until it is signed", () => {
    const one = intentOf("a", { decimals: 0, feeMax: 5n })
    const [free, signed] = [
      { ...one, feeMax: 0n },
      { ...one, state: "in_flight" as const },
    ]
    assert.match(setAsideOf(one) ?? "", /^reserved for it: [\d,]+ BIG and a fee of at most 5 of the balance of reserve/)
    assert.match(setAsideOf(free) ?? "", /^reserved for it: [\d,]+ BIG of the balance of reserve/)
    assert.isUndefined(setAsideOf(signed))
  })

  it("never leaves a final state, and can leave every open one", () => {
    for (const from of finalIntentStates) {
      assert.deepStrictEqual(
        intentStates.filter((to) => mayMoveIntent(from, to)),
        [],
      )
    }
    for (const from of openIntentStates)
      assert.isTrue(
        intentStates.some((to) => mayMoveIntent(from, to)),
        from,
      )
  })
})
