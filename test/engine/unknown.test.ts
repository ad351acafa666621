import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { decideOnce } from "../../src/engine/Engine.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { type Flow, type FlowSetup, flow, lives, paid, reason, round } from "../support/Flow.ts"
import { startFront } from "../support/Fronts.ts"
import { head, payment, signed, submit } from "../support/TestClient.ts"
import { one, usdt } from "../support/TestSandbox.ts"

const told = Effect.gen(function* () {
  const queue = yield* AlertQueue
  const due = (yield* queue.due(100)).filter(({ dedup }) => dedup.startsWith("unknown/"))
  for (const delivery of due) yield* queue.delivered(delivery)
  return [...new Set(due.map(({ severity, detail }) => `${severity} ${detail}`))]
})
const page = '{"edges":[],"pageInfo":{"hasNextPage":false,"hasPreviousPage":false,"startCursor":"","endCursor":""}}'
const hidden = new Map([
  ["/api/v2/balance/changes", "balances"],
  ["/api/v2/accounts", "accounts"],
])

describe("an account whose balance nothing tells", () => {
  it.effect("calls people after five minutes, once", () => {
    let isHidden = true
    const front = (url: string) =>
      Effect.map(startFront("a", url), (one) => {
        one.manner = async (request, ask) => {
          const key = hidden.get(request.url.pathname)
          const answer = await ask()
          return key === undefined || !isHidden ? answer : { ...answer, text: `{"${key}":${page}}` }
        }
        return one.server.url
      })
    return flow(
      function* (options, sandbox, client) {
        for (let i = 0; i < 6; i++) yield* round(options, sandbox)
        assert.strictEqual(yield* reason, "no_data")
        assert.deepStrictEqual(yield* told, [])
        yield* TestClock.adjust("5 minutes")
        for (let i = 0; i < 3; i++) yield* round(options, sandbox)
        const [ticket, ...more] = yield* told
        assert.match(
          ticket ?? "",
          /^ticket pays nothing for bob\/USDT since .*: no balance of bob\/USDT was ever seen; /,
        )
        assert.deepStrictEqual(more, [])
        yield* TestClock.adjust("1 hour")
        for (let i = 0; i < 3; i++) yield* round(options, sandbox)
        assert.deepStrictEqual(yield* told, [])
        assert.deepStrictEqual(yield* paid(sandbox), [])
        // Both accounts are seen with their first rows.
        isHidden = false
        yield* submit(
          client,
          signed(client, {
            from: "alice",
            command: payment(client, "bob", one, { asset: usdt }),
            ...(yield* head(client)),
          }),
        )
        for (let i = 0; i < 3; i++) yield* round(options, sandbox)
        const [over, ...again] = yield* told
        assert.match(over ?? "", /^info bob\/USDT: its balances are known; it began at /)
        assert.deepStrictEqual(again, [])
      },
      { front },
    )
  })
})

const setup: FlowSetup = {
  rules: [
    {
      name: "keep-eve",
      topUp: { from: "carol", levels: [{ party: "bob", asset: "USDT", below: "5000", target: "5100" }] },
    },
  ],
  allow: [{ from: "carol", to: ["bob"], asset: "USDT", perTransfer: "9000", per24h: "9000", transfersPer24h: 4 }],
}
/** Rounds of all loops, ten seconds apart. */
const minutes = (count: number, [options, sandbox]: Parameters<Flow>) =>
  Effect.forEach(
    Array.from({ length: count * 6 }),
    () => Effect.andThen(TestClock.adjust("9 seconds"), round(options, sandbox)),
    { discard: true },
  )
const isOnce = Effect.gen(function* () {
  const [ticket, ...more] = yield* told
  assert.match(ticket ?? "", /^ticket pays nothing for bob\/USDT since .*: carol has no known balance.*; /)
  assert.deepStrictEqual(more, [])
})

describe("a payer whose balance nothing tells", () => {
  it.effect("calls people if one look in four minutes finds old data", () =>
    lives(
      [
        function* (...args) {
          for (let n = 0; n < 4; n++) {
            yield* minutes(4, args)
            yield* TestClock.adjust("40 seconds")
            yield* decideOnce()
          }
          yield* isOnce
        },
      ],
      setup,
    ),
  )

  it.effect("calls people if the process restarts every four minutes with old data", () => {
    const short: Flow = (...args) =>
      Effect.gen(function* () {
        yield* TestClock.adjust("40 seconds")
        yield* decideOnce()
        yield* minutes(4, args)
      })
    return lives([short, short, (...args) => Effect.andThen(short(...args), isOnce)], setup)
  })
})
