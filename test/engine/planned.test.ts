import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlError } from "effect/sql"
import { TestClock } from "effect/testing"
import { byOneConfig, ConfigInForce, CycleConfig } from "../../src/config/ConfigInForce.ts"
import { treasuryOf } from "../../src/config/Treasury.ts"
import { decideOnce } from "../../src/engine/Engine.ts"
import { explanationOf } from "../../src/http/explanationOf.ts"
import { putInForce, writeAtomically } from "../../src/http/putInForce.ts"
import type { DaemonOptions } from "../../src/layers.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { StoreError } from "../../src/store/database/StoreError.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { alertRows } from "../support/alertRows.ts"
import { type FlowBody, type FlowServices, flow } from "../support/Flow.ts"
import { rounds, ruleState } from "../support/Intents.ts"
import { type Body, effectOf } from "../support/it.ts"
import { wageAt, wages } from "../support/LoneLiar.ts"
import type { Fields } from "../support/treasury.ts"

const told = Effect.map(alertRows, (all) =>
  all.filter(({ subject }) => subject === "wage").map(({ severity, detail }) => `${severity} ${detail}`),
)
const scope = "rule:wage"
const pause = Effect.flatMap(Controls, (controls) =>
  controls.pause({ scope, reason: "looks at it", author: "ana", until: undefined }),
)
const resume = Effect.flatMap(Controls, (controls) => controls.resume({ scope, reason: "looked", author: "ana" }))

/** A treasury whose rule `wage` has this plan. */
const planned = (cron: string, use: FlowBody) => flow(use, { rules: [wageAt(cron)] })

/** Puts the file in force with parts of it replaced. */
const changed = Effect.fnUntraced(function* (
  { treasury: { document, rules } }: DaemonOptions,
  ...changes: ReadonlyArray<readonly [from: string, to: string]>
) {
  const value: unknown = JSON.parse(
    changes.reduce((text, [from, to]) => text.replace(from, to), JSON.stringify(document.value)),
  )
  const next = { treasury: yield* treasuryOf({ ...document, value }), mode: "live" as const }
  yield* (yield* ConfigInForce).replace(next, writeAtomically(putInForce(next, { detail: "changed" }, rules)))
  return next
})

describe("a planned payment that is held before it is decided", () => {
  it.effect("calls people once late and each day, then is paid once", () =>
    planned("1 8 15 * *", function* (options, sandbox) {
      yield* rounds(options, sandbox, 3)
      yield* pause
      yield* TestClock.adjust("58 minutes")
      yield* rounds(options, sandbox, 3)
      yield* TestClock.adjust("2 minutes")
      yield* rounds(options, sandbox, 3)
      assert.deepStrictEqual(yield* told, [], "it is not late yet")
      yield* TestClock.adjust("1 minute")
      yield* rounds(options, sandbox, 3)
      const [alert, ...others] = yield* told
      assert.match(
        alert ?? "",
        /^ticket 30\.00\S* USDT alice -> eve planned for 2027-01-15T08:01Z is not paid: it is held \(paused \(rule:wage\) by \S+: looks at it/,
      )
      assert.deepStrictEqual(others, [], "told once")
      yield* TestClock.adjust("23 hours")
      yield* rounds(options, sandbox, 3)
      assert.lengthOf(yield* told, 1)
      yield* TestClock.adjust("1 hour")
      yield* rounds(options, sandbox, 3)
      assert.lengthOf(yield* told, 2, "and the day after")
      yield* resume
      yield* rounds(options, sandbox, 12)
      assert.deepStrictEqual(yield* wages, ["confirmed"])
      assert.match(
        (yield* told).slice(2).join("; "),
        /^info 30\.00\S* USDT alice -> eve planned for 2027-01-15T08:01Z is held no longer: it is decided[^;]*$/,
      )
    }),
  )

  it.effect("calls people where its payer cannot give so much", () =>
    flow(
      function* (options, sandbox) {
        yield* rounds(options, sandbox, 3)
        yield* TestClock.adjust("62 minutes")
        yield* rounds(options, sandbox, 5)
        assert.deepStrictEqual(yield* told, [], "what was missed in an outage has a minute to be paid")
        yield* TestClock.adjust("1 minute")
        yield* rounds(options, sandbox, 3)
        assert.strictEqual((yield* ruleState("wage"))?.reason, "short")
        assert.match((yield* told).join(), /^ticket 30\.00\S* USDT alice -> eve planned .*\(short, alice has /)
      },
      { rules: [wageAt("1 8 15 * *")], alice: { floor: { USDT: "1000000" } } },
    ),
  )
})

describe("a planned payment whose decision the database takes back", () => {
  it.effect("is decided again", () =>
    planned("1 8 15 * *", function* (options, sandbox) {
      yield* rounds(options, sandbox, 3)
      yield* TestClock.adjust("1 minute")
      const states = yield* RuleStates
      const cause = new SqlError.SqlError({
        reason: new SqlError.ConnectionError({ cause: new Error("gone"), message: "gone", operation: "query" }),
      })
      let lost = 0
      const save = (...args: Parameters<typeof states.save>) =>
        Effect.tap(states.save(...args), () =>
          args[0].state === "acting" && lost++ === 0
            ? Effect.fail(new StoreError({ operation: "a", cause }))
            : Effect.void,
        )
      yield* Effect.provideService(rounds(options, sandbox, 3), RuleStates, RuleStates.of({ ...states, save }))
      assert.isAtLeast(lost, 1)
      yield* rounds(options, sandbox, 9)
      assert.deepStrictEqual(yield* wages, ["confirmed"])
    }),
  )
})

describe("a planned payment that is signed after the next planned time", () => {
  it.effect("stands for that time too, in what is decided and in what is explained", () =>
    planned("1,3 8 15 * *", function* (options, sandbox) {
      const explained = Effect.map(explanationOf(options, { name: "wage", at: undefined }), (answer) =>
        "about" in answer && answer.about === "rule" ? answer.subjects.map(({ sentence }) => sentence).join() : "",
      )
      yield* rounds(options, sandbox, 3)
      yield* TestClock.adjust("1 minute")
      yield* rounds(options, sandbox, 3, new Set(["submit"]))
      yield* TestClock.adjust("2 minutes")
      yield* rounds(options, sandbox, 3, new Set(["decide"]))
      for (let i = 0; i < 9 && (yield* wages)[0] !== "confirmed"; i++)
        yield* rounds(options, sandbox, 1, new Set(["decide"]))
      assert.deepStrictEqual(yield* wages, ["confirmed"])
      assert.match(yield* explained, /holds: not due, a later payment covers it$/)
      assert.deepStrictEqual(yield* told, [])
      yield* rounds(options, sandbox, 9)
      assert.deepStrictEqual(yield* wages, ["confirmed"])
      const [ticket, ...others] = yield* told
      assert.match(
        ticket ?? "",
        /^ticket 30\.00\S* USDT .* planned for 2027-01-15T08:03Z is not paid: .*"cofferer submit"/,
      )
      assert.deepStrictEqual(others, [])
    }),
  )
})

describe("a planned payment of a new rule, before which no block was read", () => {
  const blind = new Set(["poll", "compare", "reconcile", "submit", "confirm"])

  it.effect("is told of also where something else holds the rule by then", () =>
    planned("1 8 15 * *", function* (options, sandbox) {
      yield* rounds(options, sandbox, 2, blind)
      yield* TestClock.adjust("5 minutes")
      yield* pause
      yield* rounds(options, sandbox, 2, blind)
      yield* resume
      yield* rounds(options, sandbox, 6)
      assert.deepStrictEqual(yield* wages, [])
      const [alert, ...others] = yield* told
      assert.match(alert ?? "", /^ticket .* planned for 2027-01-15T08:01Z is not paid: no block was read/)
      assert.deepStrictEqual(others, [])
    }),
  )

  it.effect("is told of where the rule gets another plan before a block is read", () =>
    planned("1 8 15 * *", function* (options, sandbox) {
      yield* rounds(options, sandbox, 2, blind)
      yield* TestClock.adjust("5 minutes")
      yield* rounds(options, sandbox, 2, blind)
      const next = yield* changed(options, ['"1 8 15 * *"', '"20 8 15 * *"'])
      const after = { ...options, treasury: next.treasury }
      yield* Effect.provideService(rounds(after, sandbox, 6), CycleConfig, next)
      assert.deepStrictEqual(yield* wages, [])
      const [alert, ...others] = yield* told
      assert.match(alert ?? "", /^ticket eve\/USDT .*planned for 2027-01-15T08:01Z, and not decided.*"cofferer submit"/)
      assert.deepStrictEqual(others, [])
    }),
  )

  it.effect("is not owed, and alerts are sent once blocks are read", () =>
    planned("1 8 15 * *", function* (options, sandbox) {
      yield* rounds(options, sandbox, 2, blind)
      yield* TestClock.adjust("10 minutes")
      yield* rounds(options, sandbox, 2, blind)
      assert.deepStrictEqual(yield* told, [])
      yield* rounds(options, sandbox, 6)
      assert.deepStrictEqual(yield* wages, [])
      const [alert, ...others] = yield* told
      assert.match(
        alert ?? "",
        /^ticket 30\.00\S* USDT alice -> eve planned for 2027-01-15T08:01Z is not paid: no block was read/,
      )
      assert.match(alert ?? "", /"cofferer submit"/)
      assert.deepStrictEqual(others, [])
    }),
  )

  it.effect("says nothing where nothing was planned meanwhile", () =>
    planned("1 9 15 * *", function* (options, sandbox) {
      yield* rounds(options, sandbox, 2, blind)
      yield* TestClock.adjust("10 minutes")
      yield* rounds(options, sandbox, 6)
      assert.deepStrictEqual(yield* told, [])
    }),
  )
})

describe("a planned payment of a rule that comes into force just before its time", () => {
  it.effect("is paid, however late the rule is first evaluated", () =>
    flow(
      function* (options, sandbox) {
        const early = 1_800_000_059_600
        yield* rounds(options, sandbox, 3)
        yield* TestClock.setTime(early - 3_000)
        yield* rounds(options, sandbox, 3)
        const next = yield* changed(options, ['"name":"old"', '"name":"wage"'])
        yield* Effect.provideService(rounds({ ...options, treasury: next.treasury }, sandbox, 9), CycleConfig, next)
        assert.deepStrictEqual(yield* wages, ["confirmed"])
      },
      { rules: [{ ...wageAt("1 8 15 * *"), name: "old" }] },
    ),
  )
})

describe("a planned payment that was due and held while its rule was on trial", () => {
  it.effect("is not paid once the rule pays, and people hear of it", () =>
    flow(
      function* (options, sandbox) {
        yield* rounds(options, sandbox, 3)
        yield* pause
        yield* TestClock.adjust("1 minute")
        yield* rounds(options, sandbox, 3)
        const next = yield* changed(options, [',"mode":"shadow"', ""])
        yield* resume
        const paying = { ...options, treasury: next.treasury }
        yield* Effect.provideService(rounds(paying, sandbox, 9), CycleConfig, next)
        assert.deepStrictEqual(yield* wages, [])
        assert.match((yield* told).join(), /^ticket eve\/USDT was due and held \(paused.*"cofferer submit"/)
        yield* TestClock.adjust("1 minute")
        yield* Effect.provideService(rounds(paying, sandbox, 9), CycleConfig, next)
        assert.deepStrictEqual(yield* wages, ["confirmed"], "the next one is")
      },
      { rules: [{ ...wageAt("1,2 8 15 * *"), mode: "shadow" }] },
    ),
  )
})

describe("a plan that comes into force while our clock is hours ahead", () => {
  const start = 1_800_000_000_000
  const minute = 60_000
  const noon = wageAt("0 12 15 * *")

  /** The rule has the plan of 08:20 from now on. */
  const replanned = (options: DaemonOptions) =>
    changed(options, ['"0 12 15 * *"', '"20 8 15 * *"'], ['"name":"old"', '"name":"wage"'])

  /** It is 08:00 and the clock says 11:00 as the plan becomes 08:20; the clock is put right at each of these times. */
  const misclocked = (before: Fields, rightAt: ReadonlyArray<number>, judge: Body<[], FlowServices>) =>
    flow(
      function* (options, sandbox) {
        yield* rounds(options, sandbox, 3)
        yield* TestClock.setTime(start + 180 * minute)
        yield* byOneConfig(decideOnce())
        const next = yield* replanned(options)
        for (let i = 0; i < 3; i++) yield* byOneConfig(decideOnce())
        const after = { ...options, treasury: next.treasury }
        for (const minutes of rightAt) {
          yield* TestClock.setTime(start + minutes * minute)
          yield* Effect.provideService(rounds(after, sandbox, 9), CycleConfig, next)
        }
        yield* effectOf(judge())
      },
      { rules: [before] },
    )

  const plans = [
    ["of a rule that has another plan", noon],
    ["of a new rule", { ...noon, name: "old" }],
  ] as const
  for (const [what, before] of plans) {
    it.effect(`tells of a time that came before the clock was right, once: ${what}`, () =>
      misclocked(before, [30, 40], function* () {
        assert.deepStrictEqual(yield* wages, [])
        const [alert, ...others] = yield* told
        assert.match(
          alert ?? "",
          /^ticket 30\.00\S* USDT alice -> eve planned for 2027-01-15T08:20Z is not paid: .* clock was ahead/,
        )
        assert.match(alert ?? "", /"cofferer submit"/)
        assert.deepStrictEqual(others, [])
      }),
    )
  }

  it.effect("tells of a time of the plan before it that came while the clock was behind", () =>
    flow(
      function* (options, sandbox) {
        yield* rounds(options, sandbox, 3)
        yield* TestClock.adjust("4 hours")
        yield* rounds(options, sandbox, 3, new Set(["decide"]))
        yield* TestClock.setTime(start)
        const next = yield* replanned(options)
        yield* TestClock.setTime(start + 241 * minute)
        yield* Effect.provideService(rounds({ ...options, treasury: next.treasury }, sandbox, 9), CycleConfig, next)
        assert.deepStrictEqual(yield* wages, [])
        const [alert, ...others] = yield* told
        assert.match(alert ?? "", /^ticket .*planned for 2027-01-15T12:00Z, and not decided/)
        assert.deepStrictEqual(others, [])
      },
      { rules: [noon] },
    ),
  )

  it.effect("pays nothing planned before it where the clock was behind instead", () =>
    flow(
      function* (options, sandbox) {
        yield* rounds(options, sandbox, 3)
        yield* TestClock.adjust("3 hours")
        yield* rounds(options, sandbox, 3)
        yield* TestClock.setTime(start)
        const next = yield* replanned(options)
        yield* byOneConfig(decideOnce())
        yield* TestClock.setTime(start + 181 * minute)
        yield* Effect.provideService(rounds({ ...options, treasury: next.treasury }, sandbox, 9), CycleConfig, next)
        assert.deepStrictEqual(yield* wages, [])
      },
      { rules: [noon] },
    ),
  )

  for (const [what, before] of plans) {
    it.effect(`pays what is planned after the clock was put right: ${what}`, () =>
      misclocked(before, [10, 20], function* () {
        assert.deepStrictEqual(yield* wages, ["confirmed"])
        assert.deepStrictEqual(yield* told, [])
      }),
    )
  }
})
