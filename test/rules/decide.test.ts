import { assert, describe, it } from "@effect/vitest"
import { type BaseUnits, baseUnits } from "../../src/domain/Amount.ts"
import type { IntentId, PublicKey } from "../../src/domain/Hex.ts"
import type { Intent, IntentState } from "../../src/domain/Intent.ts"
import type { AlertRule } from "../../src/rules/Condition.ts"
import { decide } from "../../src/rules/checks/decide.ts"
import { reachOf } from "../../src/rules/checks/history.ts"
import { decideRound, type RoundContext } from "../../src/rules/decideRound.ts"
import { endedBy } from "../../src/rules/explain/explain.ts"
import { feeMax, freeAt, judgePolicy, nextFree, type Policy } from "../../src/rules/policy/Policy.ts"
import type { Level, PayingRule, SweepRule, TopUpRule } from "../../src/rules/Rule.ts"
import { memoryKey, type RuleMemory } from "../../src/rules/RuleMemory.ts"
import { overlaid, type Snapshot, transferParametersOf } from "../../src/rules/Snapshot.ts"
import { subjectsOf } from "../../src/rules/Subject.ts"
import { idleTimer, subjectFacts, type Timer } from "../../src/rules/SubjectFacts.ts"
import { intentOf } from "../support/Payments.ts"
import { calmSnapshot, halted, plainParty, plainRule } from "../support/Rules.ts"

const usdt = { symbol: "USDT", id: "ab".repeat(32), decimals: 2 }
const units = (n: number): BaseUnits => baseUnits(BigInt(Math.round(n * 100)))
const hot = plainParty("hot")
const reserve = plainParty("reserve", { floor: new Map([[usdt.id, units(100)]]) })
const level: Level = { party: hot, asset: usdt, balance: "free", trigger: units(100), target: units(250) }
const rule: TopUpRule = {
  ...plainRule,
  kind: "topUp",
  name: "keep",
  from: reserve,
  levels: [level],
  forMillis: 30_000,
  cooldownMillis: 60_000,
  min: new Map([[usdt.id, units(5)]]),
}
const policy: Policy = {
  maxFee: { numerator: 2n, denominator: 1_000n },
  digest: "",
  hash: "",
  lines: [
    {
      line: 1,
      from: new Set([reserve.publicKey, hot.publicKey]),
      to: new Set([hot.publicKey, reserve.publicKey]),
      assetId: usdt.id,
      perTransfer: units(300),
      per24h: units(1_000),
      transfersPer24h: 5,
    },
  ],
}
const now = 1_800_000_000_000
const ripe: Timer = { firingSince: now - 30_000, observations: 5, lastObservation: 0n }
const parameters = transferParametersOf(
  new Map([
    ["transfer.fee.factor", "0.001"],
    ["transfer.fee.maxQuantumAmount", "1"],
    ["transfer.minTransferQuantumMultiple", "0.1"],
  ]),
)

interface World {
  readonly hot?: number | undefined
  readonly reserve?: number
  readonly snapshot?: Partial<Snapshot>
}

const snapshotOf = (world: World): Snapshot => ({
  ...calmSnapshot,
  now,
  asOf: BigInt(now - 1_000) * 1_000_000n,
  maxAgeMillis: 30_000,
  balance: (key) => {
    if (key === hot.publicKey) return "hot" in world && world.hot === undefined ? undefined : units(world.hot ?? 40)
    return units(world.reserve ?? 5_000)
  },
  listed: new Map([[usdt.id, { status: "enabled", decimals: 2, quantum: 100n }]]),
  parameters,
  policy,
  ...world.snapshot,
})

const intent = (state: IntentState, more: Partial<Intent> = {}): Intent =>
  intentOf("1", {
    id: "cd".repeat(32) as IntentId,
    subject: "hot/USDT",
    payment: {
      from: "reserve",
      fromKey: reserve.publicKey,
      to: "hot",
      toKey: hot.publicKey,
      asset: "USDT",
      assetId: usdt.id,
      amount: units(210),
    },
    decimals: 2,
    feeMax: 42n,
    state,
    detail: "no proof",
    createdAt: now - 5_000,
    updatedAt: now - 5_000,
    ...more,
  })

const run = (world: World, timer: Timer = ripe, using: Partial<TopUpRule> = {}) =>
  judged({ ...rule, ...using }, snapshotOf(world), timer).decision

const judged = (one: PayingRule, snapshot: Snapshot, timer: Timer) =>
  decide(subjectsOf(one)[0]!, snapshot, { ...timer, episode: 1 })

describe("a top-up", () => {
  it("brings the balance exactly to its target", () => {
    const decision = run({ hot: 40 })
    assert.strictEqual(decision._tag, "Act")
    if (decision._tag === "Act") {
      assert.deepStrictEqual(
        decision.payments.map(({ amount }) => amount),
        [units(210)],
      )
      assert.strictEqual(decision.detail, "40.00 is below 100")
    }
  })

  /** World, timer, rule → the reason, and the number that decided. */
  const holds: ReadonlyArray<readonly [string, World, Partial<TopUpRule>, Timer, RegExp]> = [
    ["halted", { snapshot: { halts: [halted] } }, {}, ripe, /by ana: audit/],
    [
      "paused",
      { snapshot: { pauses: [{ scope: "party:reserve", reason: "audit" }] } },
      {},
      ripe,
      /party:reserve.*audit/,
    ],
    ["paused", { snapshot: { pauses: [{ scope: "asset:USDT", reason: "audit" }] } }, {}, ripe, /asset:USDT.*audit/],
    ["asset_status", { snapshot: { pauses: [{ scope: "pin:USDT", reason: "18 decimals" }] } }, {}, ripe, /18 decimals/],
    ["no_data", { hot: undefined }, {}, ripe, /hot\/USDT/],
    ["no_data", { snapshot: { asOf: undefined } }, {}, ripe, /yet/],
    ["stale", { snapshot: { asOf: BigInt(now - 31_000) * 1_000_000n } }, {}, ripe, /is older than 30\.0 s/],
    [
      "stale",
      { snapshot: { asOf: BigInt(now + 31_000) * 1_000_000n } },
      {},
      ripe,
      /is more than 30\.0 s ahead of our clock/,
    ],
    ["stale", {}, { maxAgeMillis: 999 }, ripe, /is older than 1\.0 s/],
    ["catching_up", { snapshot: { catchingUp: "not compared" } }, {}, ripe, /not compared/],
    ["drift", { snapshot: { drift: (key) => (key === hot.publicKey ? "hot differs" : undefined) } }, {}, ripe, /hot d/],
    [
      "drift",
      { snapshot: { drift: (key) => (key === reserve.publicKey ? "it does" : undefined) } },
      {},
      ripe,
      /it does/,
    ],
    ["in_band", { hot: 100 }, {}, ripe, /100\.00 \(trigger 100\)/],
    ["pending", {}, {}, { ...ripe, firingSince: now - 10_000 }, /40\.00 is below 100; must stay so for 20 s/],
    ["pending", {}, {}, { ...ripe, observations: 0 }, /seen twice/],
    ["in_flight", { snapshot: { open: [intent("in_flight")] } }, {}, ripe, /210\.00 USDT is under way$/],
    ["awaiting_approval", { snapshot: { open: [intent("awaiting_approval")] } }, {}, ripe, /waits for approval/],
    [
      "settling",
      { snapshot: { settled: [intent("confirmed", { settledAt: BigInt(now) * 1_000_000n })] } },
      {},
      ripe,
      /newer/,
    ],
    ["cooldown", { snapshot: { settled: [intent("confirmed")] } }, {}, ripe, /55 s left/],
    ["cooldown", { snapshot: { settled: [intent("failed")] } }, { cooldownMillis: 0 }, ripe, /55 s left/],
    ["unresolved", { snapshot: { open: [intent("manual")] } }, {}, ripe, /manual: no proof/],
    ["too_small", {}, { min: new Map([[usdt.id, units(500)]]) }, ripe, /210\.00 is below the minimum of 500\.00/],
    ["asset_status", { snapshot: { listed: undefined } }, {}, ripe, /no asset listing/],
    ["asset_status", { snapshot: { listed: new Map() } }, {}, ripe, /not listed/],
    [
      "asset_status",
      { snapshot: { listed: new Map([[usdt.id, { status: "proposed", decimals: 2, quantum: 1n }]]) } },
      {},
      ripe,
      /proposed/,
    ],
    [
      "asset_status",
      { snapshot: { listed: new Map([[usdt.id, { status: "enabled", decimals: 3, quantum: 1n }]]) } },
      {},
      ripe,
      /3 decimals, pinned with 2/,
    ],
    ["policy", { snapshot: { policy: { ...policy, lines: [] } } }, {}, ripe, /no policy line/],
    [
      "limit",
      { snapshot: { signed: () => ({ amount: units(900), count: 1 }) } },
      {},
      ripe,
      /900 of 1,000 in 24 h are used; 210 more/,
    ],
    ["limit", { snapshot: { signed: () => ({ amount: 0n, count: 5 }) } }, {}, ripe, /5 of 5 transfers/],
    ["fee", { snapshot: { policy: { ...policy, maxFee: { numerator: 0n, denominator: 1n } } } }, {}, ripe, /0\.21/],
    ["short", { reserve: 310 }, {}, ripe, /reserve has 310\.00 and keeps 100; 210\.00 and a fee of at most/],
  ]

  it.each(holds)("holds: %s", (reason, world, using, timer, says) => {
    const decision = run(world, timer, using)
    assert.strictEqual(decision._tag === "Hold" ? decision.reason : "act", reason, decision.detail)
    assert.match(decision.detail, says)
  })

  it("names the first reason in the order of precedence", () => {
    const decision = run({ snapshot: { halts: [halted], pauses: [{ scope: "all", reason: "x" }] } })
    assert.strictEqual(decision._tag === "Hold" && decision.reason, "halted")
  })

  it("pays what the funder's floor leaves where the rule says so, fee included", () => {
    const decision = run({ reserve: 200 }, ripe, { onShort: "partial" })
    assert.strictEqual(decision._tag, "Act")
    if (decision._tag !== "Act") return
    const { amount } = decision.payments[0]!
    assert.isAtMost(Number(amount + feeMax(policy.maxFee, amount)), Number(units(100)))
    assert.isAtLeast(Number(amount), Number(units(99)))
  })

  it("counts what open payments of the funder may take", () => {
    const other = intent("in_flight", {
      rule: "other",
      payment: { ...intent("in_flight").payment, toKey: "f".repeat(64) as PublicKey },
    })
    const decision = run({ reserve: 400, snapshot: { open: [other] } })
    assert.strictEqual(decision._tag === "Hold" && decision.reason, "short")
  })

  it("needs two observations and its time, and forgets them when the need is gone", () => {
    const first = judged(rule, snapshotOf({}), idleTimer).timer
    assert.deepInclude(first, { firingSince: now, observations: 1 })
    const again = judged(rule, snapshotOf({}), first).timer
    assert.strictEqual(again.observations, 1, "the same block seen twice counts once")
    const later = judged(rule, snapshotOf({ snapshot: { asOf: BigInt(now) * 1_000_000n } }), first).timer
    assert.strictEqual(later.observations, 2)
    assert.isUndefined(judged(rule, snapshotOf({ hot: 150 }), later).timer.firingSince)
  })
})

describe("a sweep", () => {
  const sweep: SweepRule = {
    ...rule,
    kind: "sweep",
    to: reserve,
    levels: [{ ...level, trigger: units(500), target: units(300) }],
  }
  const at = (balance: number) => judged(sweep, snapshotOf({ hot: balance }), ripe).decision

  it("leaves the target when the fee is taken on top", () => {
    const decision = at(560.5)
    assert.strictEqual(decision._tag, "Act")
    if (decision._tag !== "Act") return
    assert.strictEqual(decision.payments[0]?.amount, units(560.5 - 300) - 26n)
    assert.strictEqual(decision.payments[0]?.to, "reserve")
  })

  it.each(["all", "rule:keep", "party:hot", "party:reserve"])("is paused by %s, as its sending would be", (scope) => {
    const world = { hot: 600, snapshot: { pauses: [{ scope, reason: "audit" }] } }
    const { decision } = judged(sweep, snapshotOf(world), ripe)
    assert.strictEqual(decision._tag === "Hold" && decision.reason, "paused")
  })

  it("holds while rows and balance of its receiver differ, as its signing would", () => {
    const drift = (key: string) => (key === reserve.publicKey ? "reserve differs" : undefined)
    const { decision } = judged(sweep, snapshotOf({ hot: 600, snapshot: { drift } }), ripe)
    assert.deepStrictEqual(decision, { _tag: "Hold", reason: "drift", detail: "reserve differs" })
  })

  it("is paused by each pause that stops it, and names each end", () => {
    const scopes = ["party:hot", "asset:VEGA", "rule:keep", "party:hot"]
    const pauses = scopes.map((scope, i) => ({ scope, reason: `why ${i}`, ...(i === 2 ? { author: "ana" } : {}) }))
    const [subject] = subjectsOf(sweep)
    const snapshot = snapshotOf({ hot: 600, snapshot: { pauses } })
    const facts = subjectFacts(subject!, snapshot, { ...ripe, episode: 1 })
    const { decision } = judged(sweep, snapshot, ripe)
    assert.strictEqual(
      decision._tag === "Hold" && decision.detail,
      "(party:hot): why 0; (rule:keep) by ana: why 2; (party:hot): why 3",
    )
    const commands = ["party:hot", "rule:keep"].map((scope) => `"cofferer resume --scope ${scope} --reason TEXT"`)
    assert.strictEqual(endedBy.paused(facts), `a person ends each pause: ${commands.join(", ")}`)
    const one = subjectFacts(subject!, { ...snapshot, pauses: pauses.slice(2, 3) }, { ...ripe, episode: 1 })
    assert.strictEqual(endedBy.paused(one), `a person ends the pause: ${commands[1]}`)
  })

  it("names, where no newer block is read, the command that says why", () => {
    const [subject] = subjectsOf(sweep)
    const facts = subjectFacts(subject!, snapshotOf({ hot: 600 }), { ...ripe, episode: 1 })
    assert.strictEqual(endedBy.stale(facts), 'a newer block is read: "cofferer status" says what prevents it')
  })

  it("pays the balance less the highest fee if all is wanted", () => {
    const all = { ...sweep, levels: [{ ...level, trigger: units(200), target: units(0) }] }
    const { decision } = judged(all, snapshotOf({ hot: 250 }), ripe)
    assert.strictEqual(decision._tag, "Act")
    if (decision._tag !== "Act") return
    const { amount } = decision.payments[0]!
    assert.isAtMost(Number(amount + feeMax(policy.maxFee, amount)), Number(units(250)))
    assert.isAtLeast(Number(amount), Number(units(249)))
  })

  it("pays in parts of what the policy permits at once", () => {
    const decision = at(2_000)
    assert.strictEqual(decision._tag, "Act")
    if (decision._tag !== "Act") return
    assert.strictEqual(decision.payments[0]?.amount, units(300))
    const least = new Map([[usdt.id, units(301)]])
    const held = judged({ ...sweep, min: least }, snapshotOf({ hot: 2_000 }), ripe).decision
    assert.deepStrictEqual(held, {
      _tag: "Hold",
      reason: "too_small",
      detail: "300.00 is below the minimum of 301.00",
    })
  })

  it("is in band up to its level", () => {
    const decision = at(500)
    assert.strictEqual(decision._tag === "Hold" && decision.reason, "in_band")
  })
})

describe("the policy", () => {
  const none = () => ({ amount: 0n, count: 0 })
  const payment = { from: reserve.publicKey, to: hot.publicKey, assetId: usdt.id, amount: 1n }

  it.each([
    ["another sender", { from: "f".repeat(64) }],
    ["another receiver", { to: "f".repeat(64) }],
    ["another asset", { assetId: "f".repeat(64) }],
  ] as const)("denies %s: what no line names is refused", (_, change) => {
    const verdict = judgePolicy(policy, { ...payment, ...change }, none)
    assert.strictEqual(verdict.permitted ? "" : verdict.refusal, "no_line")
  })

  it.each([
    [0n, none(), "amount"],
    [units(300) + 1n, none(), "amount"],
    [units(100), { amount: units(900) + 1n, count: 0 }, "window_amount"],
    [1n, { amount: 0n, count: 5 }, "window_count"],
  ] as const)("refuses case %#", (amount, used, refusal) => {
    const verdict = judgePolicy(policy, { ...payment, amount }, () => used)
    assert.strictEqual(verdict.permitted ? "" : verdict.refusal, refusal)
  })

  it("permits up to its very limits", () => {
    assert.isTrue(
      judgePolicy(policy, { ...payment, amount: units(300) }, () => ({ amount: units(700), count: 4 })).permitted,
    )
  })

  it.each([
    [units(100), 4, 1],
    [units(200), 4, 2],
    [1n, 5, 1],
    [1n, 6, 2],
    [units(901), 5, undefined],
  ] as const)("has room again once enough has left the period, case %#", (wanted: bigint, count, at) => {
    const [line] = policy.lines
    const leaving = [1, 2].map((end) => ({ amount: units(100), at: end }))
    assert.strictEqual(freeAt(line!, { amount: units(1_000), count, leaving }, wanted), at)
  })

  it.each([
    ["a full line", units(1_000), 4, { amount: units(100), at: 1 }],
    ["a line whose limit was lowered below its use", units(1_100), 4, { amount: units(100), at: 2 }],
    ["a line without transfers", units(500), 5, { amount: units(600), at: 1 }],
    ["a line far above its limit", units(1_300), 4, undefined],
  ] as const)("tells when more is left: %s", (_, amount, count, next) => {
    const [line] = policy.lines
    const leaving = [1, 2].map((end) => ({ amount: units(100), at: end }))
    assert.deepStrictEqual(nextFree(line!, { amount, count, leaving }), next)
  })

  it("rounds the reserved fee up", () => {
    assert.strictEqual(feeMax(policy.maxFee, 1n), 1n)
    assert.strictEqual(feeMax(policy.maxFee, 500n), 1n)
    assert.strictEqual(feeMax(policy.maxFee, 501n), 2n)
  })
})

describe("a round", () => {
  const memory: RuleMemory = {
    ...ripe,
    rule: "keep",
    subject: "hot/USDT",
    episode: 1,
    state: "holding",
    reason: "in_flight",
    detail: "",
    reasonSince: now,
    decidedAt: now,
  }
  const dry: AlertRule = {
    kind: "alert",
    name: "dry",
    when: { _tag: "Balance", account: level, side: "below", units: units(50) },
    clear: undefined,
    severity: "page",
    forMillis: 0,
    cooldownMillis: 0,
    during: undefined,
  }
  const roundOf = (one: TopUpRule, more: Partial<RoundContext> = {}) =>
    decideRound({
      snapshot: snapshotOf({}),
      memories: new Map([[memoryKey("keep", "hot/USDT"), memory]]),
      paying: subjectsOf(one),
      due: subjectsOf(one),
      rehearsing: [],
      rehearsals: [],
      alerts: [],
      past: () => undefined,
      watchedSince: now,
      ended: new Map(),
      ...more,
    })
  const reasons = ({ conclusions }: ReturnType<typeof roundOf>) => conclusions.map(({ memory: kept }) => kept.reason)

  it("is forbidden by an alert that fires in it", () => {
    const inhibited = { ...rule, inhibitedBy: ["dry"] }
    assert.deepStrictEqual(reasons(roundOf(inhibited)), [undefined])
    const fired = roundOf(inhibited, { alerts: [dry] })
    assert.deepStrictEqual(reasons(fired), ["inhibited"])
    assert.deepStrictEqual(
      fired.alerts.map(({ notice }) => notice?.alert.dedup),
      ["rule/dry/1"],
    )
  })

  it("looks at all subjects of a rule that locks itself in it, and not again once a person unlocked it", () => {
    const failed = [1, 2, 3].map((i) => intent("failed", { rule: "keep", createdAt: now - 9_000 + i }))
    const context = { snapshot: snapshotOf({ snapshot: { settled: failed } }), due: [] }
    const locked = roundOf(rule, context)
    assert.deepStrictEqual(
      locked.locks.map(({ scope }) => scope),
      ["lock:keep"],
    )
    assert.deepStrictEqual(reasons(locked), ["locked"])
    const unlocked = roundOf(rule, { ...context, ended: new Map([["lock:keep", now - 8_000]]) })
    assert.deepStrictEqual([unlocked.locks, reasons(unlocked)], [[], []])
  })

  it("waits after a payment by its block where our clock was ahead as it ended", () => {
    const settled = (secondsAgo: number) => [
      intent("confirmed", { updatedAt: now + 3_600_000, settledAt: BigInt(now - secondsAgo * 1_000) * 1_000_000n }),
    ]
    const reasonsAfter = (secondsAgo: number) =>
      reasons(roundOf(rule, { snapshot: snapshotOf({ snapshot: { settled: settled(secondsAgo) } }) }))
    assert.deepStrictEqual([reasonsAfter(59), reasonsAfter(61)], [["cooldown"], [undefined]])
  })

  it("counts simulated payments of its trials alone, from the earlier of clock and newest block", () => {
    const day = 86_400_000
    const block = now - 10_000
    const simulated = (name: string, createdAt: number) => intent("rehearsed", { rule: name, createdAt })
    const settled = [simulated("keep", block - day + 1), simulated("keep", block - day), simulated("gone", now)]
    const snapshot = snapshotOf({ snapshot: { asOf: BigInt(block) * 1_000_000n, settled } })
    const trial = { rule: "keep", since: 0, payments: 2, moved: new Map() }
    assert.strictEqual(overlaid(snapshot, [trial]).signed(policy.lines[0]!).count, 1)
  })

  it("knows payments for as long as any rule waits for what they do to balances", () => {
    const day = 86_400_000
    assert.isAbove(reachOf([{ ...rule, settleMillis: 3 * day }]).settled, 3 * day)
    assert.strictEqual(reachOf([{ ...rule, cooldownMillis: 3 * day }]).settled, 3 * day)
    assert.strictEqual(reachOf([rule]).settled, day)
  })
})
