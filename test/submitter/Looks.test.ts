import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Looks } from "../../src/submitter/Looks.ts"

const startAfter = (heights: ReadonlyArray<bigint>) =>
  Effect.gen(function* () {
    const looks = yield* Looks
    let start = 0n
    for (const height of heights) start = yield* looks.startHeight(height)
    return start
  }).pipe(Effect.provide(Looks.layer, { local: true }))

describe("Looks.startHeight", () => {
  it.effect.each([
    { name: "stays the first while blocks come", heights: [100n, 101n, 140n], start: 100n },
    { name: "stays the first where nodes differ by a few blocks", heights: [100n, 90n, 101n], start: 100n },
    { name: "is the true one after a first that was false", heights: [700n, 100n, 101n], start: 100n },
  ])("$name", ({ heights, start }) => Effect.map(startAfter(heights), (found) => assert.strictEqual(found, start)))
})
