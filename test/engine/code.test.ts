import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { toJson } from "../../src/cli/common/output.ts"
import { type Story, storyText } from "../../src/cli/common/storyText.ts"
import { ConfigInForce, CycleConfig } from "../../src/config/ConfigInForce.ts"
import { decideOnce } from "../../src/engine/Engine.ts"
import { storyOf } from "../../src/http/stories.ts"
import type { DaemonOptions } from "../../src/layers.ts"
import type { Code, CodeAnswer, CodeSeen } from "../../src/rules/Code.ts"
import { codeInputOf } from "../../src/rules/kinds/code.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { alertRows } from "../support/alertRows.ts"
import { flow, paid, round } from "../support/Flow.ts"
import { ruleState } from "../support/Intents.ts"
import { tempDir } from "../support/tempDir.ts"
import { ticking } from "../support/ticking.ts"

const dir = tempDir("engine-code")

/** Fails for half of each hour, and gives eve half of what bob has otherwise. */
const rules = `import type { Rules, Seen } from "cofferer/rules"

export const rules: Rules = [
  {
    name: "half",
    code: {
      accounts: [{ party: "bob", asset: "USDT" }, { party: "eve", asset: "USDT" }],
      from: "alice",
      to: "eve",
      asset: "USDT",
      need: ({ balances, one, time }: Seen) => {
        if (new Date(time).getUTCMinutes() < 30) throw new Error("not in the first half")
        const lack = balances["bob/USDT"] / 2n - balances["eve/USDT"]
        return lack > one ? { pay: lack, because: "half of bob" } : undefined
      },
    },
    onNoData: "zero",
    cooldown: "2h",
  },
]
`
const file = join(dir, "rules.ts")
writeFileSync(file, rules)

const loops = join(dir, "loops.ts")
writeFileSync(
  loops,
  rules.replace('"half"', '"loops"').replace(/need: [\s\S]*?\n {6}\},/, "need: () => { for (;;); },"),
)

const calm = join(dir, "calm.ts")
writeFileSync(calm, rules.replace('"half"', '"calm"').replace(/need: [\s\S]*?\n {6}\},/, "need: () => undefined,"))

const remedy = 'correct it, then "cofferer reload --reason TEXT"; changed code is weaker terms'
const alerts = Effect.map(alertRows, (due) =>
  due.filter(({ dedup }) => dedup.startsWith("code/")).map(({ severity, detail }) => `${severity} ${detail}`),
)
const saidBy = (code: Code, told: CodeSeen): Effect.Effect<CodeAnswer> =>
  Effect.promise(async () => (await code.ask(told, told.time)).answer)

/** The decision names the code, what it was told and what it answered: asked again it says the same. */
const isJournalled = Effect.fnUntraced(function* ({ treasury }: DaemonOptions) {
  const intent = (yield* (yield* Outbox).recent(10)).find((one) => one.rule === "half")
  const rule = treasury.rules.find((one) => one.name === "half")
  if (intent === undefined || rule?.kind !== "code") return assert.fail("not paid")
  const entries = yield* (yield* Journal).about(intent.id)
  const body = JSON.parse(entries.find(({ kind }) => kind === "decision")?.body ?? "{}")
  assert.strictEqual(body.code.hash, rule.code.hash)
  assert.match(body.code.hash, /^[0-9a-f]{64}$/)
  const { balances, time } = body.code.told
  assert.deepStrictEqual(Object.keys(balances), ["bob/USDT", "eve/USDT"])
  const told = codeInputOf(rule, Object.values<string>(balances).map(BigInt), { now: time, listed: undefined })
  const again = yield* saidBy(rule.code, told)
  if (again._tag !== "Pays") return assert.fail(again.detail)
  assert.deepStrictEqual(
    again.payments.map(({ to, amount }) => ({ to, amount: String(amount) })),
    body.code.payments,
  )
  assert.strictEqual(body.code.because, "half of bob")
  assert.strictEqual(body.code.payments[0].amount, String(intent.payment.amount))
  const story = JSON.parse(toJson(yield* storyOf(intent.id))) as Story
  assert.include(storyText(story), `by code ${rule.code.hash.slice(0, 8)}`)
})

const alerting = { alerts: { receivers: { log: { log: {} } }, routes: [{ severity: ["ticket"], to: ["log"] }] } }

type Ask = Code["ask"]
/** A round of rules of which one's code answers otherwise, put in force. */
const lookWith = Effect.fnUntraced(function* ({ treasury }: DaemonOptions, name: string, instead: (ask: Ask) => Ask) {
  const rules = treasury.rules.map((rule) =>
    rule.name === name && rule.kind === "code"
      ? { ...rule, code: { ...rule.code, ask: instead(rule.code.ask) } }
      : rule,
  )
  const settings = { treasury: { ...treasury, rules }, mode: "live" } as const
  yield* (yield* ConfigInForce).replace(settings, Effect.void)
  return Effect.provideService(decideOnce(), CycleConfig, settings)
})

describe("a rule in TypeScript in a running treasury", () => {
  it.effect("is paid like every other, and tells people once where it fails, and once that it does no more", () =>
    flow(
      function* (options, sandbox) {
        const now = yield* Clock.currentTimeMillis
        const minute = new Date(now).getUTCMinutes()
        yield* TestClock.adjust(`${(60 - minute) % 60} minutes`)
        for (let i = 0; i < 6; i++) yield* round(options, sandbox)
        const failed = yield* ruleState("half")
        assert.strictEqual(failed?.reason, "code")
        assert.match(failed?.detail ?? "", /^its code fails at rules\.ts:12:\d\d: not in the first half$/)
        assert.isEmpty(yield* alerts, "it may pass")
        yield* TestClock.adjust("1 minute")
        for (let i = 0; i < 3; i++) yield* round(options, sandbox)
        const told = yield* alerts
        assert.lengthOf(told, 1)
        assert.match(told[0] ?? "", /^ticket pays nothing: its code fails at rules\.ts:12:\d\d.*; correct it, then /)
        const before = (yield* paid(sandbox)).length
        yield* TestClock.adjust("35 minutes")
        for (let i = 0; i < 12; i++) yield* round(options, sandbox)
        assert.strictEqual((yield* paid(sandbox)).length, before + 1)
        yield* isJournalled(options)
        assert.strictEqual((yield* ruleState("half"))?.reason, "in_band")
        assert.lengthOf(yield* alerts, 1)
        yield* TestClock.adjust("1 minute")
        for (let i = 0; i < 3; i++) yield* round(options, sandbox)
        assert.deepStrictEqual((yield* alerts).slice(1), ["info its code answers again"])
      },
      { rules: [file], more: alerting },
    ),
  )

  it.effect("holds its own rule alone while it thinks, and the look goes on", () =>
    flow(
      function* (options, sandbox) {
        yield* round(options, sandbox, new Set(["decide"]))
        // A second of this clock passes in a moment, and the code loops for half a real one.
        yield* ticking(decideOnce(), "1 second")
        assert.deepInclude(yield* ruleState("loops"), { reason: "code", detail: "its code has not answered yet" })
        assert.strictEqual((yield* ruleState("keep-bob"))?.state, "pending")
        assert.deepStrictEqual(yield* alerts, [])
        yield* decideOnce()
        const broken = { reason: "code", detail: "its code does not end within 500 ms" } as const
        assert.deepInclude(yield* ruleState("loops"), broken)
      },
      { rules: [loops], more: alerting },
    ),
  )

  it.effect("tells people where it never answers in time", () =>
    flow(
      function* (options, sandbox) {
        const never: Ask = () => new Promise(() => {})
        const look = ticking(yield* lookWith(options, "loops", () => never), "1 second")
        yield* round(options, sandbox, new Set(["decide"]))
        yield* look
        yield* TestClock.adjust("55 seconds")
        yield* look
        assert.deepStrictEqual(yield* alerts, [], "code may be slow for once")
        yield* TestClock.adjust("10 seconds")
        yield* look
        assert.deepStrictEqual(yield* alerts, [`ticket pays nothing: its code has not answered yet; ${remedy}`])
      },
      { rules: [loops], more: alerting },
    ),
  )

  it.effect("tells people why it broke, though it is asked again and late when they are told", () =>
    flow(
      function* (options, sandbox) {
        let asked = 0
        const broken: CodeAnswer = { _tag: "Broken", detail: "its code takes too much", timed: false }
        const once: Ask = (seen) => (asked++ === 0 ? { seen, answer: broken } : new Promise(() => {}))
        const look = ticking(yield* lookWith(options, "loops", () => once), "1 second")
        yield* round(options, sandbox, new Set(["decide"]))
        yield* look
        yield* TestClock.adjust("65 seconds")
        yield* look
        assert.deepStrictEqual(yield* alerts, [`ticket pays nothing: its code takes too much; ${remedy}`])
      },
      { rules: [loops], more: alerting },
    ),
  )

  it.effect("waits a round where its input changes meanwhile", () =>
    flow(
      function* (options, sandbox) {
        let asked = 0
        /** Was told another balance the first time. */
        const late =
          (ask: Ask): Ask =>
          async (seen, now) => {
            const { answer } = await ask(seen, now)
            return asked++ === 0 ? { seen: { ...seen, balances: { "bob/USDT": 1n } }, answer } : { seen, answer }
          }
        const look = yield* lookWith(options, "calm", late)
        yield* round(options, sandbox, new Set(["decide"]))
        yield* look
        assert.strictEqual(asked, 1)
        const detail = "its code was asked, and its input has changed since"
        assert.deepInclude(yield* ruleState("calm"), { reason: "code", detail } as const)
        yield* look
        assert.strictEqual(asked, 2)
        assert.strictEqual((yield* ruleState("calm"))?.reason, "in_band")
      },
      { rules: [calm] },
    ),
  )
})
