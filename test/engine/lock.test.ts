import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { planOf } from "../../src/http/planOf.ts"
import { makeAllClears } from "../../src/store/alerts/allClears.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { alertRows } from "../support/alertRows.ts"
import { flow, reason, round, states } from "../support/Flow.ts"

const looking = new Set(["submit", "confirm"])

/** Ends the open payment of the rule as the signer's refusal, or a proof, would. */
const end = Effect.fnUntraced(function* (state: "denied" | "abandoned") {
  const outbox = yield* Outbox
  const [open] = yield* outbox.open
  assert.isDefined(open)
  const reserved = yield* outbox.move(open!, "reserved", { detail: "set aside" })
  if (state === "denied") return yield* outbox.move(reserved, state, { detail: "the policy has no line" })
  return yield* outbox.move(reserved, "abandoned", { detail: "its window passed" })
})

const locks = Effect.map(
  Effect.flatMap(Controls, (controls) => controls.pauses),
  (all) => all.map(({ scope, reason, author }) => ({ scope, reason, author })),
)
const allClears = Effect.flatMap(makeAllClears, (raise) => raise(() => true))
const tickets = Effect.map(alertRows, (due) =>
  due.filter(({ dedup }) => dedup.startsWith("lock/")).map(({ severity, subject }) => `${severity} ${subject}`),
)

describe("a rule whose payments come to nothing", () => {
  it.effect("locks itself after the third in a row, once, until a person unlocks it", () =>
    flow(
      function* (options, sandbox) {
        const controls = yield* Controls
        const journal = yield* Journal
        const fail = Effect.fnUntraced(function* (state: "denied" | "abandoned") {
          for (let i = 0; i < 4 && (yield* (yield* Outbox).open).length === 0; i++) {
            yield* TestClock.adjust("1 minute")
            yield* round(options, sandbox, looking)
          }
          yield* end(state)
        })
        yield* fail("denied")
        yield* fail("abandoned")
        assert.deepStrictEqual(yield* locks, [], "two are none too many")
        yield* fail("denied")
        const { plan } = yield* planOf({ plan: options, inForce: undefined, asLastSeen: false })
        assert.match(plan.subjects[0]?.sentence ?? "", /holds: locked, its last 3 payments failed/)
        assert.deepStrictEqual(yield* locks, [], "whoever asks what would be done changes nothing")
        yield* TestClock.adjust("2 minutes")
        for (let i = 0; i < 3; i++) yield* round(options, sandbox, looking)
        assert.strictEqual(yield* reason, "locked")
        assert.deepStrictEqual(yield* locks, [
          {
            scope: "lock:keep-bob",
            reason: "its last 3 payments failed; the last: the policy has no line",
            author: "cofferer",
          },
        ])
        assert.deepStrictEqual(yield* tickets, ["ticket keep-bob"])
        assert.deepStrictEqual(yield* states, ["denied", "abandoned", "denied"])
        yield* TestClock.adjust("2 days")
        for (let i = 0; i < 3; i++) yield* round(options, sandbox, looking)
        assert.strictEqual(yield* reason, "locked", "time alone ends it not")
        const before = (yield* journal.head).seq
        yield* allClears
        assert.deepStrictEqual(yield* tickets, ["ticket keep-bob"], "it is not over")
        yield* controls.resume({ scope: "lock:keep-bob", reason: "line added", author: "ana" })
        yield* allClears
        yield* allClears
        assert.deepStrictEqual(yield* tickets, ["ticket keep-bob", "info keep-bob"])
        assert.strictEqual((yield* journal.head).seq, before + 1)
        for (let i = 0; i < 3; i++) yield* round(options, sandbox, looking)
        assert.strictEqual(yield* reason, "in_flight", "it acts again")
        yield* end("denied")
        yield* TestClock.adjust("2 minutes")
        for (let i = 0; i < 3; i++) yield* round(options, sandbox, looking)
        assert.deepStrictEqual(yield* locks, [], "one failure after the unlock: the old ones do not count")
      },
      { more: { alerts: { receivers: { log: { log: {} } }, routes: [{ severity: ["ticket"], to: ["log"] }] } } },
    ),
  )

  it.effect("locks itself again after an unlock by a clock that was ahead", () =>
    flow(function* (options, sandbox) {
      const controls = yield* Controls
      const fail = Effect.gen(function* () {
        for (let i = 0; i < 4 && (yield* (yield* Outbox).open).length === 0; i++) {
          yield* TestClock.adjust("1 minute")
          yield* round(options, sandbox, looking)
        }
        yield* end("denied")
      })
      yield* Effect.repeat(fail, { times: 2 })
      yield* TestClock.adjust("2 minutes")
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, looking)
      assert.lengthOf(yield* locks, 1)
      const now = yield* Clock.currentTimeMillis
      yield* TestClock.setTime(now + 365 * 86_400_000)
      yield* controls.resume({ scope: "lock:keep-bob", reason: "line added", author: "ana" })
      yield* TestClock.setTime(now + 4 * 86_400_000)
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, looking)
      assert.deepStrictEqual(yield* locks, [], "the failures before it are old")
      yield* Effect.repeat(fail, { times: 2 })
      yield* TestClock.adjust("2 minutes")
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, looking)
      assert.lengthOf(yield* locks, 1)
    }),
  )
})
