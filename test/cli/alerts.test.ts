import { assert, describe } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { deliverOnce } from "../../src/alerts/AlertLoop.ts"
import { Notifier } from "../../src/notify/Notifier.ts"
import { listAlerts } from "../../src/store/alerts/alertRecords.ts"
import { raise } from "../../src/store/alerts/raise.ts"
import { mailServer } from "../notify/MailServer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { controlled } from "../support/Control.ts"
import { it } from "../support/it.ts"
import { noReminders } from "../support/noReminders.ts"
import { ticking } from "../support/ticking.ts"
import { waitUntil } from "../support/until.ts"

const halted = raise("halt", { reason: "operator", seq: 1, detail: "ana: audit", remedy: "resume" })
const json = (text: string): unknown => JSON.parse(text)

describe("the verbs of alerts", () => {
  it.effect("list, show and take over an alert, beside a daemon that runs", () =>
    controlled(function* (options) {
      yield* halted
      const call = (...args: ReadonlyArray<string>) =>
        Effect.promise(() => callCofferer(["alerts", ...args, "--data", options.dataDir]))
      const listed = yield* call("list")
      assert.match(
        listed.stdout,
        /^1 {2}\d{4}-\S+Z {2}page {2}firing {2}halt {2}operator: nothing is signed: ana: audit/,
      )
      assert.match((yield* call("show", "1")).stdout, /runbook {2}docs\/runbooks\.md#halt/)
      yield* raise("work_late", { payment: "p", short: "x", state: "reserved", intent: "i", k: 1, detail: "slow" })
      assert.match((yield* call("show", "2")).stdout, /runbook {2}docs\/runbooks-payments\.md#work_late/)
      const acked = yield* call("ack", "1", "2", "--reason", "I am on it")
      assert.match(acked.stdout, /^acknowledged 1 .*\nacknowledged 2 /, acked.stderr)
      assert.match((yield* call("show", "1")).stdout, /^1 {2}page {2}acknowledged/)
      const shown = yield* call("list", "--output", "json")
      assert.containSubset(json(shown.stdout), {
        alerts: [2, 1].map((seq) => ({ seq, state: "acknowledged", ackedReason: "I am on it" })),
      })
      const whole = yield* call("list", "--limit", "2")
      assert.strictEqual(whole.stderr, "")
      const cut = yield* call("list", "--limit", "1", "--output", "json")
      assert.containSubset(json(cut.stdout), { alerts: [{ seq: 2 }] })
      assert.notInclude(cut.stdout, '"seq": 1')
      assert.strictEqual(cut.stderr, "the newest 1 alert; --limit N shows more\n")
      assert.strictEqual((yield* call("show", "7")).code, 4)
      assert.strictEqual((yield* call("ack", "1")).code, 2, "a reason is needed")
    }),
  )

  it.effect("silence what they name, for a time, and end that", () =>
    controlled(function* (options) {
      const call = (...args: ReadonlyArray<string>) =>
        Effect.promise(() => callCofferer(["alerts", ...args, "--data", options.dataDir]))
      yield* halted
      const everything = yield* call("silence", "--reason", "drill")
      assert.strictEqual(everything.code, 2)
      assert.include(everything.stderr, "every alert")
      const misspelt = yield* call("silence", "--kind", "gateway", "--reason", "drill")
      assert.strictEqual(misspelt.code, 2)
      assert.match(misspelt.stderr, /no alert has the kind gateway; the kinds are approval, .*health/)
      assert.match(
        (yield* call("silence", "--name", "halted", "--reason", "drill")).stderr,
        /no alert has the name halted/,
      )
      const both = yield* call("silence", "1", "--kind", "health", "--reason", "drill")
      assert.match(both.stderr, /an alert's number and --name, --kind or --subject; the number alone names the alert/)
      assert.strictEqual(both.code, 2)
      const silenced = yield* call("silence", "1", "--for", "1h", "--reason", "drill")
      assert.match(
        silenced.stdout,
        /^silence 1: alerts with name halt, kind halt, subject operator are sent to nobody until 2027-01-15T09:00:00Z/,
      )
      assert.match(
        (yield* call("list")).stdout,
        /silence 1 until \S+: alerts with name halt, kind halt, subject operator; by \S+: drill$/m,
      )
      assert.strictEqual((yield* call("silence", "--end", "1")).code, 0)
      assert.strictEqual((yield* call("silence", "--end", "1")).code, 4)
      assert.strictEqual((yield* call("silence", "1", "--for", "32d", "--reason", "drill")).code, 2)
    }),
  )

  it.effect("send a test to a receiver, and say whether it arrived, and for which address it did not", function* () {
    const server = yield* mailServer
    yield* controlled(function* (options) {
      const testedWith = Effect.fnUntraced(function* (notifier: Layer.Layer<Notifier>) {
        const seen = (yield* listAlerts(9, "all")).length
        const sent = yield* Effect.forkChild(
          Effect.promise(() => callCofferer(["alerts", "test", "log", "--data", options.dataDir])),
        )
        yield* waitUntil(
          "the test",
          Effect.map(listAlerts(9, "all"), ({ length }) => length > seen),
        )
        yield* ticking(Effect.provide(deliverOnce("flow", noReminders), notifier))
        return yield* ticking(Fiber.join(sent))
      })
      const taking = Notifier.of({ receivers: ["log"], send: () => Effect.void })
      const { code, stdout } = yield* testedWith(Layer.succeed(Notifier, taking))
      assert.strictEqual(stdout.trim(), "log  delivered")
      assert.strictEqual(code, 0)
      server.answers.set("RCPT TO:<ben@x.example>", "550 no such user")
      const to = ["ana@x.example", "ben@x.example"]
      const email = { host: "127.0.0.1", port: server.port, tls: "none", from: "c@x.example", to } as const
      const partly = yield* testedWith(Notifier.layerReceivers([{ name: "log", email }]))
      assert.strictEqual(partly.stdout.trim(), "log  delivered: the mail server refused it for ben@x.example")
      assert.strictEqual(partly.code, 1)
      assert.include(partly.stderr, "a receiver, or one of its addresses, did not accept it")
      const none = yield* Effect.promise(() => callCofferer(["alerts", "test", "nobody", "--data", options.dataDir]))
      assert.strictEqual(none.code, 4)
      assert.include(none.stderr, "alerts.receivers has log")
      const args = ["alerts", "silence", "--kind", "health", "--for", "40d", "--reason", "x", "--data", options.dataDir]
      const long = yield* Effect.promise(() => callCofferer(args))
      assert.match(long.stderr, /Expected a silence of at most 31d/)
    })
  })
})
