import { assert, describe } from "@effect/vitest"
import { type Duration, Effect, Fiber, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { deliverOnce } from "../../src/alerts/AlertLoop.ts"
import { type Notification, NotifyError } from "../../src/notify/Channel.ts"
import { Notifier } from "../../src/notify/Notifier.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { listAlerts } from "../../src/store/alerts/alertRecords.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { it } from "../support/it.ts"
import { noReminders } from "../support/noReminders.ts"
import { testStore } from "../support/TestStore.ts"

type Severity = "page" | "ticket" | "info"

/** A desk that takes what `refuses` does not refuse, and keeps what it took and how often it was asked. */
const deskOf = (refuses: (subject: string, key: string) => boolean, refusesAfter: Duration.Input = 0) => {
  const taken: Array<Notification> = []
  const asked: Array<string> = []
  const send = (receiver: string, notification: Notification) => {
    asked.push(notification.subject)
    return refuses(notification.subject, notification.key)
      ? Effect.delay(Effect.fail(new NotifyError({ receiver, detail: "answered with status 500" })), refusesAfter)
      : Effect.sync(() => void taken.push(notification))
  }
  const store = testStore()
  const names = { gateways: [], rules: [], receivers: ["desk"], version: "", revision: "" }
  const layer = Layer.succeed(Notifier, Notifier.of({ receivers: ["desk"], send })).pipe(
    Layer.provideMerge(Metrics.layer({ treasury: "t", mode: "live", ...names })),
    Layer.provideMerge(store.layer()),
    Layer.provideMerge(Logger.layer([])),
    Layer.provideMerge(Layer.effectDiscard(Effect.addFinalizer(() => Effect.sync(store.remove)))),
  )
  return { taken, asked, layer, subjects: () => taken.map(({ subject }) => subject) }
}

const raise = Effect.fnUntraced(function* (
  severity: Severity,
  subject: string,
  resolves: ReadonlyArray<string> = [],
  id = `a/${subject}`,
) {
  const alert = { severity, subject, kind: "intent", detail: "stuck", fields: {}, to: ["desk"] }
  const over = resolves.length === 0 ? "" : "/over"
  yield* (yield* AlertQueue).raise({ ...alert, dedup: `${id}${over}`, resolves })
})

/** One second of the loop. */
const second = Effect.andThen(TestClock.adjust("1 second"), deliverOnce("t", noReminders))

describe("alerts to one receiver", () => {
  it.effect("arrive in their order after it was down for 30 minutes, pages first", function* () {
    let isDown = true
    const desk = deskOf(() => isDown)
    yield* Effect.gen(function* () {
      const raised: Array<readonly [Severity, string]> = []
      for (let n = 0; n < 30 * 60; n++) {
        if (n % 45 === 0) {
          const one = [n % 135 === 0 ? "page" : "ticket", `at ${n} s`] as const
          raised.push(one)
          yield* raise(...one)
        }
        yield* second
      }
      yield* raise("info", "over", ["a/at 45 s"])
      yield* raise("info", "new")
      isDown = false
      const asked = desk.asked.length
      // The new alert is reason enough to ask at once, and what waits before it comes first.
      yield* second
      const inOrder = (severity: Severity) => raised.filter(([one]) => one === severity).map(([, subject]) => subject)
      assert.deepStrictEqual(desk.subjects(), [...inOrder("page"), ...inOrder("ticket"), "over", "new"])
      assert.deepStrictEqual(
        desk.taken.at(-2)?.resolves?.map(({ subject, severity }) => `${severity} ${subject}`),
        ["ticket at 45 s"],
      )
      assert.isBelow(asked, 200, "who is down is not asked for each alert again and again")
      assert.isEmpty(yield* (yield* AlertQueue).pending)
    }).pipe(Effect.provide(desk.layer))
  })

  it.effect("are tried twice, and then later, while it hangs", function* () {
    const desk = deskOf(() => true, "30 seconds")
    yield* Effect.gen(function* () {
      for (const subject of ["one", "two", "three"]) yield* raise("ticket", subject)
      const round = yield* Effect.forkChild(deliverOnce("t", noReminders))
      for (let n = 0; n < 61; n++) yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(desk.asked, ["one", "three"])
      yield* Fiber.join(round)
    }).pipe(Effect.provide(desk.layer))
  })

  it.effect("arrive before their all-clear, which waits for what it alone does not take", function* () {
    let isSound = false
    const desk = deskOf((subject) => subject === "bad" && !isSound)
    yield* Effect.gen(function* () {
      yield* raise("page", "bad")
      yield* raise("info", "bad", ["a/bad"])
      yield* raise("ticket", "good")
      for (let n = 0; n < 5; n++) yield* second
      assert.deepStrictEqual(desk.subjects(), ["good"])
      isSound = true
      for (let n = 0; n < 60; n++) yield* second
      assert.deepStrictEqual(
        desk.taken.map(({ subject, resolves }) => `${subject}${resolves === undefined ? "" : " is over"}`),
        ["good", "bad", "bad is over"],
      )
    }).pipe(Effect.provide(desk.layer))
  })

  it.effect("have their all-clear though an earlier one about the same is refused for ever", function* () {
    const desk = deskOf((_, key) => key.endsWith("/first"))
    yield* Effect.gen(function* () {
      for (const id of ["first", "second"]) {
        yield* raise("page", "gateway", [], id)
        yield* second
        yield* raise("info", "gateway", [id], id)
        for (let n = 0; n < 5; n++) yield* second
      }
      const taken = desk.taken.map(({ key, resolves = [] }) => [key, ...resolves.map((one) => one.key)].join(" "))
      assert.deepStrictEqual(
        taken.map((line) => line.replaceAll(/t\/\w{8}\//g, "")),
        ["second", "second/over second"],
      )
      const listed = yield* listAlerts(9, "standing")
      assert.deepStrictEqual(
        listed.map(({ seq, state, dead }) => `${seq} ${state} ${dead}`),
        ["1 resolved 1"],
        "the refused one is shown",
      )
    }).pipe(Effect.provide(desk.layer))
  })

  it.effect("have one all-clear though one of them is refused for ever, and nothing fires after it", function* () {
    let isSound = false
    const desk = deskOf((_, key) => key.endsWith("/first") && !isSound)
    yield* Effect.gen(function* () {
      for (const id of ["first", "second"]) yield* raise("page", "gateway", [], id)
      yield* second
      yield* raise("info", "gateway", ["first", "second"], "both")
      yield* second
      isSound = true
      for (let n = 0; n < 60; n++) yield* second
      assert.deepStrictEqual(
        desk.taken.map(({ key, resolves = [] }) => `${key.split("/")[2]} ${resolves.length}`),
        ["second 0", "both 2"],
      )
      assert.strictEqual((yield* listAlerts(9, "standing"))[0]?.dead, 1, "the refused one is shown")
    }).pipe(Effect.provide(desk.layer))
  })

  it.effect("are not held up by those that it alone does not take", function* () {
    let isSound = false
    const desk = deskOf((subject) => subject.startsWith("bad") && !isSound)
    yield* Effect.gen(function* () {
      for (const subject of ["bad one", "bad two", "bad three", "good one"]) yield* raise("page", subject)
      yield* second
      for (const subject of ["good two", "good three"]) {
        yield* raise("page", subject)
        yield* deliverOnce("t", noReminders)
        assert.include(desk.subjects(), subject, "a new page is tried at once")
      }
      for (let n = 0; n < 10; n++) yield* second
      assert.sameMembers(desk.subjects(), ["good one", "good two", "good three"])
      yield* TestClock.adjust("1 hour")
      const asked = desk.asked.length
      yield* raise("page", "good four")
      yield* deliverOnce("t", noReminders)
      assert.strictEqual(desk.asked[asked], "good four", "those due again are tried after it")
      isSound = true
      for (let n = 0; n < 300; n++) yield* second
      assert.sameMembers(desk.subjects().slice(4), ["bad one", "bad two", "bad three"])
    }).pipe(Effect.provide(desk.layer))
  })
})
