import { assert, describe } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import type { AsJson } from "../../src/cli/common/client.ts"
import { toJson } from "../../src/cli/common/output.ts"
import { explainText } from "../../src/cli/explain.ts"
import type { Treasury } from "../../src/config/Treasury.ts"
import { adoptRules } from "../../src/engine/adoptRules.ts"
import { type Explained, explanationOf } from "../../src/http/explanationOf.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { noteEnd, noteStart } from "../../src/store/controls/starts.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { controlled } from "../support/Control.ts"
import { flow, paid, round } from "../support/Flow.ts"
import { it } from "../support/it.ts"
import { at as field, request as get } from "../support/TestClient.ts"

const start = 1_800_000_000_000

/** What the command line would print of an answer. */
const told = (treasury: Treasury, name: string, at?: number, subject?: string, isRunning = true) =>
  Effect.map(explanationOf({ treasury, mode: "live" }, { name, at, subject }), (answer) =>
    "problem" in answer
      ? `${answer.status}: ${answer.problem}; ${answer.remedy}`
      : explainText(JSON.parse(toJson(answer)) as AsJson<Explained>, isRunning),
  )

describe("what a rule did at a time", () => {
  it.effect("is told with its numbers, since when, and what was before and after it", () =>
    flow(function* (options, sandbox) {
      const { treasury } = options
      for (let i = 0; i < 8; i++) yield* round(options, sandbox)
      yield* (yield* Controls).pause({ scope: "rule:keep-bob", reason: "audit", author: "ana", until: undefined })
      for (let i = 0; i < 4; i++) yield* round(options, sandbox)
      const acted = yield* told(treasury, "keep-bob", start + 2_500)
      assert.match(acted, /^keep-bob bob\/USDT acted at 2027-01-15 08:00:02Z: 50\.00 is below 100\n/)
      assert.match(acted, /\n {2}since {5}2027-01-15 08:00:02Z, for \d s; /)
      assert.match(acted, /\n {2}before {4}2027-01-15 08:00:01Z {2}pending, 50\.00 is below 100; must be seen twice\n/)
      assert.match(acted, /\n {2}after {5}2027-01-15 08:00:03Z {2}(in flight|settling), /)
      const paused = yield* told(treasury, "keep-bob", start + 11_000, "bob")
      assert.match(paused, /held at 2027-01-15 08:00:11Z: paused \(rule:keep-bob\) by \S+: audit\n/)
      assert.match(paused, /\n {2}since {5}2027-01-15 08:00:09Z, still in force for 3 s; /)
      assert.match(paused, /\n {2}before .*has nothing to do: 200\.00 \(trigger 100\)\n {2}after {5}nothing else yet$/)
      const early = yield* told(treasury, "keep-bob", start - 3_600_000)
      assert.match(
        early,
        /nothing is known of 2027-01-15 07:00:00Z; the oldest stored decision is of 2027-01-15 08:00:01Z/,
      )
      assert.match(yield* told(treasury, "keep-bob", start + 3_600_000), /^400: that time has not come yet/)
      assert.match(yield* told(treasury, "nobody", start), /^404: no rule "nobody" has decided anything/)
    }),
  )
})

describe("a rule that is not in the file", () => {
  it.effect("did nothing there, whatever it decided last, until it is back", () =>
    flow(function* (options, sandbox) {
      const { rules } = options.treasury
      const without = { ...options.treasury, rules: [] }
      const adopt = (now: typeof rules, before: typeof rules) => adoptRules(now, "live", undefined, before)
      for (const rounds of [2, 8]) {
        for (let i = 0; i < rounds; i++) yield* round(options, sandbox)
        yield* adopt([], rules)
        const removed = yield* Clock.currentTimeMillis
        yield* TestClock.adjust("1 minute")
        yield* adopt([], [])
        const gone = yield* told(without, "keep-bob", removed + 30_000)
        assert.match(gone, /^keep-bob bob\/USDT had nothing to do at \S+ \S+: it is not in the treasury file\n/)
        assert.match(gone, /\n {2}after {5}nothing else yet$/)
        yield* adopt(rules, [])
        assert.match(yield* told(options.treasury, "keep-bob"), /\n {2}not evaluated yet\n/)
      }
    }),
  )
})

describe("a time in which no daemon ran", () => {
  it.effect("is named in place of what was decided before it, after a stop and after a kill", () =>
    flow(function* ({ treasury, ...options }, sandbox) {
      const at = (hour: number, minute: number) => start + (60 * hour + minute) * 60_000
      const begin = (hour: number) => Effect.andThen(TestClock.setTime(at(hour, 0)), noteStart())
      yield* noteStart()
      for (let i = 0; i < 8; i++) yield* round({ treasury, ...options }, sandbox)
      assert.match(yield* told(treasury, "keep-bob", start + 7_000), /(had nothing|held|acted) .*\n {2}since /)
      yield* TestClock.setTime(at(0, 40))
      const gone = yield* told(treasury, "keep-bob", at(0, 30), "bob", false)
      assert.match(gone, /^no daemon runs: computed from what its database holds\n\nkeep-bob bob\/USDT had nothing/)
      yield* begin(1)
      const killed = yield* told(treasury, "keep-bob", at(0, 30))
      assert.match(
        killed,
        /^keep-bob bob\/USDT held at 2027-01-15 08:30:00Z: no daemon read balances from 2027-01-15 08:00:0\dZ to 2027-01-15 09:00:00Z\n/,
      )
      assert.match(killed, /\n {2}before .*nothing to do: 200\.00 \(trigger 100\)\n {2}after {5}nothing else yet$/)
      yield* TestClock.setTime(at(1, 10))
      yield* noteEnd()
      yield* begin(2)
      const stopped = yield* told(treasury, "keep-bob", at(1, 30))
      assert.match(stopped, /: no daemon read balances from 2027-01-15 09:10:00Z to 2027-01-15 10:00:00Z\n/)
      yield* noteEnd()
      yield* TestClock.setTime(at(3, 0))
      const since = yield* told(treasury, "keep-bob", at(2, 30))
      assert.match(since, /: no daemon read balances since 2027-01-15 10:00:00Z\n/)
      assert.match(yield* told(treasury, "keep-bob", at(1, 5)), /had nothing to do at/)
    }),
  )
})

describe("what a payment, a transaction or an unknown name is", () => {
  it.effect("is explained from its rule to its state, by any of its names", () =>
    flow(function* (options, sandbox) {
      const { treasury } = options
      for (let i = 0; i < 8; i++) yield* round(options, sandbox)
      const [intent] = yield* (yield* Outbox).recent(1)
      const [attempt] = yield* (yield* Outbox).attempts(intent!.id)
      const [executed] = yield* paid(sandbox)
      const why = /was decided by keep-bob: 50\.00 is below 100; policy [0-9a-f]{8} line 1 permits 200 each/
      for (const name of [intent!.id, intent!.id.slice(0, 8)]) {
        const text = yield* told(treasury, name)
        assert.match(text, why)
        assert.match(text, /confirmed {2}150\.00 USDT {2}alice -> bob/)
      }
      const hash = executed!.hash
      for (const name of [hash.toUpperCase(), hash.toLowerCase()]) {
        assert.match(yield* told(treasury, name), /^this is a transaction of attempt 1 of payment \w{4}\n/)
      }
      assert.match(yield* told(treasury, attempt!.transferId), /^this is the transfer of attempt 1 of payment \w{4}\n/)
      assert.match(
        yield* told(treasury, "ab".repeat(32)),
        /^404: the journal knows no payment, transaction or transfer abab/,
      )
      assert.match(yield* told(treasury, "keep-bop"), /^404: .* "keep-bop"; did you mean "keep-bob"\?$/)
      assert.match(
        yield* told(treasury, "keep-bob", undefined, "bab"),
        /^404: .* no subject "bab"; known here: bob\/USDT$/,
      )
    }),
  )
})

describe("the page and the socket", () => {
  it.effect("open the same tree behind a rule's sentence", () =>
    controlled(function* (options, sandbox, page) {
      for (let i = 0; i < 8; i++) yield* round(options, sandbox)
      const answer = yield* get({ url: page }, "/api/v1/explain?name=keep-bob&subject=bob%2FUSDT")
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(field(answer, "subjects.0.reason"), "in_band")
      assert.strictEqual(
        field(answer, "subjects.0.sentence"),
        "keep-bob bob/USDT has nothing to do: 200.00 (trigger 100)",
      )
      for (const [query, status] of [
        ["", 400],
        ["?name=", 400],
        ["?name=keep&at=soon", 400],
        ["?name=zz", 404],
      ] as const) {
        assert.strictEqual((yield* get({ url: page }, `/api/v1/explain${query}`)).status, status, query)
      }
    }),
  )
})
