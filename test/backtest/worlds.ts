import { Cron, Result } from "effect"
import type { WorldEvent, WorldSettings } from "../../src/backtest/World.ts"
import { baseUnits } from "../../src/domain/Amount.ts"
import type { AssetStatusWord } from "../../src/domain/Asset.ts"
import type { PublicKey } from "../../src/domain/Hex.ts"
import type { Party, RuleAccount } from "../../src/rules/Account.ts"
import type { AlertRule, Condition } from "../../src/rules/Condition.ts"
import type { Level, PayingRule, Rule } from "../../src/rules/Rule.ts"
import type { Hours } from "../../src/rules/Schedule.ts"
import { accountKey } from "../../src/rules/Snapshot.ts"
import { plainRule } from "../support/Rules.ts"

const minute = 60_000
const hour = 60 * minute
export const start = Date.parse("2026-03-02T06:50:00Z")

/** Repeatable numbers below a bound. */
export const randomOf = (seed: number) => {
  let state = (seed * 2_654_435_761) >>> 0
  return (bound: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * bound)
  }
}

const asset = { symbol: "TOK", id: "ab".repeat(32), decimals: 2 }
const units = (n: number) => baseUnits(BigInt(n) * 100n)
const party = (name: string, floor = 0): Party => ({
  name,
  publicKey: name.padEnd(64, "0") as PublicKey,
  signer: { sandbox: name },
  floor: new Map(floor === 0 ? [] : [[asset.id, units(floor)]]),
  transfersKept: floor === 0 ? 0 : 2,
})
const reserve = party("reserve", 5_000)
const cold = party("cold")
const hots = ["hot1", "hot2", "hot3", "hot4"].map((name) => party(name))
const all = [reserve, cold, ...hots]
const level = (of: Party, trigger: number, target: number, balance: Level["balance"] = "free"): Level => ({
  party: of,
  asset,
  balance,
  trigger: units(trigger),
  target: units(target),
})

type Random = (bound: number) => number

const base = (random: Random, name: string) => {
  const desk: Hours = {
    name: "desk",
    weekdays: new Set([1, 2, 3, 4, 5]),
    spans: [{ from: 8 * 60 + random(60), until: 9 * 60 + random(240) }],
    location: "Europe/Zurich",
  }
  const from = start + random(5 * hour)
  return {
    ...plainRule,
    name,
    forMillis: random(4) * 17_500,
    cooldownMillis: [0, 90_000, 20 * minute][random(3)]!,
    settleMillis: [0, 2_500][random(2)]!,
    maxAgeMillis: [undefined, 45_000][random(2)],
    min: new Map([[asset.id, units(random(2) * 50)]]),
    floor: new Map([[asset.id, units(random(3) * 3_000)]]),
    priority: random(3),
    onShort: random(2) === 0 ? ("partial" as const) : ("hold" as const),
    onNoData: random(5) === 0 ? ("zero" as const) : ("hold" as const),
    during: random(4) === 0 ? desk : undefined,
    maintenance: random(4) === 0 ? [{ name: "works", from, until: from + random(40 * minute) + 1 }] : [],
  }
}

const rulesOf = (random: Random): ReadonlyArray<Rule> => {
  const cron = Cron.parse(["*/7 * * * *", "30 */2 * * * *", "0 * * * *"][random(3)]!, "Europe/Zurich")
  const rules: Array<PayingRule> = [
    { ...base(random, "keep"), kind: "topUp", from: reserve, levels: hots.map((hot) => level(hot, 1_000, 2_500)) },
    {
      ...base(random, "collect"),
      kind: "sweep",
      to: reserve,
      levels: hots.slice(0, 3).map((hot) => level(hot, 6_000, 3_000, random(2) === 0 ? "free" : "total")),
      inhibitedBy: random(2) === 0 ? ["keep"] : [],
    },
    { ...base(random, "ask"), kind: "request", from: cold, level: level(reserve, 12_000, 20_000) },
    {
      ...base(random, "fee"),
      kind: "payout",
      from: reserve,
      to: cold,
      asset,
      amount: units(40),
      schedule: {
        plans: [{ cron: Result.getOrThrow(cron) }],
        lateMillis: 3_600_000,
        text: "",
        location: "Europe/Zurich",
        missed: random(2) === 0 ? "once" : "skip",
      },
    },
    {
      ...base(random, "even"),
      kind: "rebalance",
      asset,
      balance: "free",
      weights: [
        { party: hots[2]!, weight: 60n },
        { party: hots[3]!, weight: 40n },
      ],
      tolerance: { numerator: 20n, denominator: 100n },
    },
    {
      ...base(random, "share"),
      kind: "split",
      level: level(hots[0]!, 7_000, 5_500),
      to: [
        { party: cold, weight: 1n },
        { party: hots[1]!, weight: 2n },
      ],
    },
  ]
  const kept = rules.filter(() => random(4) > 0)
  return [...kept, { kind: "notify", name: "news", asset: "any", becomes: ["enabled", "rejected"] }]
}

/** Rules that tell people of conditions of every kind, and rules that wait for one of them. */
const alertsOf = (random: Random): ReadonlyArray<AlertRule> => {
  const account = (of: Party): RuleAccount => ({ party: of, asset, balance: random(3) === 0 ? "total" : "free" })
  const some = () => account(all[random(all.length)]!)
  const side = () => (random(2) === 0 ? ("below" as const) : ("above" as const))
  const plain = (dice: number): Condition => {
    const overMillis = [minute, 10 * minute, hour][random(3)]! + random(3) * 777
    const longerThanMillis = random(3) * minute + random(2_000)
    const numerator = BigInt(random(60) - 30)
    const by = [
      { _tag: "Units" as const, units: BigInt(random(400_000) - 200_000) },
      { _tag: "Share" as const, numerator, denominator: 100n },
    ]
    const conditions: ReadonlyArray<() => Condition> = [
      () => ({ _tag: "Balance", account: some(), side: side(), units: units(random(8_000)) }),
      () => ({ _tag: "Change", account: some(), overMillis, side: side(), by: by[random(2)]! }),
      () => ({ _tag: "Rate", account: some(), overMillis, side: side(), units: BigInt(random(400_000) - 200_000) }),
      () => ({ _tag: "Asset", asset, is: new Set(random(2) === 0 ? ["enabled" as const] : ["rejected" as const]) }),
      () => ({
        _tag: "Stale",
        party: random(2) === 0 ? hots[random(4)] : undefined,
        asset: random(2) === 0 ? asset : undefined,
        longerThanMillis,
      }),
      () => ({
        _tag: "Held",
        rule: ["keep", "collect", "ask", "even", "alert-0"][random(5)]!,
        reason: random(2) === 0 ? undefined : "cooldown",
        longerThanMillis,
      }),
    ]
    return conditions[dice]!()
  }
  const condition = (): Condition => {
    const dice = random(9)
    if (dice < 6) return plain(dice)
    if (dice === 6) return { _tag: "Not", of: plain(random(6)) }
    return { _tag: dice === 7 ? "All" : "Any", of: [plain(random(6)), plain(random(6))] }
  }
  return Array.from({ length: 8 }, (_, i) => ({
    kind: "alert",
    name: `alert-${i}`,
    when: i < 6 ? plain(i) : condition(),
    clear: random(3) === 0 ? condition() : undefined,
    severity: "page",
    forMillis: [0, 1_500, 3 * minute][random(3)]!,
    cooldownMillis: [0, 30 * minute][random(2)]!,
    during: base(random, "").during,
  }))
}

const keys = (parties: ReadonlyArray<Party>) => new Set(parties.map(({ publicKey }) => publicKey))

const settingsOf = (random: Random): WorldSettings => {
  const line = {
    assetId: asset.id,
    perTransfer: units(3_000),
    per24h: units(6_000 + random(30_000)),
    transfersPer24h: 30,
  }
  return {
    rules: rulesOf(random),
    policy: {
      digest: "",
      hash: "",
      maxFee: { numerator: 2n, denominator: 1_000n },
      lines: [
        { ...line, line: 1, from: keys([reserve]), to: keys(hots) },
        { ...line, line: 2, from: keys(hots), to: keys(all), transfersPer24h: 3 + random(20) },
        { ...line, line: 3, from: keys([reserve]), to: keys([cold]) },
      ],
    },
    maxAgeMillis: 30_000,
    start,
    assets: new Map([[asset.id, { decimals: asset.decimals, quantum: 1n }]]),
    parameters:
      random(3) === 0
        ? undefined
        : {
            feeFactor: { numerator: 1n, denominator: 1_000n },
            feeMaxQuantum: { numerator: 10n ** 9n, denominator: 1n },
            minQuantum: { numerator: 0n, denominator: 1n },
          },
    settlesMillis: [0, 1_000, 2_300, 90_000][random(4)]!,
    quota: random(2) === 0 ? undefined : { limit: 3 + random(8), epochMillis: [13 * minute, 2 * hour][random(2)]! },
  }
}

/** Lines that ask people, who sign after a while, by hand or never. */
const withApprovals = (random: Random, settings: WorldSettings): WorldSettings => {
  const of = new Map(["ana", "ben", "chloe"].map((name) => [name, name.padEnd(64, "0")]))
  const group = { name: "desk", need: 1 + random(3), withinMillis: (1 + random(90)) * minute + random(1_000), of }
  const lines = settings.policy.lines.map((line) =>
    random(2) === 0 ? line : { ...line, approval: { group, above: units(random(2_000)) } },
  )
  const approvedAfterMillis = [undefined, 0, 7 * minute + 333, 40 * minute][random(4)]
  return { ...settings, policy: { ...settings.policy, lines }, approvedAfterMillis }
}

const answersOf = (random: Random, until: number): ReadonlyArray<WorldEvent> => {
  const events: Array<WorldEvent> = []
  const place = { file: "", line: 0, column: 0 }
  for (let at = start; at < until; at += random(20 * minute) + random(2) * 501) {
    const by = ["ana", "ben", "chloe"].slice(random(2), 1 + random(3))
    const kind = random(8) === 0 ? "reject" : "approve"
    events.push({ kind, at, by: kind === "reject" ? [] : by, matcher: { text: "" }, place })
  }
  return events
}

const statuses: ReadonlyArray<AssetStatusWord | undefined> = ["enabled", "enabled", "rejected", undefined]

const soon = (random: Random, at: number): number => at + 1_000 + random(4 * minute)

const eventsOf = (random: Random, at: number): ReadonlyArray<WorldEvent> => {
  const of = all[random(all.length)]!
  const account = accountKey(of.publicKey, asset.id)
  const dice = random(100)
  if (dice < 55) {
    const free = BigInt(random(420_000) - 230_000)
    return [{ kind: "move", at, account, free, beside: BigInt(random(4) === 0 ? random(90_000) - 40_000 : 0) }]
  }
  if (dice < 90) return [{ kind: "set", at, account, free: BigInt(random(of === reserve ? 3_000_000 : 700_000)) }]
  const end = soon(random, at)
  if (dice < 94)
    return [
      { kind: "gateway", at, answers: false },
      { kind: "gateway", at: end, answers: true },
    ]
  if (dice < 96) {
    const status = statuses[random(statuses.length)]
    return [
      { kind: "asset", at, id: asset.id, status },
      { kind: "asset", at: end, id: asset.id, status: "enabled" },
    ]
  }
  if (dice < 98)
    return [
      { kind: "halt", at, reason: "operator" },
      { kind: "resume", at: end, scope: "all" },
    ]
  const scope = ["all", "party:hot1", "rule:keep", "asset:TOK"][random(4)]!
  if (random(2) === 0) return [{ kind: "pause", at, scope, reason: "a person", forMillis: end - at }]
  return [
    { kind: "pause", at, scope, reason: "a person" },
    { kind: "resume", at: end, scope },
  ]
}

/** A treasury, a network and what happens to them for some hours. */
export const worldOf = (seed: number, hours: number) => {
  const random = randomOf(seed)
  const { rules, ...plain } = settingsOf(random)
  const alerts = alertsOf(randomOf(seed + 10_000))
  const settings = {
    ...plain,
    rules: [
      ...rules.map((rule) =>
        rule.kind === "sweep" ? { ...rule, inhibitedBy: [...rule.inhibitedBy, "alert-6"] } : rule,
      ),
      ...alerts,
    ],
  } satisfies WorldSettings
  const until = start + hours * hour
  const events: Array<WorldEvent> = all
    .filter(() => random(8) > 0)
    .map((one) => {
      const free = BigInt(random(one === reserve ? 4_000_000 : 800_000))
      return { kind: "set", at: start, account: accountKey(one.publicKey, asset.id), free }
    })
  // Quiet hours and busy minutes, at odd milliseconds too.
  for (let at = start; at < until; at += random(random(6) === 0 ? 40 * minute : 90_000) + random(3) * 501) {
    events.push(...eventsOf(random, at))
  }
  const people = randomOf(seed + 20_000)
  if (people(2) === 0) return { settings, until, events: events.toSorted((a, b) => a.at - b.at) }
  events.push(...answersOf(people, until))
  return { settings: withApprovals(people, settings), until, events: events.toSorted((a, b) => a.at - b.at) }
}
