import { assert, describe, it } from "@effect/vitest"
import { baseUnits } from "../../src/domain/Amount.ts"
import { type HoldReason, holdReasons } from "../../src/domain/Decision.ts"
import type { PublicKey } from "../../src/domain/Hex.ts"
import { type Intent, type IntentState, intentStates, isFinalIntent } from "../../src/domain/Intent.ts"
import type { Party } from "../../src/rules/Account.ts"
import { judgeSubject } from "../../src/rules/checks/decide.ts"
import { explainSubject } from "../../src/rules/explain/explain.ts"
import type { Level, PayingRule, RuleBase } from "../../src/rules/Rule.ts"
import { round } from "../../src/rules/round.ts"
import type { Hours } from "../../src/rules/Schedule.ts"
import { type Snapshot, transferParametersOf } from "../../src/rules/Snapshot.ts"
import { subjectsOf } from "../../src/rules/Subject.ts"
import { type Dice, makeDice } from "../support/Dice.ts"
import { intentOf as intentWith } from "../support/Payments.ts"
import { calmSnapshot, halted, plainRule } from "../support/Rules.ts"

const now = 1_800_000_000_000
const asset = { symbol: "TOK", id: "ab".repeat(32), decimals: 0 }
const parties = ["reserve", "hot", "eve"].map(
  (name): Party => ({
    name,
    publicKey: name.padEnd(64, "0") as PublicKey,
    signer: { sandbox: name },
    floor: new Map(),
    transfersKept: 0,
  }),
)
// One for all worlds: what it looks up is kept by it.
const never: Hours = { name: "never", weekdays: new Set(), spans: [], location: "UTC" }
const [reserve, hot, eve] = [parties[0]!, parties[1]!, parties[2]!]
const units = (n: number) => baseUnits(BigInt(n))

/** Seldom: what is spoilt in most worlds hides what comes after it. */
const rarely = (dice: Dice): boolean => dice.below(30) === 0

const ruleOf = (dice: Dice, name: string): PayingRule => {
  const level = (party: Party): Level => ({
    party,
    asset,
    balance: "free",
    trigger: units(1_000),
    target: units(2_000),
  })
  const base: RuleBase = {
    ...plainRule,
    name,
    forMillis: dice.below(2) * 10_000,
    cooldownMillis: dice.below(2) * 60_000,
    min: rarely(dice) ? new Map([[asset.id, units(dice.below(4_000))]]) : new Map(),
    onShort: dice.below(2) === 0 ? "hold" : "partial",
    priority: dice.below(2),
    during: rarely(dice) ? never : undefined,
    maintenance: rarely(dice) ? [{ name: "audit", from: now - 5, until: now + dice.below(9_000) }] : [],
    inhibitedBy: rarely(dice) ? ["alarm"] : [],
  }
  switch (dice.below(5)) {
    case 0:
      return { ...base, kind: "sweep", to: reserve, levels: [level(hot), level(eve)] }
    case 1:
      return {
        ...base,
        kind: "split",
        level: level(hot),
        to: [
          { party: eve, weight: 1n },
          { party: reserve, weight: 2n },
        ],
      }
    case 2:
      return {
        ...base,
        kind: "rebalance",
        asset,
        balance: "free",
        weights: [
          { party: hot, weight: 1n },
          { party: eve, weight: 1n },
        ],
        tolerance: { numerator: 5n, denominator: 100n },
      }
    case 3:
      return { ...base, kind: "request", from: reserve, level: level(hot) }
    default:
      return { ...base, kind: "topUp", from: reserve, levels: [level(hot), level(eve)] }
  }
}

const intentOf = (dice: Dice, state: IntentState): Intent => {
  const [from, to] = [dice.pick(parties)!, dice.pick(parties)!]
  const [fromKey, toKey] = [from.publicKey, to.publicKey]
  return intentWith(String(dice.below(9)), {
    rule: dice.pick(["keep", "other"])!,
    subject: dice.pick(["hot/TOK", "eve/TOK"])!,
    payment: {
      from: from.name,
      fromKey,
      to: to.name,
      toKey,
      asset: "TOK",
      assetId: asset.id,
      amount: units(dice.below(900)),
    },
    decimals: 0,
    feeMax: 1n,
    state,
    detail: "as it is",
    settledAt: isFinalIntent(state) ? BigInt(now - dice.below(9_000)) * 1_000_000n : undefined,
    createdAt: now - 90_000,
    updatedAt: now - dice.below(90_000),
  })
}

const snapshotOf = (dice: Dice): Snapshot => {
  const intents = Array.from({ length: dice.below(3) }, () => intentOf(dice, dice.pick(intentStates)!))
  const balances = new Map(parties.map(({ publicKey }) => [publicKey as string, BigInt(dice.below(6_000))]))
  const maybe = <A>(spoilt: A): A | undefined => (rarely(dice) ? spoilt : undefined)
  const unseen = maybe(dice.pick(parties)!.publicKey as string)
  const quota = maybe({ limit: 20, used: 19 + dice.below(2), endsAt: now + 1_000 })
  const all = new Set(parties.map(({ publicKey }) => publicKey as string))
  const limits = { perTransfer: units(1_000 + dice.below(9_000)), per24h: units(20_000), transfersPer24h: 9 }
  const used = { amount: BigInt(dice.below(2) * 19_500), count: dice.below(11) }
  return {
    ...calmSnapshot,
    now,
    asOf: rarely(dice) ? undefined : BigInt(now - dice.below(33_000)) * 1_000_000n,
    maxAgeMillis: 30_000,
    balance: (key) => (key === unseen ? undefined : balances.get(key)),
    listed: new Map(rarely(dice) ? [] : [[asset.id, { status: "enabled", decimals: 0, quantum: 100n }]]),
    parameters: transferParametersOf(
      new Map([
        ["transfer.fee.factor", "0.001"],
        ["transfer.fee.maxQuantumAmount", "1"],
        ["transfer.minTransferQuantumMultiple", "0.5"],
      ]),
    ),
    open: intents.filter(({ state }) => !isFinalIntent(state)),
    settled: intents.filter(({ state }) => isFinalIntent(state)),
    halts: rarely(dice) ? [halted] : [],
    pauses: rarely(dice) ? [{ scope: dice.pick(["all", "rule:keep", "lock:keep", "party:eve"])!, reason: "x" }] : [],
    catchingUp: maybe("not yet compared"),
    disagreement: maybe("b shows other balances"),
    chainUnsettled: maybe("the difficulty changed"),
    firing: new Set(["alarm"]),
    quota: () => quota,
    policy: {
      hash: "",
      digest: "",
      maxFee: { numerator: rarely(dice) ? 0n : 2n, denominator: 1_000n },
      lines: rarely(dice) ? [] : [{ line: 1, from: all, to: all, assetId: asset.id, ...limits }],
    },
    signed: () => used,
  }
}

describe("an explanation", () => {
  it("holds for the reason of the decision, in five thousand random worlds", () => {
    const reached = new Map<string, number>()
    const dice = makeDice("explanations")
    for (let i = 0; i < 5_000; i++) {
      const snapshot = snapshotOf(dice)
      const memory = {
        firingSince: rarely(dice) ? undefined : now - dice.below(40_000),
        observations: dice.below(6),
        lastObservation: BigInt(now - 40_000) * 1_000_000n,
        episode: 1,
      }
      for (const { facts } of round(
        [ruleOf(dice, "keep"), ruleOf(dice, "other")].flatMap(subjectsOf),
        snapshot,
        () => memory,
      ).outcomes) {
        const { decision } = judgeSubject(facts)
        const { checks, verdict, reason, next, payments } = explainSubject(facts)
        const holding = checks.filter(({ sign }) => sign === "holds" || sign === "also_holds")
        assert.strictEqual(holding[0]?.reason, decision._tag === "Hold" ? decision.reason : undefined, `world ${i}`)
        assert.strictEqual(holding[0]?.detail, decision._tag === "Hold" ? decision.detail : undefined)
        assert.strictEqual(reason, holding[0]?.reason ?? null)
        assert.strictEqual(holding.filter(({ sign }) => sign === "holds").length, holding.length > 0 ? 1 : 0)
        assert.strictEqual(verdict === "holds", payments.length === 0)
        assert.strictEqual(next.after.length + holding.filter(({ endsAt }) => endsAt !== null).length, holding.length)
        assert.isTrue(checks.every(({ sign, detail }) => (sign === "not_reached") === (detail === "")))
        reached.set(reason ?? verdict, (reached.get(reason ?? verdict) ?? 0) + 1)
      }
    }
    const missed = holdReasons.filter((one: HoldReason) => !reached.has(one))
    assert.includeMembers(["not_due", "code", "drift", "yielded"], missed, JSON.stringify([...reached]))
    assert.isAbove(reached.get("acts") ?? 0, 100)
  })
})
