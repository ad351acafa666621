import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { toJson } from "../../src/cli/common/output.ts"
import { type Story, storyText } from "../../src/cli/common/storyText.ts"
import { CycleConfig } from "../../src/config/ConfigInForce.ts"
import type { Attempt } from "../../src/domain/Attempt.ts"
import { intentWaits, openIntentStates, overdueOf } from "../../src/domain/Intent.ts"
import { storyOf } from "../../src/http/stories.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { confirmOnce } from "../../src/submitter/Confirm.ts"
import { alertOverdue, overdueNow } from "../../src/submitter/Overdue.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { type Flow, flow, round, states } from "../support/Flow.ts"
import { behind } from "../support/Instead.ts"
import { intentOf, attemptOf as paymentAttempt } from "../support/Payments.ts"

const minute = 60_000
const hour = 60 * minute
const attemptOf = (windowBlocks: number, state: Attempt["state"] = "sending") =>
  ({ k: 1, anchorHeight: 10n, windowBlocks, createdAt: 0, state }) as Attempt

describe("the table of open payments", () => {
  it("stands in docs/safety.md, a line for each state", () => {
    const page = readFileSync(new URL("../../docs/safety.md", import.meta.url), "utf8")
    const [, section = ""] = page.split("\n## Longest waits\n")
    const lines = Object.entries(intentWaits).map(
      ([state, { waitsFor, called, endedBy }]) => `| \`${state}\` | ${waitsFor} | ${called} | ${endedBy} |`,
    )
    assert.deepStrictEqual(
      section.split("\n").filter((line) => openIntentStates.some((state) => line.startsWith(`| \`${state}\` |`))),
      lines,
    )
    assert.lengthOf(lines, openIntentStates.length)
  })

  for (const [state, attempts, now, name] of [
    ["in_flight", [attemptOf(100)], 30 * minute - 1, undefined],
    ["in_flight", [attemptOf(100)], 30 * minute, "unsettled/1"],
    ["unknown", [attemptOf(500)], 83 * minute, undefined],
    ["unknown", [attemptOf(500)], 84 * minute, "unsettled/1"],
    ["in_flight", [attemptOf(100, "signed")], 30 * minute, "unsettled/1"],
    ["reserved", [attemptOf(100, "expired")], 24 * hour - 1, undefined],
    ["reserved", [attemptOf(100, "expired")], 24 * hour, "unsigned/0"],
    ["proposed", [], 24 * hour, "unsigned/0"],
    ["manual", [attemptOf(100)], 24 * hour - 1, undefined],
    ["manual", [attemptOf(100)], 49 * hour, "manual/2"],
  ] as const) {
    it(`pages for ${state} after ${now} ms: ${name}`, () => {
      assert.strictEqual(overdueOf(state, attempts, { now, since: 0, expires: undefined })?.name, name)
    })
  }

  it("gives an approval its time", () => {
    const times = { since: 0, expires: 48 * hour }
    assert.isUndefined(overdueOf("awaiting_approval", [], { ...times, now: 71 * hour }))
    assert.strictEqual(overdueOf("awaiting_approval", [], { ...times, now: 72 * hour })?.name, "unsigned/0")
  })
})

const pages = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`SELECT detail FROM alerts WHERE severity = 'page' AND dedup LIKE 'overdue/%' ORDER BY seq`
  return rows.map((row) => String(row["detail"]))
})

const passes = (duration: Parameters<typeof TestClock.adjust>[0]) =>
  Effect.andThen(TestClock.adjust(duration), alertOverdue())

describe("a payment that is open beyond its bound", () => {
  it.effect("pages once though no gateway answers anything, and says what is at stake", () =>
    Effect.suspend(() => {
      let isDown = false
      return flow(
        function* (...flowed) {
          const [options, sandbox] = flowed
          for (let i = 0; i < 3; i++) yield* round(options, sandbox, new Set(["submit", "confirm"]))
          yield* submitOnce()
          isDown = true
          yield* alertOverdue()
          yield* passes("29 minutes")
          yield* Effect.ignore(confirmOnce())
          assert.deepStrictEqual(yield* pages, [])
          yield* passes("2 minutes")
          yield* passes("1 hour")
          const [said = "", ...more] = yield* pages
          assert.deepStrictEqual(more, [])
          assert.match(said, /^keep-bob: 150\.00 USDT alice -> bob has no end 31 min after its signature/)
          const [intent] = yield* (yield* Outbox).open
          const state = intent?.state as "in_flight" | "unknown"
          assert.include(["in_flight", "unknown"], state)
          assert.include(said, `waits for ${intentWaits[state].waitsFor}`)
          const story = storyText(JSON.parse(toJson(yield* storyOf(intent?.id ?? ""))) as Story)
          assert.include(story, `alerts: ${intentWaits[state].called}`)
        },
        behind(() => (isDown ? { status: 503, body: {} } : undefined)),
      )
    }),
  )

  it.effect("is first looked up by a process that started after it became due", () =>
    flow(function* (...flowed) {
      const [options, sandbox] = flowed
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, new Set(["submit", "confirm"]))
      yield* submitOnce()
      yield* passes("4 hours")
      yield* passes("1 minute")
      assert.deepStrictEqual(yield* pages, [])
      yield* passes("1 minute")
      assert.lengthOf(yield* pages, 1)
    }),
  )

  it.effect("pages also in a mode that pays nothing, in which nobody looks it up", () =>
    flow(function* (...flowed) {
      const [options, sandbox] = flowed
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, new Set(["submit", "confirm"]))
      yield* submitOnce()
      const called = Effect.provideService(alertOverdue(), CycleConfig, { treasury: options.treasury, mode: "observe" })
      yield* called
      yield* Effect.andThen(TestClock.adjust("31 minutes"), called)
      assert.match((yield* pages).join(), /has no end 31 min after its signature/)
    }),
  )

  it.effect("has its time from the last time that it came to its state", () =>
    flow(function* ({ treasury }) {
      const outbox = yield* Outbox
      const intent = intentOf("1", { createdAt: yield* Clock.currentTimeMillis })
      yield* outbox.record(intent)
      const reserved = yield* outbox.move(intent, "reserved", { detail: "" })
      const attempt = paymentAttempt(reserved, 1)
      yield* outbox.persist(reserved, attempt)
      yield* TestClock.adjust("23 hours")
      yield* outbox.settle({ ...reserved, state: "in_flight" }, attempt, "expired", "reserved", { detail: "" })
      yield* TestClock.adjust("23 hours")
      const [again] = yield* outbox.open
      assert.isUndefined(yield* overdueNow(treasury, again!))
      yield* TestClock.adjust("2 hours")
      assert.isDefined(yield* overdueNow(treasury, again!))
    }),
  )

  it.effect("is not signed for a day: whatever else tells of it, people are paged", () => {
    const use: Flow = (options, sandbox) =>
      Effect.gen(function* () {
        for (let i = 0; i < 3; i++) yield* round(options, sandbox, new Set(["submit", "confirm"]))
        yield* (yield* Controls).pause({ scope: "rule:keep-bob", reason: "wait", author: "ana", until: undefined })
        assert.include(yield* states, "proposed")
        yield* alertOverdue()
        yield* passes("23 hours")
        assert.deepStrictEqual(yield* pages, [])
        yield* passes("1 hour")
        assert.match((yield* pages)[0] ?? "", /150\.00 USDT alice -> bob is not signed for 24 h/)
      })
    return flow(use)
  })
})
