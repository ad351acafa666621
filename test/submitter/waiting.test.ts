import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { byOneConfig } from "../../src/config/ConfigInForce.ts"
import type { Intent } from "../../src/domain/Intent.ts"
import { intentView } from "../../src/http/stories.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { currentBacking, SigningFacts } from "../../src/submitter/SigningFacts.ts"
import { showWait } from "../../src/submitter/waiting.ts"
import { type Flow, flow, lives, pass, round } from "../support/Flow.ts"
import { dueDetails, rounds } from "../support/Intents.ts"
import { wageAt } from "../support/LoneLiar.ts"
import { attemptOf } from "../support/Payments.ts"
import { arm, disarm } from "../support/TestFaults.ts"

/** While a gateway tells no height, these fail as well. */
const headless = new Set(["compare", "reconcile", "confirm"])
const undone = new Set(["submit", "confirm"])

/** Of the payments of a rule: receiver, amount in whole units, state. */
const paymentsOf = (rule: string) =>
  Effect.map(
    Effect.flatMap(Outbox, (outbox) => outbox.recent(50)),
    (all) => all.filter((intent) => intent.rule === rule).toReversed(),
  )
const statesOf = (rule: string) =>
  Effect.map(paymentsOf(rule), (all) => all.map(({ payment, state }) => `${payment.to} ${state}`))
const told = (pattern: RegExp) => Effect.map(dueDetails, (all) => all.filter((detail) => pattern.test(detail)))
const by = { reason: "looks at it", author: "ana" }
const halt = Effect.flatMap(Controls, (controls) => controls.halt("operator", "looks at it"))
const pause = (scope: string) =>
  Effect.flatMap(Controls, (controls) => controls.pause({ scope, ...by, until: undefined }))
const resume = (scope = "all") => Effect.flatMap(Controls, (controls) => controls.resume({ scope, ...by }))
/** Runs all loops until nothing is open, but no longer than one needs. */
const settle = Effect.fnUntraced(function* (options: Parameters<Flow>[0], sandbox: Parameters<Flow>[1]) {
  yield* rounds(options, sandbox, 6)
  yield* pass(sandbox, 6, round(options, sandbox))
})

const daily = { rules: [wageAt("1 8 * * *")] }
/** Until the payment is decided, and nothing of it is signed. */
const decided = Effect.fnUntraced(function* (options: Parameters<Flow>[0], sandbox: Parameters<Flow>[1]) {
  yield* rounds(options, sandbox, 3)
  yield* TestClock.adjust("1 minute")
  yield* rounds(options, sandbox, 3, undone)
  assert.deepStrictEqual(yield* statesOf("wage"), ["eve proposed"])
})

describe("a planned payment", () => {
  it.effect("waits through an operator's halt, and is paid once", () =>
    flow(function* (options, sandbox) {
      yield* decided(options, sandbox)
      yield* halt
      yield* rounds(options, sandbox, 2)
      yield* TestClock.adjust("20 minutes")
      yield* rounds(options, sandbox, 2)
      const [waiting] = yield* paymentsOf("wage")
      assert.include(waiting?.detail ?? "", "waits: halted by looks at it", "it says what it waits for")
      const { setAside } = yield* intentView(waiting!)
      assert.match(
        setAside ?? "",
        /^reserved for it: 30\.00\S* USDT and a fee of at most \S+ of the balance of alice, and as much of the limits$/,
      )
      yield* resume()
      yield* settle(options, sandbox)
      assert.deepStrictEqual(yield* statesOf("wage"), ["eve confirmed"])
    }, daily),
  )

  it.effect("waits for a gateway that tells no height, calls people, and is paid once", () =>
    flow(function* (options, sandbox, client) {
      yield* decided(options, sandbox)
      yield* arm(client, { operation: "height", kind: "http_status", status: 503, count: 100_000 })
      yield* TestClock.adjust("61 minutes")
      yield* rounds(options, sandbox, 2, headless)
      const [waiting] = yield* paymentsOf("wage")
      assert.match(waiting?.detail ?? "", /^waits: .*503/)
      const [alert, ...others] = yield* told(/^wage: /)
      assert.match(alert ?? "", /^wage: 30\.00\S* USDT alice -> eve is not paid since 2027-01-15 08:01Z: .*503/)
      assert.match(alert ?? "", /stays owed.* reserved.*cofferer intents cancel \S+ --reason TEXT/)
      assert.deepStrictEqual(others, [], "told once")
      yield* disarm(client)
      yield* settle(options, sandbox)
      assert.deepStrictEqual(yield* statesOf("wage"), ["eve confirmed"])
    }, daily),
  )

  it.effect("calls people anew where a signature came to nothing", () =>
    flow(function* (options, sandbox) {
      yield* decided(options, sandbox)
      yield* TestClock.adjust("61 minutes")
      const outbox = yield* Outbox
      const [intent] = yield* paymentsOf("wage")
      const held = yield* outbox.move(intent!, "reserved", { detail: "permitted" })
      const isTold = told(/^wage: .*is not paid since/)
      yield* byOneConfig(showWait(held, "no height"))
      yield* outbox.persist(held, attemptOf(held, 1, { state: "expired" }))
      const waits = Effect.gen(function* () {
        for (const intent of yield* paymentsOf("wage")) {
          yield* byOneConfig(showWait({ ...intent, detail: "waits: no height" }, "no height"))
        }
        return (yield* isTold).length
      })
      assert.strictEqual(yield* waits, 2)
      const updatedAt = yield* Clock.currentTimeMillis
      yield* outbox.persist((yield* paymentsOf("wage"))[0]!, attemptOf(held, 2, { updatedAt }))
      assert.strictEqual(yield* waits, 2, "it waits from its last attempt")
      yield* TestClock.adjust("61 minutes")
      assert.strictEqual(yield* waits, 3)
    }, daily),
  )

  it.effect("outlives the process, which was down for a quarter of an hour", () =>
    lives(
      [
        decided,
        function* (options, sandbox) {
          yield* TestClock.adjust("15 minutes")
          yield* settle(options, sandbox)
          assert.deepStrictEqual(yield* statesOf("wage"), ["eve confirmed"])
        },
      ],
      daily,
    ),
  )

  it.effect("stands for all that was missed while it waited", () =>
    lives(
      [
        function* (options, sandbox) {
          yield* decided(options, sandbox)
          yield* pause("rule:wage")
          for (let i = 0; i < 3; i++) {
            yield* TestClock.adjust("10 minutes")
            yield* rounds(options, sandbox, 2)
          }
          assert.deepStrictEqual(yield* statesOf("wage"), ["eve proposed"])
        },
        function* (options, sandbox) {
          yield* resume("rule:wage")
          yield* settle(options, sandbox)
          assert.deepStrictEqual(yield* statesOf("wage"), ["eve confirmed"], "one for 08:01, 08:11, 08:21 and 08:31")
          yield* TestClock.adjust("10 minutes")
          yield* settle(options, sandbox)
          assert.deepStrictEqual(yield* statesOf("wage"), ["eve confirmed", "eve confirmed"], "and 08:41 for itself")
        },
      ],
      { rules: [wageAt("1/10 8 * * *")], transfersPer24h: 9 },
    ),
  )

  it.effect("of a skipping rule is paid in time, else dropped with an alert", () =>
    flow(
      function* (options, sandbox) {
        yield* decided(options, sandbox)
        yield* pause("rule:wage")
        yield* TestClock.adjust("7 minutes")
        yield* rounds(options, sandbox, 2)
        yield* resume("rule:wage")
        yield* settle(options, sandbox)
        assert.deepStrictEqual(yield* statesOf("wage"), ["eve confirmed"], "within ten minutes")
        yield* TestClock.adjust("10 minutes")
        yield* rounds(options, sandbox, 3, undone)
        yield* pause("rule:wage")
        yield* rounds(options, sandbox, 1)
        yield* TestClock.adjust("10 minutes")
        yield* rounds(options, sandbox, 2)
        assert.deepStrictEqual(yield* statesOf("wage"), ["eve confirmed", "eve cancelled"])
        const [alert] = yield* told(/^wage: /)
        assert.match(
          alert ?? "",
          /^wage: 30\.00\S* USDT alice -> eve is cancelled, unpaid: planned for 2027-01-15 08:11Z/,
        )
        assert.match(alert ?? "", /missed: skip.*waited: paused \(rule:wage\) by \w+: looks at it; .*"cofferer submit"/)
      },
      { rules: [wageAt("1,11 8 * * *", { missed: "skip", late: "10m" })] },
    ),
  )

  it.effect("that nobody could decide in time is dropped with an alert as well", () =>
    lives(
      [
        (options, sandbox) => rounds(options, sandbox, 3),
        function* (options, sandbox) {
          yield* TestClock.adjust("40 minutes")
          yield* settle(options, sandbox)
          assert.deepStrictEqual(yield* statesOf("wage"), [])
          const [alert, ...others] = yield* told(/alice -> eve/)
          assert.match(
            alert ?? "",
            /30\.00\S* USDT alice -> eve planned for each time from .*08:01Z to .*08:21Z is not/,
          )
          assert.match(
            alert ?? "",
            /it was not evaluated in time, and after 10 min it is dropped \(missed: skip\); nothing pays it any more; if it is still owed, pay it with "cofferer submit"$/,
          )
          assert.deepStrictEqual(others, [])
        },
      ],
      { rules: [wageAt("1,21 8 * * *", { missed: "skip", late: "10m" })] },
    ),
  )

  it.effect("waits while the signer's daily limit is used up, and is then paid", () =>
    flow(
      function* (options, sandbox) {
        yield* decided(options, sandbox)
        // The window is full for the signer alone: the rule decided before.
        yield* (yield* Controls).resume({ scope: "all", ...by })
        const { treasury } = options
        const [line] = treasury.policy.lines
        Object.assign(line!, { transfersPer24h: 1 })
        yield* rounds(options, sandbox, 3)
        const [waiting] = yield* paymentsOf("wage")
        assert.match(waiting?.detail ?? "", /waits: .*window_count.*1 of 1 transfers in 24 h are used/)
        yield* TestClock.adjust("62 minutes")
        yield* rounds(options, sandbox, 2)
        assert.lengthOf(yield* told(/^wage: .*is not paid since/), 1)
        yield* TestClock.adjust("23 hours")
        yield* settle(options, sandbox)
        assert.include(yield* statesOf("wage"), "eve confirmed")
        assert.notInclude((yield* statesOf("wage")).join(), "denied")
      },
      { rules: [wageAt("1 8 15 * *")] },
    ),
  )

  it.effect("is wanted by its own time, though newer ones are over", () =>
    flow(function* (options, sandbox) {
      yield* decided(options, sandbox)
      const [intent] = yield* paymentsOf("wage")
      const facts = yield* SigningFacts
      const states = yield* RuleStates
      assert.strictEqual((yield* facts.need(intent!)).verdict, "wanted")
      const memory = (yield* states.all).find(({ rule }) => rule === "wage")
      yield* states.save({ ...memory!, episode: intent!.episode + 86_400 }, memory)
      assert.strictEqual((yield* facts.need(intent!)).verdict, "wanted")
      assert.deepInclude(yield* currentBacking(intent!), { _tag: "Planned", at: intent!.episode * 1_000 })
    }, daily),
  )

  it.effect("ends with an alert where the rule pays another amount by then", () =>
    flow(function* (options, sandbox) {
      yield* decided(options, sandbox)
      yield* pause("rule:wage")
      yield* TestClock.adjust("10 minutes")
      yield* rounds(options, sandbox, 2)
      const rule = options.treasury.rules.find(({ name }) => name === "wage")
      Object.assign(rule!, { amount: 1n })
      yield* resume("rule:wage")
      yield* rounds(options, sandbox, 2)
      assert.strictEqual((yield* statesOf("wage"))[0], "eve cancelled")
      assert.match((yield* told(/^wage: /)).join(), /another amount.*"cofferer submit"/)
    }, daily),
  )
})

const divide = {
  name: "divide",
  split: { from: "alice", asset: "USDT", above: "700", target: "600", to: { bob: 50, eve: 50 } },
  onShort: "hold",
}
const amounts = (intents: ReadonlyArray<Intent>) =>
  intents.map(({ payment, state }) => `${payment.to} ${payment.amount} ${state}`)

/** Until both parts are decided, and nothing of them is signed. */
const divided = Effect.fnUntraced(function* (options: Parameters<Flow>[0], sandbox: Parameters<Flow>[1]) {
  for (let i = 0; i < 12 && !(yield* statesOf("keep-bob")).includes("bob confirmed"); i++) {
    yield* round(options, sandbox)
  }
  for (let i = 0; i < 12 && (yield* paymentsOf("divide")).length === 0; i++) yield* round(options, sandbox, undone)
})

describe("a split of which one receiver is paused", () => {
  it.effect("ends even, however long the pause lasts", () =>
    lives(
      [
        function* (options, sandbox) {
          yield* divided(options, sandbox)
          assert.lengthOf(yield* paymentsOf("divide"), 2)
          yield* pause("party:eve")
          yield* rounds(options, sandbox, 6)
          assert.deepStrictEqual((yield* statesOf("divide")).toSorted(), ["bob confirmed", "eve proposed"])
          yield* TestClock.adjust("30 hours")
          yield* rounds(options, sandbox, 2)
        },
        function* (options, sandbox) {
          assert.match((yield* told(/^divide: /)).join(), /alice -> eve is not paid since .*paused \(party:eve\)/)
          yield* resume("party:eve")
          yield* settle(options, sandbox)
          const [one, two, ...others] = yield* paymentsOf("divide")
          assert.deepStrictEqual(others, [])
          assert.strictEqual(one?.payment.amount, two?.payment.amount)
          assert.deepStrictEqual((yield* statesOf("divide")).toSorted(), ["bob confirmed", "eve confirmed"])
        },
      ],
      { rules: [divide], transfersPer24h: 9 },
    ),
  )

  it.effect("is decided anew as a whole where neither part was signed", () =>
    flow(
      function* (options, sandbox, client) {
        yield* divided(options, sandbox)
        yield* arm(client, { operation: "height", kind: "http_status", status: 503, count: 100_000 })
        yield* rounds(options, sandbox, 2, headless)
        yield* TestClock.adjust("6 minutes")
        yield* rounds(options, sandbox, 1, headless)
        const before = amounts(yield* paymentsOf("divide"))
        assert.lengthOf(
          before.filter((one) => one.endsWith("cancelled")),
          2,
          before.join(),
        )
        yield* disarm(client)
        yield* settle(options, sandbox)
        const after = (yield* paymentsOf("divide")).filter(({ state }) => state === "confirmed")
        assert.lengthOf(after, 2)
        assert.strictEqual(after[0]?.payment.amount, after[1]?.payment.amount)
      },
      { rules: [divide], transfersPer24h: 9 },
    ),
  )
})
