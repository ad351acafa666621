import { assert, describe } from "@effect/vitest"
import { it } from "../support/it.ts"
import { replayCommands, replayPages, replaySubmissions } from "./conformance/replay.ts"

describe("the sandbox, asked what a real network was asked", () => {
  it.effect("answers each recorded request alike, where the daemon asks such a thing at all", function* () {
    const all = [...(yield* replaySubmissions), ...(yield* replayCommands), ...(yield* replayPages)]
    assert.deepStrictEqual(
      all.filter(({ differences }) => differences.length > 0),
      [],
    )
    assert.lengthOf(all, 102)
  })
})
