import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { AlertQueue } from "../../src/store/AlertQueue.ts"
import { RuleStates } from "../../src/store/RuleStates.ts"
import { flow, paid, round } from "../support/Flow.ts"

const dir = mkdtempSync(join(tmpdir(), "cofferer-engine-code-"))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

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

const alerts = Effect.map(
  Effect.flatMap(AlertQueue, (queue) => queue.due(100)),
  (due) => due.filter(({ dedup }) => dedup.startsWith("code/")).map(({ severity, detail }) => `${severity} ${detail}`),
)
const stateOf = (rule: string) =>
  Effect.map(
    Effect.flatMap(RuleStates, (states) => states.all),
    (all) => all.find((state) => state.rule === rule),
  )

describe("a rule in TypeScript in a running treasury", () => {
  it.effect("is paid like every other, and tells people once where it fails", () =>
    flow(
      (options, sandbox) =>
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const minute = new Date(now).getUTCMinutes()
          yield* TestClock.adjust(`${(60 - minute) % 60} minutes`)
          for (let i = 0; i < 6; i++) yield* round(options, sandbox)
          const failed = yield* stateOf("half")
          assert.strictEqual(failed?.reason, "locked")
          assert.match(failed?.detail ?? "", /^its code fails at rules\.ts:12:\d\d: not in the first half$/)
          const told = yield* alerts
          assert.lengthOf(told, 1)
          assert.match(told[0] ?? "", /^ticket pays nothing: its code fails at rules\.ts:12:\d\d/)
          const before = (yield* paid(sandbox)).length
          yield* TestClock.adjust("35 minutes")
          for (let i = 0; i < 12; i++) yield* round(options, sandbox)
          assert.strictEqual((yield* paid(sandbox)).length, before + 1)
          assert.lengthOf(yield* alerts, 1)
          assert.strictEqual((yield* stateOf("half"))?.reason, "in_band")
        }),
      {
        rules: `  - ${file}`,
        more: "alerts: { receivers: { log: { log: {} } }, routes: [{ severity: [ticket], to: [log] }] }\n",
      },
    ),
  )
})
