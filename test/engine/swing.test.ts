import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { ConfigInForce, CycleConfig } from "../../src/config/ConfigInForce.ts"
import { DirtySubjects } from "../../src/engine/DirtySubjects.ts"
import { decideOnce } from "../../src/engine/Engine.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { Tags } from "../../src/store/payments/LedgerAudit.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { alertRows } from "../support/alertRows.ts"
import { arrange, explainedTreasury, keys, now, payment } from "../support/Explained.ts"
import { attemptOf } from "../support/Payments.ts"
import { testStore } from "../support/TestStore.ts"

const minute = 60_000
const swinging = explainedTreasury({
  instead: [
    {
      name: "keep",
      topUp: { from: "reserve", levels: [{ party: "hot", asset: "USDT", below: "1_000", target: "2_000" }] },
      for: "10m",
      cooldown: "1d",
    },
    {
      name: "low",
      notify: { when: { balance: { party: "hot", asset: "USDT", below: "1_000" } }, severity: "page" },
      clear: "1_200",
      cooldown: "1d",
    },
  ],
})

const metrics = Metrics.layer({
  treasury: "test",
  mode: "live",
  gateways: ["node"],
  rules: ["keep", "low"],
  receivers: [],
  version: "",
  revision: "",
})

/** What the outside world did to the account, and what our payments brought it. */
interface Account {
  outside: bigint
  paid: bigint
}

/** Two minutes later the balance is another one: one look, and what it pays is in the next block. */
const look = Effect.fnUntraced(function* (at: number, account: Account) {
  yield* TestClock.setTime(at)
  const timestamp = BigInt(at) * 1_000_000n
  const row = { asset: payment().payment.assetId, market: "", type: "ACCOUNT_TYPE_GENERAL", timestamp: timestamp - 1n }
  const rows = [
    { ...row, party: keys.hot, balance: account.outside + account.paid },
    { ...row, party: keys.reserve, balance: 10_000_000n - account.paid },
  ]
  yield* (yield* Observations).advance(rows, { timestamp, height: BigInt(at / 1_000) })
  yield* decideOnce()
  const outbox = yield* Outbox
  for (const intent of yield* outbox.open) {
    const reserved = yield* outbox.move(intent, "reserved", { detail: "permitted" })
    yield* outbox.persist(reserved, attemptOf(reserved, 1))
    const flying = (yield* outbox.open).find(({ id }) => id === intent.id)
    yield* outbox.move(flying!, "confirmed", { detail: "paid", settledAt: timestamp })
    account.paid += intent.payment.amount
  }
})

/** Below for eight minutes, above for six: never as long as the rule waits, each time as far as an alert needs. */
const swing = Effect.fnUntraced(function* (account: Account, from: number, to: number) {
  for (let at = from; at < to; at += 2) {
    account.outside = (at % 14 < 8 ? 95_000n : 105_000n) - account.paid
    yield* look(now + at * minute, account)
  }
})

const paid = Effect.map(
  Effect.flatMap(Outbox, (outbox) => outbox.recent(100)),
  (all) => all.map(({ rule, state, payment: p }) => `${rule} ${p.amount} ${state}`),
)
const told = Effect.map(alertRows, (due) => [
  ...new Set(due.filter(({ kind }) => kind === "rule").map(({ severity, dedup }) => `${severity} ${dedup}`)),
])
const reasonOf = (rule: string) =>
  Effect.map(
    Effect.flatMap(RuleStates, (states) => states.all),
    (all) => all.find((memory) => memory.rule === rule)?.reason,
  )

describe("a balance that swings around its threshold for a day", () => {
  it.effect("causes one payment, one alert and one recovery, despite a restart", () => {
    const store = testStore()
    const layer = () =>
      Layer.mergeAll(DirtySubjects.layer, metrics, Layer.succeed(Tags, Tags.of({ of: () => undefined }))).pipe(
        Layer.provideMerge(store.layer()),
      )
    const account: Account = { outside: 0n, paid: 0n }
    const once = ["page rule/low/1", "info rule/low/1/over"]
    return Effect.gen(function* () {
      const inForce = { treasury: yield* swinging, mode: "live" } as const
      const process = <A, E, R>(life: Effect.Effect<A, E, R>) =>
        life.pipe(
          Effect.provideService(CycleConfig, inForce),
          Effect.provide(ConfigInForce.layer(inForce)),
          Effect.provide(layer(), { local: true }),
        )
      yield* process(
        Effect.gen(function* () {
          yield* arrange({ firing: false })
          yield* swing(account, 2, 120)
          assert.deepStrictEqual([yield* paid, yield* told], [[], once.slice(0, 1)], "it was never low for so long")
          account.outside = 95_000n
          for (let at = 120; at < 136; at += 2) yield* look(now + at * minute, account)
          assert.deepStrictEqual([yield* paid, yield* told], [["keep 105000 confirmed"], once])
          yield* swing(account, 136, 720)
        }),
      )
      yield* process(
        Effect.gen(function* () {
          yield* arrange({ firing: false, hot: 95_000n, reserve: 10_000_000n - account.paid, at: now + 720 * minute })
          yield* swing(account, 722, 1_380)
          account.outside = 95_000n - account.paid
          for (let at = 1_380; at < 1_440; at += 2) yield* look(now + at * minute, account)
          assert.deepStrictEqual([yield* reasonOf("keep"), yield* reasonOf("low")], ["cooldown", "cooldown"])
          assert.deepStrictEqual([yield* paid, yield* told], [["keep 105000 confirmed"], once])
        }),
      )
    }).pipe(Effect.ensuring(Effect.sync(store.remove)))
  })
})
