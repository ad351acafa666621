import { assert, describe } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { crashes, noteEnd, noteStart } from "../../src/store/controls/starts.ts"
import { itWith } from "../support/it.ts"
import { testStore } from "../support/TestStore.ts"

const it = itWith(() => {
  const store = testStore()
  return Layer.merge(store.layer(), Layer.effectDiscard(Effect.addFinalizer(() => Effect.sync(store.remove))))
})

describe("the ends of processes", () => {
  it.effect("count for 15 minutes where nobody stopped them, each with its reason", function* () {
    yield* TestClock.setTime(1_800_000_000_000)
    yield* noteStart()
    assert.deepStrictEqual(yield* crashes, [], "it runs")
    yield* noteStart()
    yield* noteEnd("loop engine gave up")
    yield* noteStart()
    yield* noteEnd()
    yield* noteStart()
    assert.deepStrictEqual(yield* crashes, ["killed, or ended without a word", "loop engine gave up"])
    yield* TestClock.adjust("15 minutes")
    assert.deepStrictEqual(yield* crashes, [])
  })

  it.effect("are kept in a bounded list, and count for none before the first start", function* () {
    yield* noteEnd("nothing began")
    assert.deepStrictEqual(yield* crashes, [])
    for (let n = 0; n < 200; n++) yield* noteStart()
    assert.lengthOf(yield* crashes, 99)
  })
})
