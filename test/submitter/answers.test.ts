import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Journal } from "../../src/store/journal/Journal.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { reconcileOnce } from "../../src/submitter/audit/Reconcile.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { flow, round } from "../support/Flow.ts"
import { behind } from "../support/Instead.ts"
import { rounds } from "../support/Intents.ts"

const down = { status: 503, body: {} }
const undone = new Set(["submit", "confirm"])

describe("a round of the comparison with the ledger", () => {
  it.effect("says whether the gateway answered all that was asked of it", () => {
    let isDown = false
    return flow(
      function* (options, sandbox) {
        isDown = false
        yield* rounds(options, sandbox, 2)
        assert.isTrue(yield* reconcileOnce())
        isDown = true
        yield* TestClock.adjust("10 minutes")
        assert.isFalse(yield* reconcileOnce())
        isDown = false
        assert.isTrue(yield* reconcileOnce())
      },
      behind(() => (isDown ? down : undefined)),
    )
  })
})

describe("a payment that no gateway answers for", () => {
  it.effect("is shown as unknown, and as in flight once one took it", () => {
    let isDown = false
    return flow(
      function* (options, sandbox) {
        isDown = true
        for (let i = 0; i < 3; i++) yield* round(options, sandbox, undone)
        const state = Effect.map(
          Effect.flatMap(Outbox, (outbox) => outbox.open),
          (open) => open.map((intent) => [intent.state, intent.detail]),
        )
        yield* submitOnce()
        assert.deepStrictEqual(yield* state, [
          ["unknown", "it may or may not be in the network; the same bytes are sent again"],
        ])
        isDown = false
        for (let i = 0; i < 12 && (yield* state)[0]?.[0] !== "in_flight"; i++) {
          yield* round(options, sandbox, new Set(["confirm"]))
        }
        assert.match((yield* state).join(), /^in_flight,attempt 1 is /)
      },
      behind((path) => (isDown && path === "/transaction" ? down : undefined)),
    )
  })
})

describe("a payment that is made", () => {
  it.effect("is recorded as one entry and counted once by how it ended", () =>
    flow(function* (options, sandbox) {
      const metrics = yield* Metrics
      const counted = Effect.map(
        Effect.promise(() => metrics.intentsFinished.get()),
        ({ values }) => values.filter(({ value }) => value > 0).map(({ labels, value }) => [labels["outcome"], value]),
      )
      yield* rounds(options, sandbox, 6)
      const [intent] = yield* (yield* Outbox).recent(1)
      assert.strictEqual(intent?.state, "confirmed")
      const kinds = (yield* (yield* Journal).about(intent?.id ?? "")).map(({ kind }) => kind)
      assert.lengthOf(
        kinds.filter((kind) => kind === "config"),
        1,
      )
      assert.deepStrictEqual(yield* counted, [["confirmed", 1]])
    }),
  )
})
