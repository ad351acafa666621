import { describe, it } from "@effect/vitest"
import { assertPaidOnce } from "./lostStore.ts"

// Among them: one gateway and three, a store deleted and one put back, bytes still under way. More: lostStore.deep.
const seeds = ["lost-14", "lost-18", "lost-117"]

describe("a store that is lost", () => {
  it.effect.each(seeds)("pays nothing twice, and pays what is owed: %s", assertPaidOnce)
})
