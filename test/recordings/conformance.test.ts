import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { replayCommands, replayPages, replaySubmissions } from "./conformance/replay.ts"

describe("the sandbox, asked what a real network was asked", () => {
  it.effect("answers each recorded request alike, where the daemon asks such a thing at all", () =>
    Effect.gen(function* () {
      const all = [...(yield* replaySubmissions), ...(yield* replayCommands), ...(yield* replayPages)]
      assert.deepStrictEqual(
        all.filter(({ differences }) => differences.length > 0),
        [],
      )
      assert.lengthOf(all, 102)
    }),
  )
})
