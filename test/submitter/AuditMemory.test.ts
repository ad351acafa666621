import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { AuditMemory } from "../../src/submitter/AuditMemory.ts"

const startAfter = (heights: ReadonlyArray<bigint>) =>
  Effect.gen(function* () {
    const memory = yield* AuditMemory
    let start = 0n
    for (const height of heights) start = yield* memory.startHeight(height)
    return start
  }).pipe(Effect.provide(AuditMemory.layer, { local: true }))

describe("AuditMemory.startHeight", () => {
  it.effect.each([
    { name: "stays the first while blocks come", heights: [100n, 101n, 140n], start: 100n },
    { name: "stays the first where nodes differ by a few blocks", heights: [100n, 90n, 101n], start: 100n },
    { name: "is the true one after a first that was false", heights: [700n, 100n, 101n], start: 100n },
  ])("$name", ({ heights, start }) => Effect.map(startAfter(heights), (found) => assert.strictEqual(found, start)))
})

describe("AuditMemory.isDue", () => {
  it.effect("is due again once its time is over, whatever else was due meanwhile", () =>
    Effect.gen(function* () {
      const { isDue } = yield* AuditMemory
      assert.isTrue(yield* isDue("a", 0, 100))
      assert.isTrue(yield* isDue("b", 10, 100))
      assert.isFalse(yield* isDue("a", 99, 100))
      assert.isTrue(yield* isDue("a", 100, 100))
      assert.isFalse(yield* isDue("b", 109, 100))
      assert.isTrue(yield* isDue("a", -100, 100), "the clock was put back")
    }).pipe(Effect.provide(AuditMemory.layer, { local: true })),
  )
})
