import { assert, describe, it } from "@effect/vitest"
import { Cron, Result } from "effect"
import { baseUnits } from "../../src/domain/Amount.ts"
import type { Decision, Payment } from "../../src/domain/Decision.ts"
import type { Intent } from "../../src/domain/Intent.ts"
import type { Party } from "../../src/rules/Account.ts"
import { decide } from "../../src/rules/checks/decide.ts"
import { timesText } from "../../src/rules/kinds/payout.ts"
import { feeMax, type Policy } from "../../src/rules/policy/Policy.ts"
import type { PayingRule, PayoutRule, RebalanceRule, SplitRule } from "../../src/rules/Rule.ts"
import { round } from "../../src/rules/round.ts"
import { plannedAfter, plannedUntil } from "../../src/rules/Schedule.ts"
import { type Snapshot, transferParametersOf } from "../../src/rules/Snapshot.ts"
import { subjectsOf } from "../../src/rules/Subject.ts"
import type { Memory } from "../../src/rules/SubjectFacts.ts"
import { intentOf } from "../support/Payments.ts"
import { calmSnapshot, halted, plainParty, plainRule } from "../support/Rules.ts"

const asset = { symbol: "TOK", id: "ab".repeat(32), decimals: 0 }
const now = Date.parse("2026-03-29T00:30:00Z")
const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => plainParty(name)) as [Party, Party, Party, Party]
const units = (n: number) => baseUnits(BigInt(n))
const everybody = new Set([a, b, c, d].map(({ publicKey }) => publicKey))
const policy: Policy = {
  digest: "",
  hash: "",
  maxFee: { numerator: 1n, denominator: 100n },
  lines: [
    {
      line: 1,
      from: everybody,
      to: everybody,
      assetId: asset.id,
      perTransfer: units(1_000_000),
      per24h: units(10_000_000),
      transfersPer24h: 100,
    },
  ],
}
const free = transferParametersOf(
  new Map([
    ["transfer.fee.factor", "0"],
    ["transfer.fee.maxQuantumAmount", "0"],
    ["transfer.minTransferQuantumMultiple", "0"],
  ]),
)

const snapshotOf = (balances: Readonly<Record<string, number>>, more: Partial<Snapshot> = {}): Snapshot => ({
  ...calmSnapshot,
  now,
  asOf: BigInt(now - 1_000) * 1_000_000n,
  maxAgeMillis: 30_000,
  balance: (key) => {
    const held = balances[key.slice(0, 1)]
    return held === undefined ? undefined : BigInt(held)
  },
  listed: new Map([[asset.id, { status: "enabled", decimals: 0, quantum: 1n }]]),
  parameters: free,
  policy,
  ...more,
})
const ripe: Memory = { firingSince: 0, observations: 9, lastObservation: 0n, episode: 1 }
const run = (rule: PayingRule, snapshot: Snapshot, memory: Memory | undefined = ripe): Decision =>
  decide(subjectsOf(rule)[0]!, snapshot, memory).decision
const moves = (decision: Decision): ReadonlyArray<string> =>
  decision._tag === "Hold"
    ? [`${decision.reason}: ${decision.detail}`]
    : decision.payments.map(({ from, to, amount }) => `${from} ${amount} ${to}`)

const outgoing = intentOf("cd", {
  rule: "submit",
  subject: "by hand",
  decimals: 0,
  feeMax: 0n,
  state: "confirmed",
  settledAt: BigInt(now) * 1_000_000n,
  createdAt: now,
  updatedAt: now,
})

describe("a rebalance", () => {
  const rule: RebalanceRule = {
    ...plainRule,
    name: "even",
    kind: "rebalance",
    asset,
    balance: "free",
    weights: [
      { party: a, weight: 60n },
      { party: b, weight: 30n },
      { party: c, weight: 10n },
    ],
    tolerance: { numerator: 5n, denominator: 100n },
  }

  it("is silent up to its tolerance, and says who is furthest from its share", () => {
    assert.deepStrictEqual(moves(run(rule, snapshotOf({ a: 650, b: 255, c: 95 }))), [
      "in_band: a holds 650, 65 % of the whole; 60 % is its share, 5 % its tolerance",
    ])
    assert.deepStrictEqual(moves(run(rule, snapshotOf({ a: 0, b: 0, c: 0 }))), ["in_band: all of them are empty"])
  })

  it("restores all shares at once with the fewest transfers", () => {
    assert.deepStrictEqual(moves(run(rule, snapshotOf({ a: 1_000, b: 0, c: 0 }))), ["a 300 b", "a 100 c"])
    assert.deepStrictEqual(moves(run(rule, snapshotOf({ a: 300, b: 300, c: 400 }))), ["c 300 a"])
  })

  it("pays the fee from the surplus, and ends within its tolerance", () => {
    const parameters = transferParametersOf(
      new Map([
        ["transfer.fee.factor", "0.01"],
        ["transfer.fee.maxQuantumAmount", "1000"],
        ["transfer.minTransferQuantumMultiple", "0"],
      ]),
    )
    assert.deepStrictEqual(moves(run(rule, snapshotOf({ a: 700, b: 200, c: 100 }, { parameters }))), ["a 99 b"])
  })

  it("leaves out what is under the least, unless nothing else is left", () => {
    const min = new Map([[asset.id, units(150)]])
    assert.deepStrictEqual(moves(run({ ...rule, min }, snapshotOf({ a: 1_000, b: 0, c: 0 }))), ["a 300 b"])
    const [small] = moves(run({ ...rule, min }, snapshotOf({ a: 700, b: 200, c: 100 })))
    assert.strictEqual(small, "too_small: 100 is below the minimum of 150")
  })

  it("waits until a payment of any of its accounts is seen in the balances", () => {
    const even = { ...rule, weights: [a, b, c].map((one) => ({ party: one, weight: 1n })) }
    const held = { a: 60, b: 20, c: 40 }
    assert.deepStrictEqual(moves(run(even, snapshotOf(held))), ["a 20 b"])
    const payment: Payment = {
      from: "c",
      fromKey: c.publicKey,
      to: "d",
      toKey: d.publicKey,
      asset: "TOK",
      assetId: asset.id,
      amount: units(40),
    }
    const unseen: Intent = { ...outgoing, payment }
    assert.match(moves(run(even, snapshotOf(held, { settled: [unseen] })))[0]!, /^settling: /)
  })

  it.each(Array.from({ length: 40 }, (_, i) => i + 1))("converges from any balances (seed %i)", (seed) => {
    let state = seed
    const random = (bound: number) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return Math.floor((state / 2 ** 32) * bound)
    }
    const group = [a, b, c, d].slice(0, 2 + random(3))
    const weights = group.map((one) => ({ party: one, weight: BigInt(1 + random(100)) }))
    const held = Object.fromEntries(group.map(({ name }) => [name, random(100_000)]))
    const [total, whole] = [
      Object.values(held).reduce((x, y) => x + y, 0),
      Number(weights.reduce((sum, { weight }) => sum + weight, 0n)),
    ]
    const decision = run({ ...rule, weights }, snapshotOf(held))
    if (decision._tag !== "Act") return assert.match(moves(decision)[0]!, /^in_band/)
    assert.isBelow(decision.payments.length, group.length)
    for (const { from, to, amount } of decision.payments) {
      held[from] = held[from]! - Number(amount)
      held[to] = held[to]! + Number(amount)
    }
    for (const { party: one, weight } of weights) {
      assert.approximately(held[one.name]!, (total * Number(weight)) / whole, group.length)
    }
    assert.match(moves(run({ ...rule, weights }, snapshotOf(held)))[0]!, /^in_band/)
  })
})

describe("a split", () => {
  const rule: SplitRule = {
    ...plainRule,
    name: "divide",
    kind: "split",
    level: { party: a, asset, balance: "free", trigger: units(1_000), target: units(100) },
    to: [
      { party: b, weight: 70n },
      { party: c, weight: 30n },
    ],
  }

  it("divides what is over the target, and keeps what rounding leaves", () => {
    assert.deepStrictEqual(moves(run(rule, snapshotOf({ a: 1_109 }))), ["a 706 b", "a 302 c"])
    assert.match(moves(run(rule, snapshotOf({ a: 1_000 })))[0]!, /^in_band: 1,000 \(trigger 1,000\)/)
  })

  it("keeps its weights where the policy permits no more than a part at once", () => {
    const capped = { ...policy, lines: [{ ...policy.lines[0]!, perTransfer: units(100) }] }
    const partial = { ...rule, onShort: "partial" as const }
    const held = { a: 1_100, b: 0, c: 0 }
    for (let looks = 0; looks < 30; looks++) {
      const decision = run(partial, snapshotOf(held, { policy: capped }))
      if (decision._tag !== "Act") break
      for (const { to, amount } of decision.payments) {
        held.a -= Number(amount)
        held[to === "b" ? "b" : "c"] += Number(amount)
      }
      assert.approximately(held.b / held.c, 70 / 30, 0.05)
    }
    assert.isAtMost(held.a, 1_000)
  })

  it("keeps its weights above the floor, and pays none if too little remains", () => {
    const short = { ...rule, onShort: "partial" as const, floor: new Map([[asset.id, units(600)]]) }
    assert.deepStrictEqual(moves(run(short, snapshotOf({ a: 1_109 }))), ["a 350 b", "a 150 c"])
    const choosy = { ...short, min: new Map([[asset.id, units(151)]]) }
    assert.match(
      moves(run(choosy, snapshotOf({ a: 1_109 })))[0]!,
      /^short: a has 1,109 and keeps 600, 354 of it for other payments; /,
    )
    const whole = { ...short, onShort: "hold" as const }
    assert.match(moves(run(whole, snapshotOf({ a: 1_109 })))[0]!, /^short: /)
  })

  it("takes no more than its share where another rule wants of the same account", () => {
    const short = { ...rule, onShort: "partial" as const, floor: new Map([[asset.id, units(600)]]) }
    const other: PayingRule = {
      ...plainRule,
      name: "fill",
      kind: "topUp",
      onShort: "partial",
      floor: short.floor,
      from: a,
      levels: [{ party: d, asset, balance: "free", trigger: units(1_000), target: units(1_009) }],
    }
    const subjects = [short, other].flatMap((one) => subjectsOf(one))
    const outcomes = round(subjects, snapshotOf({ a: 1_109, d: 1 }), () => ripe).outcomes
    const paid = outcomes.flatMap(({ judgement: { decision } }) => moves(decision))
    assert.deepStrictEqual(paid, ["a 174 b", "a 74 c", "a 251 d"])
  })

  it("pays all parts or none", () => {
    const none = { ...policy, lines: [{ ...policy.lines[0]!, to: new Set([b.publicKey]) }] }
    assert.match(moves(run(rule, snapshotOf({ a: 1_109 }, { policy: none })))[0]!, /^policy: no policy line/)
    const tight = { ...policy, lines: [{ ...policy.lines[0]!, per24h: units(1_000) }] }
    assert.match(moves(run(rule, snapshotOf({ a: 1_109 }, { policy: tight })))[0]!, /^limit: /)
    const quota = () => ({ limit: 20, used: 19, endsAt: undefined })
    assert.match(moves(run(rule, snapshotOf({ a: 1_109 }, { quota })))[0]!, /^quota: a used 19 of 20 transfers/)
  })
})

describe("a payout", () => {
  const cron = Result.getOrThrow(Cron.parse("30 2 * * *", "Europe/Zurich"))
  const schedule = {
    plans: [{ cron }],
    text: "30 2 * * *",
    location: "Europe/Zurich",
    missed: "once" as const,
    lateMillis: 3_600_000,
  }
  const rule: PayoutRule = {
    ...plainRule,
    name: "fee",
    kind: "payout",
    from: a,
    to: b,
    asset,
    amount: units(40),
    schedule,
  }
  const at = (text: string, more: Partial<Snapshot> = {}) => {
    const time = Date.parse(text)
    return snapshotOf({ a: 1_000 }, { now: time, asOf: BigInt(time - 1_000) * 1_000_000n, ...more })
  }
  const done = (text: string): Memory => ({ ...ripe, episode: Date.parse(text) / 1_000 })
  /** The planned time that a decision stands for, or the reason for silence. */
  const planned = (snapshot: Snapshot, memory: Memory | undefined, one = rule): string => {
    const judged = decide(subjectsOf(one)[0]!, snapshot, memory)
    if (judged.decision._tag === "Hold") return judged.decision.reason
    return new Date((judged.planned ?? 0) * 1_000).toISOString()
  }

  it("owes nothing of the time before it was first looked at", () => {
    const judged = decide(subjectsOf(rule)[0]!, at("2026-01-10T12:00:00Z"), undefined)
    assert.strictEqual(judged.decision._tag === "Hold" && judged.decision.reason, "not_due")
    assert.strictEqual(judged.concluded, Date.parse("2026-01-10T01:30:00Z") / 1_000)
    const blind = decide(subjectsOf(rule)[0]!, { ...at("2026-01-10T12:00:00Z"), asOf: undefined }, undefined)
    assert.isUndefined(blind.concluded, "a look that sees nothing concludes nothing")
    const asBefore = { ...ripe, episode: 0 }
    const after = decide(subjectsOf(rule)[0]!, at("2026-01-10T12:00:00Z"), asBefore)
    assert.strictEqual(after.concluded, judged.concluded, "and the next one owes nothing of the past")
  })

  it("concludes nothing while clock and newest block are apart, whichever of them is wrong", () => {
    const concluded = Date.parse("2026-01-10T01:30:00Z") / 1_000
    const memory = { ...ripe, episode: concluded }
    const skip = { ...rule, schedule: { ...schedule, missed: "skip" as const } }
    const block = at("2026-01-10T12:00:00Z").asOf
    for (const now of ["2026-01-20T12:00:00Z", "2025-12-31T12:00:00Z"]) {
      const judged = decide(subjectsOf(skip)[0]!, { ...at(now), asOf: block }, memory)
      assert.isUndefined(judged.concluded, now)
      assert.strictEqual(judged.decision._tag, "Hold")
    }
  })

  it("names the second of a time that is not at a whole minute", () => {
    const half = { ...schedule, plans: [{ cron: Result.getOrThrow(Cron.parse("0,30 * * * * *", "UTC")) }] }
    const judged = decide(subjectsOf({ ...rule, schedule: half })[0]!, at("2026-01-10T12:00:10Z"), undefined)
    assert.strictEqual(
      judged.decision._tag === "Hold" && judged.decision.detail,
      "next planned for 2026-01-10T12:00:30Z",
    )
    const times = { first: Date.parse("2026-01-10T12:00:00Z"), last: Date.parse("2026-01-10T12:00:30Z") }
    assert.strictEqual(timesText(times), "each time from 2026-01-10T12:00Z to 2026-01-10T12:00:30Z")
  })

  it("pays what is planned next although a fast clock concluded later times", () => {
    const ahead = { ...ripe, episode: Date.parse("2026-01-20T01:30:00Z") / 1_000 }
    const now = at("2026-01-10T12:00:00Z")
    const judged = decide(subjectsOf(rule)[0]!, now, ahead)
    assert.strictEqual(judged.concluded, Math.floor(now.now / 1_000), "all until now is concluded, and nothing later")
    const memory = { ...ripe, episode: judged.concluded ?? 0 }
    const next = decide(subjectsOf(rule)[0]!, at("2026-01-11T01:30:10Z"), memory)
    assert.strictEqual(next.planned, Date.parse("2026-01-11T01:30:00Z") / 1_000)
  })

  it("is made up for by what was signed after it, and else by itself", () => {
    const memory = done("2026-01-09T01:30:00Z")
    const signed = (text: string, one = rule) =>
      decide(subjectsOf(one)[0]!, at("2026-01-10T12:00:00Z", { lastSigned: () => Date.parse(text) }), memory)
    const after = signed("2026-01-10T01:30:00Z")
    assert.deepStrictEqual(after.decision, {
      _tag: "Hold",
      reason: "not_due",
      detail: "a later payment covers it",
    })
    assert.strictEqual(after.concluded, Date.parse("2026-01-10T01:30:00Z") / 1_000)
    assert.strictEqual(signed("2026-01-10T01:29:59Z").decision._tag, "Act")
    const skip = { ...rule, schedule: { ...schedule, missed: "skip" as const, lateMillis: 86_400_000 } }
    assert.strictEqual(signed("2026-01-10T01:31:00Z", skip).decision._tag, "Act", "each for itself")
  })

  it("is due at each skipped time, also for a process that catches up", () => {
    const twice = { ...schedule, plans: [{ cron: Result.getOrThrow(Cron.parse("15,45 2 * * *", "Europe/Zurich")) }] }
    const found = new Set<string>()
    for (let time = Date.parse("2026-03-28T23:00:00Z"); time < Date.parse("2026-03-30T12:00:00Z"); time += 300_000) {
      found.add(new Date(plannedUntil(twice, time)).toISOString().slice(5, 16))
      assert.isAbove(plannedAfter(twice, time), time)
    }
    const times = ["03-28T01:45", "03-29T01:15", "03-29T01:45", "03-30T00:15", "03-30T00:45"]
    assert.deepStrictEqual([...found], times)
    const next = plannedAfter({ ...twice }, Date.parse("2026-03-29T01:20:00Z"))
    assert.strictEqual(new Date(next).toISOString(), "2026-03-29T01:45:00.000Z")
  })

  it("is due once on each local day, clocks changed or not", () => {
    let memory = done("2025-12-31T01:30:00Z")
    let last = ""
    let paid = 0
    for (let time = Date.parse("2026-01-01T00:00:00Z"); time < Date.parse("2027-01-01T00:00:00Z"); time += 600_000) {
      const judged = decide(subjectsOf(rule)[0]!, at(new Date(time).toISOString()), memory)
      if (judged.decision._tag !== "Act") continue
      const instant = new Date((judged.planned ?? 0) * 1_000).toISOString()
      assert.notStrictEqual(instant, last)
      last = instant
      memory = { ...ripe, episode: judged.planned ?? 0 }
      paid++
    }
    assert.strictEqual(paid, 365)
  })

  it("is paid once after an outage, or dropped if the rule says so", () => {
    const after = at("2026-01-10T12:00:00Z")
    assert.strictEqual(planned(after, done("2026-01-05T01:30:00Z")), "2026-01-10T01:30:00.000Z")
    const skip = { ...rule, schedule: { ...schedule, missed: "skip" as const } }
    assert.strictEqual(planned(after, done("2026-01-05T01:30:00Z"), skip), "not_due")
    const soon = at("2026-01-10T02:00:00Z")
    assert.strictEqual(planned(soon, done("2026-01-05T01:30:00Z"), skip), "2026-01-10T01:30:00.000Z")
  })

  it("stays due while something holds it", () => {
    const now = at("2026-01-10T02:00:00Z", { halts: [halted] })
    const judged = decide(subjectsOf(rule)[0]!, now, done("2026-01-09T01:30:00Z"))
    assert.strictEqual(judged.decision._tag === "Hold" && judged.decision.reason, "halted")
    assert.isUndefined(judged.concluded)
  })
})

describe("money that does not suffice for all", () => {
  const funder = plainParty("d", { floor: new Map([[asset.id, units(100)]]) })
  const levels = [a, b, c].map((one, i) => ({
    party: one,
    asset,
    balance: "free" as const,
    trigger: units(100),
    target: units(100 * (i + 1)),
  }))
  const rule: PayingRule = { ...plainRule, name: "fund", kind: "topUp", from: funder, levels, onShort: "partial" }
  const amounts = (rules: ReadonlyArray<PayingRule>, balances: Readonly<Record<string, number>>) =>
    round(rules.flatMap(subjectsOf), snapshotOf(balances), () => ripe).outcomes.flatMap(({ judgement }) =>
      moves(judgement.decision),
    )

  it("is shared in proportion to the needs, above the floor, the highest fee included", () => {
    const balances = { a: 0, b: 0, c: 0, d: 400 }
    const paid = round(subjectsOf(rule), snapshotOf(balances), () => ripe).outcomes.map(({ judgement }) =>
      judgement.decision._tag === "Act" ? (judgement.decision.payments[0]?.amount ?? 0n) : 0n,
    )
    assert.deepStrictEqual(paid, [49n, 99n, 148n])
    assert.isAtMost(Number(paid.reduce<bigint>((sum, n) => sum + n + feeMax(policy.maxFee, n), 0n)), 300)
  })

  it("goes to the others where a share is under the least", () => {
    const min = new Map([[asset.id, units(60)]])
    const [first, ...others] = amounts([{ ...rule, min }], { a: 0, b: 0, c: 0, d: 400 })
    assert.match(first!, /^short: d has 400 and keeps 100/)
    assert.deepStrictEqual(others, ["d 118 b", "d 178 c"])
  })

  it("is not set aside for what the policy does not permit at once", () => {
    const capped = { ...policy, lines: [{ ...policy.lines[0]!, perTransfer: units(50) }] }
    const min = new Map([[asset.id, units(10)]])
    const needs = levels.slice(0, 2).map((level, i) => ({ ...level, target: units(i === 0 ? 1_000 : 50) }))
    const snapshot = snapshotOf({ a: 0, b: 0, d: 202 }, { policy: capped })
    const outcomes = round(subjectsOf({ ...rule, levels: needs, min }), snapshot, () => ripe).outcomes
    assert.deepStrictEqual(
      outcomes.flatMap(({ judgement }) => moves(judgement.decision)),
      ["d 50 a", "d 50 b"],
    )
  })

  it("serves who takes all or nothing in the order of the file", () => {
    const [first, second, third] = amounts([{ ...rule, onShort: "hold" }], { a: 0, b: 0, c: 0, d: 420 })
    assert.deepStrictEqual([first, second], ["d 100 a", "d 200 b"])
    assert.match(third!, /^short: /)
  })

  const other = { symbol: "NIX", id: "cd".repeat(32), decimals: 0 }
  const line = policy.lines[0]!
  const ofTwo: Partial<Snapshot> = {
    policy: { ...policy, lines: [line, { ...line, line: 2, assetId: other.id }] },
    listed: new Map([asset, other].map(({ id }) => [id, { status: "enabled", decimals: 0, quantum: 1n }])),
  }

  it("of one asset takes nothing of another's", () => {
    const [first, second] = levels.slice(0, 2)
    const paid = { ...rule, levels: [first!, { ...second!, asset: other }] }
    const balance: Snapshot["balance"] = (key, id) => {
      if (key !== funder.publicKey) return 0n
      return id === asset.id ? 150n : 1_000n
    }
    const outcomes = round(subjectsOf(paid), snapshotOf({}, { ...ofTwo, balance }), () => ripe).outcomes
    assert.deepStrictEqual(
      outcomes.flatMap(({ judgement }) => moves(judgement.decision)),
      ["d 49 a", "d 200 b"],
    )
  })

  it("is not yielded to payments of another asset", () => {
    const late = { ...rule, priority: 5, levels: [levels[0]!], onShort: "hold" as const }
    const payment = { ...outgoing.payment, fromKey: funder.publicKey, assetId: other.id, amount: units(1_000) }
    const open = [{ ...outgoing, rule: "urgent", state: "reserved" as const, payment }]
    const priorities = new Map([
      ["urgent", 0],
      ["fund", 5],
    ])
    assert.match(moves(run(late, snapshotOf({ a: 0, d: 150 }, { ...ofTwo, open, priorities })))[0]!, /^short: /)
  })

  it("is yielded to rules of a higher priority, which take it whole", () => {
    const urgent = { ...rule, name: "urgent", priority: 0, levels: [levels[2]!] }
    const late = { ...rule, priority: 5, levels: [levels[0]!], onShort: "hold" as const }
    const priorities = new Map([
      ["urgent", 0],
      ["fund", 5],
    ])
    const said = round(
      [late, urgent].flatMap(subjectsOf),
      snapshotOf({ a: 0, c: 0, d: 440 }, { priorities }),
      () => ripe,
    ).outcomes
    assert.deepStrictEqual(moves(said[0]!.judgement.decision), ["d 300 c"])
    assert.match(moves(said[1]!.judgement.decision)[0]!, /^yielded: rules of a higher priority took the funds/)
  })
})
