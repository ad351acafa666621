import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { Health } from "../../src/gateway/Health.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { round } from "../support/Flow.ts"
import { behind, deposits, pow } from "../support/LoneLiar.ts"
import { waitUntil } from "../support/until.ts"

const seconds = 1_000

/** A gateway that names no blocks, and its time in the Date header; our clock is ahead of it by so much. */
const ahead = (millis: number, use: Parameters<typeof behind>[1]) =>
  Effect.flatMap(Clock.Clock, (network) =>
    behind(
      {
        scenario: { profile: "specification", ...pow(30), deposits },
        network: { framing: "prefixed" },
        clock: (clock) => ({
          ...clock,
          currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + millis,
          currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now + millis),
        }),
      },
      (liar, url, options, sandbox, client) => {
        const stepBlock = Effect.provideService(sandbox.stepBlock, Clock.Clock, network)
        return use(liar, url, options, { ...sandbox, stepBlock }, client)
      },
      async (_, ask) => {
        const answer = await ask()
        const date = new Date(network.currentTimeMillisUnsafe()).toUTCString()
        return { ...answer, headers: { ...answer.headers, date } }
      },
    ),
  )

const states = Effect.map(
  Effect.flatMap(Outbox, (outbox) => outbox.recent(20)),
  (all) => all.map(({ state }) => state),
)

describe("a clock that is ahead of a gateway that names no blocks", () => {
  it.effect("by some seconds confirms payments by the balances", () =>
    ahead(20 * seconds, function* (_, __, options, sandbox) {
      const isPaid = Effect.map(states, (all) => all.includes("confirmed"))
      yield* waitUntil("a payment to be confirmed", isPaid, round(options, sandbox))
    }),
  )

  it.effect("by many signs nothing, and knows balances as old as they are", () =>
    ahead(900 * seconds, function* (_, __, options, sandbox) {
      for (let i = 0; i < 20; i++) yield* Effect.ignore(round(options, sandbox))
      assert.isFalse((yield* states).includes("in_flight"))
      const watermark = (yield* (yield* Observations).watermark)?.timestamp ?? 0n
      const age = (yield* Clock.currentTimeMillis) - Number(watermark / 1_000_000n)
      assert.isAtLeast(age, 880 * seconds)
      const [gateway] = yield* (yield* Health).all
      assert.approximately(gateway?.aheadMillis ?? 0, -900 * seconds, 3 * seconds, "people are told which clock")
    }),
  )
})
