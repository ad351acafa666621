import { assert, describe, it } from "vitest"
import { runTrafficThread, runTrafficTwice } from "../support/runTrafficTwice.ts"

describe("seeded traffic of fifty parties", () => {
  it("keeps all money accounted for in every block, alike each time", async () => {
    const first = await runTrafficTwice(150)
    const other = await runTrafficThread({ seed: "traffic-2", profile: "0.75", blocks: 30, file: "memory" })
    assert.notStrictEqual(other.early, first.early)
  })

  it("for a minute keeps all money accounted for on a network of another version", async () => {
    const done = await runTrafficThread({ seed: "traffic-3", profile: "0.79", blocks: 65, file: "memory" })
    assert.isAtLeast(done.included, 2_000)
  })
})
