import { assert, it } from "@effect/vitest"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { InFlight } from "../../src/submitter/InFlight.ts"
import { flow, paid, round, states } from "../support/Flow.ts"
import { rounds } from "../support/Intents.ts"

it.effect("a lookup does not settle a payment while a send awaits its answer", () =>
  flow(function* (options, sandbox) {
    const unseen = new Set(["confirm"])
    for (let i = 0; i < 20 && (yield* paid(sandbox)).length === 0; i++) yield* round(options, sandbox, unseen)
    const [attempt = assert.fail("nothing was signed")] = yield* (yield* Outbox).live
    const before = yield* states
    const looks = rounds(options, sandbox, 4, new Set(["submit"]))
    yield* (yield* InFlight).sends(attempt, looks)
    assert.deepStrictEqual(yield* states, before, "the answer comes first")
    yield* looks
    assert.deepStrictEqual(yield* states, ["confirmed"])
  }),
)
