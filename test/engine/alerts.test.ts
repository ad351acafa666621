import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { CycleConfig, type InForce } from "../../src/config/ConfigInForce.ts"
import type { Treasury } from "../../src/config/Treasury.ts"
import type { PublicKey } from "../../src/domain/Hex.ts"
import { decideOnce } from "../../src/engine/Engine.ts"
import { loadRound } from "../../src/engine/loadRound.ts"
import { keepRound } from "../../src/engine/record.ts"
import { balanceOf } from "../../src/engine/snapshot.ts"
import type { AlertRule } from "../../src/rules/Condition.ts"
import { decideRound } from "../../src/rules/decideRound.ts"
import { memoryKey } from "../../src/rules/RuleMemory.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { Controls, haltSigning } from "../../src/store/controls/Controls.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { alertRows } from "../support/alertRows.ts"
import { flow, round } from "../support/Flow.ts"
import { inTransaction } from "../support/inTransaction.ts"
import { calmSnapshot } from "../support/Rules.ts"
import { testStore } from "../support/TestStore.ts"

const asset = { symbol: "TOK", id: "aa".repeat(32), decimals: 0 }
const party = {
  name: "hot",
  publicKey: "b".repeat(64) as PublicKey,
  signer: undefined,
  floor: new Map(),
  transfersKept: 0,
}
const account = { party, asset, balance: "free" as const }
const low: AlertRule = {
  kind: "alert",
  name: "low",
  when: { _tag: "Balance", account, side: "below", units: 100n },
  clear: { _tag: "Not", of: { _tag: "Balance", account, side: "below", units: 120n } },
  severity: "page",
  forMillis: 60_000,
  cooldownMillis: 0,
  during: undefined,
}
const fall: AlertRule = {
  ...low,
  name: "fall",
  when: { _tag: "Change", account, overMillis: 3_600_000, side: "below", by: { _tag: "Units", units: -1_000n } },
  clear: undefined,
  forMillis: 0,
}
const policy = { maxFee: { numerator: 0n, denominator: 1n }, lines: [], hash: "", digest: "" }
const settings = (rules: ReadonlyArray<AlertRule>): InForce => ({
  mode: "live",
  treasury: { name: "t", rules, policy, assets: new Map(), network: { maxAgeMillis: 30_000 } } as unknown as Treasury,
})
const start = 1_800_000_000_000

/** The account as it is from now on, and one look of the rules. */
const look = Effect.fnUntraced(function* (at: number, balance: bigint | undefined) {
  yield* TestClock.setTime(at)
  const observations = yield* Observations
  const asOf = BigInt(at) * 1_000_000n
  const row = {
    party: party.publicKey,
    asset: asset.id,
    market: "",
    type: "ACCOUNT_TYPE_GENERAL",
    timestamp: asOf - 1_000n,
  }
  yield* observations.advance(balance === undefined ? [] : [{ ...row, balance }], { timestamp: asOf, height: 1n })
  const states = yield* RuleStates
  const memories = new Map((yield* states.all).map((m) => [memoryKey(m.rule, m.subject), m]))
  const balances = balanceOf(yield* observations.accounts)
  const snapshot = {
    ...calmSnapshot,
    now: at,
    asOf,
    maxAgeMillis: 30_000,
    balance: balances,
    listed: undefined,
    parameters: undefined,
    policy,
  }
  const decided = decideRound(yield* loadRound(snapshot, memories))
  yield* inTransaction(keepRound(decided))
  return decided.alerts
})

const told = Effect.map(alertRows, (due) => [
  ...new Set(due.map(({ severity, dedup, detail }) => `${severity} ${dedup} ${detail}`)),
])

it("a free balance is that of the general account alone, a total one has the margin as well", () => {
  const of = (market: string, type: string, balance: bigint) => ({
    party: "p",
    asset: "a",
    market,
    type,
    balance,
    timestamp: 1n,
  })
  const balance = balanceOf([
    of("", "ACCOUNT_TYPE_GENERAL", 5n),
    of("m", "ACCOUNT_TYPE_MARGIN", 7n),
    of("n", "ACCOUNT_TYPE_MARGIN", 9n),
  ])
  assert.deepStrictEqual([balance("p", "a", "free"), balance("p", "a", "total")], [5n, 21n])
  assert.isUndefined(balance("p", "b", "total"))
})

describe("conditions over a real store", () => {
  it.effect("give one alert and one recovery for a balance that swings all day", () => {
    const store = testStore()
    const swing = Effect.fnUntraced(function* (from: number, to: number) {
      for (let minute = from; minute < to; minute += 2) {
        const balance = minute % 14 < 8 ? 95n : 105n
        yield* look(start + minute * 60_000, balance)
      }
    })
    const layer = () => store.layer()
    return Effect.gen(function* () {
      yield* swing(0, 720).pipe(Effect.provide(layer(), { local: true }))
      // The process ends here, with the alert on, and another goes on from the store.
      yield* Effect.gen(function* () {
        yield* swing(720, 1_440)
        assert.deepStrictEqual(yield* told, ["page rule/low/1 hot/TOK: 95 is below 100"])
        yield* look(start + 1_440 * 60_000, 130n)
        yield* look(start + 1_442 * 60_000, 130n)
        assert.deepStrictEqual(
          (yield* told).map((text) => text.replace(/after [^:]*: /, "after …: ")),
          [
            "page rule/low/1 hot/TOK: 95 is below 100",
            "info rule/low/1/over over after …: hot/TOK: 130 is not below 120",
          ],
        )
      }).pipe(Effect.provide(layer(), { local: true }))
    }).pipe(Effect.provideService(CycleConfig, settings([low])), Effect.ensuring(Effect.sync(store.remove)))
  })

  it.effect("know a past balance from stored rows, also after a restart", () => {
    const store = testStore()
    const hour = 3_600_000
    return Effect.gen(function* () {
      yield* Effect.gen(function* () {
        yield* (yield* Observations).rebase([], { timestamp: BigInt(start - hour) * 1_000_000n, height: 1n })
        yield* look(start, 5_000n)
        yield* look(start + hour / 2, 4_500n)
        assert.deepStrictEqual(yield* told, [], "it fell by 500")
        const observations = yield* Observations
        const at = (millis: number) =>
          Effect.map(
            observations.at(party.publicKey, asset.id, BigInt(millis) * 1_000_000n, hour),
            (rows) => rows?.[0]?.balance,
          )
        assert.deepStrictEqual(yield* at(start - 1), 0n, "before its first row it had nothing")
        assert.deepStrictEqual(yield* at(start), 5_000n)
        assert.deepStrictEqual(yield* at(start + hour), 4_500n)
        assert.isUndefined(yield* at(start - 2 * hour), "from before all reading nothing is known")
      }).pipe(Effect.provide(store.layer(), { local: true }))
      yield* Effect.gen(function* () {
        yield* look(start + hour, 3_999n)
        assert.deepStrictEqual(yield* told, [
          "page rule/fall/1 hot/TOK changed by -1,001 in 60 min, which is below -1,000",
        ])
        yield* look(start + 2 * hour, 3_999n)
        assert.lengthOf(yield* told, 2, "an hour later it has not fallen by more")
      }).pipe(Effect.provide(store.layer(), { local: true }))
    }).pipe(Effect.provideService(CycleConfig, settings([fall])), Effect.ensuring(Effect.sync(store.remove)))
  })
})

const all = {
  alerts: { receivers: { log: { log: {} } }, routes: [{ severity: ["page", "ticket", "info"], to: ["log"] }] },
}

describe("alerts of the engine", () => {
  it.effect("fire during halts, pauses and missing data, and inhibit rules", () =>
    flow(
      function* (options, sandbox) {
        const proposed = new Set(["submit", "confirm"])
        yield* (yield* Controls).pause({ scope: "all", reason: "r", author: "a", until: undefined })
        yield* haltSigning("operator", "test")
        for (let i = 0; i < 3; i++) yield* round(options, sandbox, proposed)
        const names = Effect.map(told, (texts) =>
          texts.filter((text) => text.includes("rule/")).map((t) => t.split(" ").slice(0, 2).join(" ")),
        )
        assert.deepStrictEqual(yield* names, ["page rule/bob-low/1"])
        yield* (yield* Controls).resume({ scope: "all", reason: "r", author: "a" })
        for (let i = 0; i < 3; i++) yield* round(options, sandbox, proposed)
        const memory = (yield* (yield* RuleStates).all).find((m) => m.rule === "keep-bob")
        assert.deepStrictEqual([memory?.reason, memory?.detail], ["inhibited", "while bob-low fires"])
        yield* TestClock.adjust("10 minutes")
        yield* decideOnce()
        assert.deepStrictEqual(yield* names, ["page rule/bob-low/1", "ticket rule/blind/1"])
        assert.notInclude((yield* names).join(), "over", "what is not known clears nothing")
      },
      {
        more: all,
        keepBob: { inhibitedBy: "bob-low" },
        rules: [
          {
            name: "bob-low",
            notify: { when: { balance: { party: "bob", asset: "USDT", below: "100" } }, severity: "page" },
          },
          {
            name: "blind",
            notify: {
              when: {
                any: [
                  { stale: { longerThan: "5m" } },
                  { held: { rule: "keep-bob", reason: "stale", longerThan: "1h" } },
                ],
              },
            },
          },
        ],
      },
    ),
  )
})
