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

describe("AuditMemory.claimDue", () => {
  it.effect("is due again once its time is over, whatever else was due meanwhile", () =>
    Effect.gen(function* () {
      const { claimDue } = yield* AuditMemory
      assert.isTrue(yield* claimDue("a", 0, 100))
      assert.isTrue(yield* claimDue("b", 10, 100))
      assert.isFalse(yield* claimDue("a", 99, 100))
      assert.isTrue(yield* claimDue("a", 100, 100))
      assert.isFalse(yield* claimDue("b", 109, 100))
      assert.isTrue(yield* claimDue("a", -100, 100), "the clock was put back")
    }).pipe(Effect.provide(AuditMemory.layer, { local: true })),
  )
})
