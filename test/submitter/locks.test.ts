import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Scheduler } from "effect"
import { ConfigInForce } from "../../src/config/ConfigInForce.ts"
import { Database } from "../../src/store/database/Database.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { flow, round, states } from "../support/Flow.ts"
import { turn } from "../support/until.ts"

/** Far more than a payment takes. */
const turnsMax = 100_000

describe("a configuration that is replaced while a payment is signed", () => {
  it.effect("waits for the signature, or the reverse, and never deadlocks", () =>
    flow((options, sandbox) =>
      Effect.gen(function* () {
        for (let i = 0; i < 3; i++) yield* round(options, sandbox, new Set(["submit", "confirm"]))
        assert.deepStrictEqual(yield* states, ["proposed"])
        const config = yield* ConfigInForce
        const database = yield* Database
        // As a reload does: what must be durable is written while no signature is judged.
        const replace = Effect.suspend(() => config.replace(config.now(), database.write(Effect.void)))
        const replacing = yield* Effect.forkChild(Effect.forever(Effect.andThen(replace, turn)))
        const signing = yield* submitOnce().pipe(Effect.timeoutOption("1 minute"), Effect.forkChild)
        // Fibers that yield after each step meet in every order.
        for (let i = 0; i < turnsMax && signing.pollUnsafe() === undefined; i++) yield* turn
        assert.isDefined(signing.pollUnsafe(), "the payment is not signed, and the configuration not replaced")
        yield* Fiber.interrupt(replacing)
        assert.deepStrictEqual(yield* states, ["in_flight"])
      }).pipe(Effect.provideService(Scheduler.MaxOpsBeforeYield, 3)),
    ),
  )
})
