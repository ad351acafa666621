import { assert, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { replayCommands, replayPages, replaySubmissions } from "./conformance/replay.ts"
import { resultOf, tableOf } from "./conformance/table.ts"

describe("the sandbox, asked what a real network was asked", () => {
  it.effect("answers each recorded request alike, or differs by a listed reason", () =>
    Effect.gen(function* () {
      const all = [...(yield* replaySubmissions), ...(yield* replayCommands), ...(yield* replayPages)]
      assert.lengthOf(all, 42 + 10 + 24 + 42)
      yield* Effect.promise(() => expect(tableOf(all)).toMatchFileSnapshot("./conformance.md"))
      assert.deepStrictEqual(
        all.filter((request) => resultOf(request).startsWith("DIFFERENT")),
        [],
      )
    }),
  )
})
