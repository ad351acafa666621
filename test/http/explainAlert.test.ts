import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { AsJson } from "../../src/cli/common/client.ts"
import { toJson } from "../../src/cli/common/output.ts"
import { explainText } from "../../src/cli/explain.ts"
import { CycleConfig } from "../../src/config/ConfigInForce.ts"
import type { Treasury } from "../../src/config/Treasury.ts"
import { loadRound } from "../../src/engine/loadRound.ts"
import { keepRound } from "../../src/engine/record.ts"
import { takeSnapshot } from "../../src/engine/snapshot.ts"
import { type Explained, explanationOf } from "../../src/http/explanationOf.ts"
import { decideRound } from "../../src/rules/decideRound.ts"
import { memoryKey } from "../../src/rules/RuleMemory.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { arrange, explained, now } from "../support/Explained.ts"
import { inTransaction } from "../support/inTransaction.ts"
import { it } from "../support/it.ts"
import type { Fields } from "../support/treasury.ts"

const alert = (when: Fields, more: Fields = {}) => [{ name: "low", notify: { when, severity: "page" }, ...more }]

const answerTo = (treasury: Treasury, name: string, at?: number, subject?: string) =>
  explanationOf({ treasury, mode: "live" }, { name, at, subject })

/** What the command line prints, from the answer as it comes over the socket. */
const textTo = (...asked: Parameters<typeof answerTo>) =>
  Effect.map(answerTo(...asked), (answer) =>
    "problem" in answer
      ? `${answer.status}: ${answer.problem}; ${answer.remedy}`
      : explainText(JSON.parse(toJson(answer)) as AsJson<Explained>, true),
  )

const looksAt = (treasury: Treasury, at: number) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(at)
    const memories = new Map((yield* (yield* RuleStates).all).map((m) => [memoryKey(m.rule, m.subject), m]))
    const decided = decideRound(yield* loadRound(yield* takeSnapshot(memories), memories))
    yield* inTransaction(keepRound({ ...decided, conclusions: [] }))
  }).pipe(Effect.provideService(CycleConfig, { treasury, mode: "live" }))

const belowOf = (level: string) => ({ balance: { party: "hot", asset: "USDT", below: level } })
const below = belowOf("1_000")
const above = { balance: { party: "reserve", asset: "USDT", above: "200_000" } }
const unseen = { balance: { party: "cold", asset: "USDT", below: "1" } }
const held = { held: { rule: "keep", longerThan: "5m" } }

describe("explain of a rule that tells of a condition", () => {
  it.effect("shows each comparison with its value, age and level, and their joins", () =>
    explained(
      {
        rules: alert({ any: [{ all: [below, { not: above }] }, unseen, held] }, { for: "1m", cooldown: "1h" }),
      },
      function* (treasury) {
        yield* arrange({})
        const answer = yield* answerTo(treasury, "low")
        if (!("about" in answer) || answer.about !== "alert") throw new Error(JSON.stringify(answer))
        const { when } = answer.alert
        assert.deepStrictEqual([when.join, when.holds, when.of.length], ["any", true, 3])
        assert.deepInclude(when.of[0]!.of[0]!, {
          join: null,
          text: "hot/USDT is below 1,000",
          holds: true,
          observed: "500.00",
          level: "below 1,000",
          ageSeconds: 1,
        })
        const text = yield* textTo(treasury, "low")
        assert.match(
          text,
          /^low does not fire: pending, hot\/USDT: 500\.00 is below 1,000 and .*; must stay so for 60 s\n/,
        )
        assert.match(text, /\n {2}not evaluated yet\n/)
        assert.match(text, /\n {2}any of +TRUE\n {4}all of +TRUE\n/)
        assert.match(text, /\n {6}hot\/USDT is below 1,000 +TRUE +500\.00, 1\.0 s old\n/)
        assert.match(text, /\n {6}not +TRUE\n {8}reserve\/USDT is above 200,000 +false +100,000\.00, 1\.0 s old\n/)
        assert.match(text, /\n {4}cold\/USDT is below 1 +not known +no balance of cold\/USDT was seen\n/)
        assert.match(text, /\n {4}keep is held for longer than 5 min +false +hot\/USDT held for pending, 60 s\n/)
        assert.match(text, /\n {2}known {5}block 77 of 07:59:59Z, 1\.0 s old, from /)
        assert.match(text, /\n {2}timers {4}for 60 s, 60 s left; cooldown 60 min\n {2}alerted {3}never$/)
        assert.match(yield* textTo(treasury, "low", undefined, "hot"), /^404: rule "low" has no subject "hot"/)
      },
    ),
  )

  it.effect("shows since when it fires, what runs, and which alerts were sent", () =>
    explained(
      {
        instead: alert(below, { for: "20s", clear: { not: belowOf("1_400") }, cooldown: "1h" }),
      },
      function* (treasury) {
        yield* arrange({ firing: false })
        yield* looksAt(treasury, now)
        yield* TestClock.setTime(now + 5_000)
        const pending = yield* textTo(treasury, "low")
        assert.match(pending, /^low does not fire: pending, .*\n {2}since 2027-01-15 08:00:00Z, for 5 s\n/)
        assert.match(pending, /\n {2}true {6}since 2027-01-15 08:00:00Z, for 5 s\n {2}timers {4}for 20 s, 15 s left; /)
        yield* looksAt(treasury, now + 20_000)
        yield* TestClock.setTime(now + 25_000)
        const fires = yield* textTo(treasury, "low")
        assert.match(fires, /^low fires: hot\/USDT: 500\.00 is below 1,000\n {2}since 2027-01-15 08:00:20Z, for 5 s\n/)
        assert.match(
          fires,
          /\n {2}over when\n {4}not +false\n {6}hot\/USDT is below 1,400 +TRUE +500\.00, 26\.0 s old\n/,
        )
        assert.match(fires, /\n {2}true {6}since 2027-01-15 08:00:00Z, for 25 s\n/)
        assert.match(fires, /; cooldown 60 min, 60 min left\n/)
        assert.match(fires, /\n {2}alerted {3}at 2027-01-15 08:00:20Z: low hot\/USDT: 500\.00 is below 1,000$/)
        const then = yield* textTo(treasury, "low", now + 10_000)
        assert.match(then, /^low held at 2027-01-15 08:00:10Z: pending, hot\/USDT: 500\.00 is below 1,000; must /)
        assert.match(then, /\n {2}after {5}2027-01-15 08:00:20Z .*\n {2}alerted {3}never$/)
        const later = yield* textTo(treasury, "low", now + 22_000)
        assert.match(later, /^low fired at 2027-01-15 08:00:22Z: hot\/USDT: 500\.00 is below 1,000\n/)
        assert.match(later, /\n {2}alerted {3}at 2027-01-15 08:00:20Z: low hot/)
        const early = yield* textTo(treasury, "low", now - 60_000)
        assert.match(
          early,
          /^low: nothing is known of 2027-01-15 07:59:00Z; the oldest stored decision is of 2027-01-15 08:00:00Z/,
        )
      },
    ),
  )

  it.effect("says of a rule that tells of assets what is stored of the past", () =>
    explained({ instead: [{ name: "news", notify: { asset: "USDT", becomes: ["enabled"] } }] }, function* (treasury) {
      yield* TestClock.setTime(now)
      const alerts = yield* AlertQueue
      const raised = {
        severity: "info",
        kind: "asset",
        subject: "USDT",
        detail: "new -> enabled",
        fields: {},
      } as const
      yield* alerts.raise({ ...raised, dedup: "asset/news/enabled/c/1" })
      yield* TestClock.setTime(now + 60_000)
      assert.match(
        yield* textTo(treasury, "news"),
        /becomes enabled\n {2}last alert: at .* 08:00:00Z: USDT new -> enabled$/,
      )
      assert.match(
        yield* textTo(treasury, "news", now - 1_000),
        /\n {2}at 2027-01-15 07:59:59Z: only alerts are stored for that time\n {2}no alert of it is stored$/,
      )
    }),
  )
})
