import { assert, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { replayCommands, replayPages, replaySubmissions } from "./conformance/replay.ts"
import { replayStreams } from "./conformance/streams.ts"
import { reasons, resultOf, tableOf } from "./conformance/table.ts"

describe("the sandbox, asked what a real network was asked", () => {
  it.effect("answers each recorded request alike, or differs by a listed reason", () =>
    Effect.gen(function* () {
      const requests = [...(yield* replaySubmissions), ...(yield* replayCommands), ...(yield* replayPages)]
      assert.lengthOf(requests, 42 + 10 + 34 + 48)
      const all = [...requests, ...(yield* replayStreams)]
      assert.lengthOf(all, 140)
      assert.isAtMost(reasons.length, 5)
      yield* Effect.promise(() => expect(tableOf(all)).toMatchFileSnapshot("./conformance.md"))
      assert.deepStrictEqual(
        all.filter((request) => resultOf(request).startsWith("DIFFERENT")),
        [],
      )
    }),
  )
})
