import { assert, describe } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { ConfigInForce } from "../../src/config/ConfigInForce.ts"
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
      yield* TestClock.setTime(noon + 13 * 3_600_000)
      yield* watchHealth()
      assert.lengthOf(yield* raised("limit_used"), 2, "on the next day")
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

  type Held = readonly [kind: string, reason: string, trial?: boolean]
  it.effect.each<readonly [string, ReadonlyArray<Held>, number]>([
    ["its rule is outside its hours", [["topUp", "outside_hours"]], 0],
    [
      "a rule rests and another is in its band",
      [
        ["sweep", "maintenance"],
        ["topUp", "in_band"],
      ],
      0,
    ],
    [
      "a payout to it waits for its time",
      [
        ["topUp", "limit"],
        ["payout", "not_due"],
      ],
      69,
    ],
    [
      "a rule on trial rests",
      [
        ["topUp", "limit"],
        ["topUp", "outside_hours", true],
      ],
      69,
    ],
    [
      "another rule of it rests",
      [
        ["topUp", "limit"],
        ["topUp", "outside_hours"],
      ],
      69,
    ],
  ])("counts as such or not where %s", ([_, held, seconds]) =>
    flow(function* ({ treasury }) {
      const view = yield* readView()
      const account = { ...view.accounts[0]!, inBand: false }
      const subject = `${account.party}/${account.asset}`
      const rules = held.map(([kind, reason, trial = false]) => ({ ...view.rules[0]!, subject, kind, reason, trial }))
      const out = { mode: "live", accounts: [account], rules }
      const begun = yield* Clock.currentTimeMillis
      yield* noteOutOfBand(out, begun)
      const found = yield* readOutOfBand(treasury, out, begun + 69_000)
      assert.deepStrictEqual(
        found.map((one) => one.seconds),
        [seconds],
      )
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

  it.effect("has its all-clear where it is switched off while it stands", () =>
    flow(
      Effect.fnUntraced(function* () {
        yield* crashed
        yield* TestClock.adjust("2 minutes")
        yield* watchHealth()
        const { treasury, mode } = (yield* ConfigInForce).now()
        const alerting = { ...treasury.alerting, conditions: new Map([["restarts", undefined]] as const) }
        yield* (yield* ConfigInForce).replace({ treasury: { ...treasury, alerting }, mode }, Effect.void)
        yield* watchHealth()
        const standing = (yield* listAlerts(100, "standing")).map(({ detail }) => detail)
        assert.notInclude(standing.join(), "The process ended")
      }),
      conditions({ restarts: { after: "2m" } }),
    ),
  )
})
