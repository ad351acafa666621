import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { flow, paid, round, states } from "../support/Flow.ts"
import { waitUntil } from "../support/until.ts"

const newest = Effect.gen(function* () {
  const outbox = yield* Outbox
  const [intent] = yield* outbox.recent(1)
  return yield* outbox.sends(intent?.id ?? "")
})

describe("the wire form of a chain", () => {
  it.effect("that was refused is not tried first again", () =>
    flow(
      function* (options, sandbox) {
        const isRefused = Effect.map(newest, (all) => all.some(({ outcome }) => outcome === "framing"))
        yield* waitUntil("a refusal of the wire form", isRefused, round(options, sandbox))
        const slow = new Set(["submit"])
        for (let i = 0; i < 75 && (yield* states)[0] !== "reserved"; i++) yield* round(options, sandbox, slow)
        assert.deepStrictEqual(yield* states, ["reserved"], "the window was over before the other form went out")
        for (let i = 0; i < 20 && !(yield* states).includes("confirmed"); i++) yield* round(options, sandbox)
        assert.deepStrictEqual(
          (yield* newest).map(({ k, framing, outcome }) => [k, framing, outcome]),
          [
            [1, "prefixed", "framing"],
            [2, "bare", "accepted"],
          ],
        )
        assert.lengthOf(yield* paid(sandbox), 1)
      },
      { scenario: { pow: { difficulty: 3, pastBlocks: 5, txPerBlock: 4, increaseDifficulty: true } } },
    ),
  )
})
