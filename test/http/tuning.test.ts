import { assert, describe } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { noteOutOfBand, readOutOfBand } from "../../src/http/readFacts.ts"
import { readView } from "../../src/http/StatusView.ts"
import { watchHealth } from "../../src/http/watchHealth.ts"
import { listAlerts } from "../../src/store/alerts/alertRecords.ts"
import { noteStart } from "../../src/store/controls/starts.ts"
import { type FlowSetup, flow, round, states } from "../support/Flow.ts"
import { it } from "../support/it.ts"

const conditions = (written: Readonly<Record<string, unknown>>): FlowSetup => ({
  more: { alerts: { receivers: { log: { log: {} } }, conditions: written } },
})
const raised = (name: string) =>
  Effect.map(listAlerts(100, "all"), (all) => all.filter((alert) => alert.name === name).map(({ detail }) => detail))
const paid = (options: Parameters<typeof round>[0], sandbox: Parameters<typeof round>[1]) =>
  Effect.gen(function* () {
    while ((yield* states)[0] !== "confirmed") yield* round(options, sandbox)
  })

describe("a limit of which a third is used before noon", () => {
  it.effect("is told once a day", () =>
    flow(function* (options, sandbox) {
      yield* paid(options, sandbox)
      yield* watchHealth()
      yield* watchHealth()
      const [told, ...more] = yield* raised("limit_used")
      assert.match(told ?? "", /before noon \(UTC\): 150.* of 400/)
      assert.lengthOf(more, 0)
      const noon = (Math.floor((yield* Clock.currentTimeMillis) / 86_400_000) + 1.5) * 86_400_000
      yield* TestClock.setTime(noon)
      yield* watchHealth()
      assert.lengthOf(yield* raised("limit_used"), 1, "not in the afternoon")
    }),
  )

  it.effect("is told to nobody where that is switched off", () =>
    flow(
      function* (options, sandbox) {
        yield* paid(options, sandbox)
        yield* watchHealth()
        assert.deepStrictEqual(yield* raised("limit_used"), [])
      },
      conditions({ limit_used: { alert: false } }),
    ),
  )
})

describe("an account out of band", () => {
  it.effect("is so from the start of the mode on", () =>
    flow(function* ({ treasury }) {
      const account = { ...(yield* readView()).accounts[0]!, inBand: false }
      const view = { mode: "shadow", accounts: [account], rules: [] }
      const begun = yield* Clock.currentTimeMillis
      yield* noteOutOfBand(view, begun)
      const secondsIn = (mode: string, at: number) =>
        Effect.map(readOutOfBand(treasury, { ...view, mode }, at), (all) => all.map(({ seconds }) => seconds))
      assert.deepStrictEqual(yield* secondsIn("shadow", begun + 69_000), [69])
      assert.deepStrictEqual(yield* secondsIn("live", begun + 69_000), [0])
      yield* noteOutOfBand({ ...view, mode: "live" }, begun + 69_000)
      assert.deepStrictEqual(yield* secondsIn("live", begun + 74_000), [5])
    }),
  )
})

describe("a condition of health", () => {
  const crashed = Effect.gen(function* () {
    for (let n = 0; n < 4; n++) yield* noteStart()
    yield* watchHealth()
  })

  it.effect("is alerted to after the time that the file gives it", () =>
    flow(
      Effect.fnUntraced(function* () {
        yield* crashed
        assert.notInclude((yield* raised("health")).join(), "The process ended")
        yield* TestClock.adjust("2 minutes")
        yield* watchHealth()
        assert.match((yield* raised("health")).join(), /The process ended \d times/)
      }),
      conditions({ restarts: { after: "2m" } }),
    ),
  )

  it.effect("is alerted to nobody where that is switched off", () =>
    flow(
      Effect.fnUntraced(function* () {
        yield* crashed
        yield* TestClock.adjust("2 minutes")
        yield* watchHealth()
        assert.deepStrictEqual(
          (yield* raised("health")).filter((detail) => detail.startsWith("The process")),
          [],
        )
      }),
      conditions({ restarts: { alert: false } }),
    ),
  )
})
