import { assert, describe, it } from "@effect/vitest"
import { finalIntentStates, intentStates, isFinalIntent, openIntentStates } from "../../src/domain/Intent.ts"
import { mayMoveIntent } from "../support/mayMove.ts"

describe("Intent", () => {
  it("is either open or final in each state", () => {
    assert.deepStrictEqual(intentStates, [...openIntentStates, ...finalIntentStates])
    assert.strictEqual(new Set(intentStates).size, intentStates.length)
    assert.deepStrictEqual(intentStates.filter(isFinalIntent), [...finalIntentStates])
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
