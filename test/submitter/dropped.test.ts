import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { type Flow, flow, round } from "../support/Flow.ts"
import { dueDetails } from "../support/Intents.ts"
import { arm, disarm } from "../support/TestFaults.ts"

/** While a gateway tells no height, these fail as well. */
const headless = new Set(["compare", "reconcile", "confirm"])
const undone = new Set(["submit", "confirm"])

const tenMinutes = Effect.fnUntraced(function* (
  options: Parameters<Flow>[0],
  sandbox: Parameters<Flow>[1],
  times: number,
) {
  for (let i = 0; i < times; i++) {
    yield* TestClock.adjust("10 minutes")
    yield* round(options, sandbox, headless)
  }
})

describe("a payment whose rule decides anew", () => {
  it.effect("calls people once if each decision is dropped for an hour", () =>
    flow(function* (options, sandbox, client) {
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, undone)
      yield* arm(client, { operation: "height", kind: "http_status", status: 503, count: 100_000 })
      yield* tenMinutes(options, sandbox, 5)
      const dropped = (yield* (yield* Outbox).recent(20)).filter(({ state }) => state === "cancelled")
      assert.isAbove(dropped.length, 1, "a decision waits for some minutes only")
      assert.deepStrictEqual(yield* dueDetails, [], "it may pass by itself")
      yield* tenMinutes(options, sandbox, 8)
      const [said = "", ...more] = yield* dueDetails
      assert.deepStrictEqual(more, [], "once in a day")
      assert.match(said, /^keep-bob: 150\.00 USDT alice -> bob is decided again and again since 2027-01-15 08:00Z/)
      assert.match(said, /never signed; it waited: .*503.*; fix what it waits for/)
      yield* disarm(client)
      for (let i = 0; i < 14; i++) yield* round(options, sandbox)
      assert.strictEqual((yield* (yield* Outbox).recent(1))[0]?.state, "confirmed")
    }),
  )
})
