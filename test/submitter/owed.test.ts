import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { flow, pass, round } from "../support/Flow.ts"
import { arm, disarm } from "../support/TestFaults.ts"

const undone = new Set(["submit", "confirm"])

/** The clock stands at 08:00. */
const rules = [
  {
    name: "wage",
    payout: { from: "alice", to: "eve", asset: "USDT", amount: "30" },
    schedule: { cron: "1,3 8 * * *" },
  },
]

const wages = Effect.map(
  Effect.flatMap(Outbox, (outbox) => outbox.recent(9)),
  (all) =>
    all
      .filter(({ rule }) => rule === "wage")
      .map(({ episode, state }) => `${new Date(episode * 1_000).toISOString().slice(11, 16)} ${state}`)
      .toReversed(),
)

it.effect("a signed planned payment does not stand for a later time", () =>
  flow(
    function* (options, sandbox, client) {
      for (let i = 0; i < 12; i++) yield* round(options, sandbox)
      yield* TestClock.adjust("47 seconds")
      for (let i = 0; i < 8; i++) yield* round(options, sandbox, undone)
      yield* arm(client, { operation: "submit", kind: "http_status", status: 503, count: 1_000 })
      yield* submitOnce()
      assert.deepStrictEqual(yield* wages, ["08:01 unknown"])
      yield* TestClock.adjust("2 minutes")
      yield* pass(sandbox, 75, round(options, sandbox, new Set(["submit"])))
      assert.deepStrictEqual(yield* wages, ["08:01 reserved"], "its first attempt is proven dead after 08:03")
      yield* disarm(client)
      yield* pass(sandbox, 30, round(options, sandbox))
      assert.deepStrictEqual(yield* wages, ["08:01 confirmed", "08:03 confirmed"])
    },
    { rules, transfersPer24h: 9 },
  ),
)
