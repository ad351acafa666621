import { assert, describe, it } from "@effect/vitest"
import { type BaseUnits, baseUnits } from "../../src/domain/Amount.ts"
import { type HoldReason, holdReasons } from "../../src/domain/Decision.ts"
import type { IntentId, PublicKey } from "../../src/domain/Hex.ts"
import type { Intent, IntentState } from "../../src/domain/Intent.ts"
import type { Party } from "../../src/rules/Account.ts"
import { decide } from "../../src/rules/checks/decide.ts"
import type { Policy } from "../../src/rules/policy/Policy.ts"
import type { Level, TopUpRule } from "../../src/rules/Rule.ts"
import { type Snapshot, transferParametersOf } from "../../src/rules/Snapshot.ts"
import { subjectsOf } from "../../src/rules/Subject.ts"
import type { Timer } from "../../src/rules/SubjectFacts.ts"
import { intentOf } from "../support/Payments.ts"
import { calmSnapshot, halted, plainParty, plainRule } from "../support/Rules.ts"

const now = 1_800_000_000_000
const asset = { symbol: "TOK", id: "ab".repeat(32), decimals: 0 }
const units = (n: bigint): BaseUnits => baseUnits(n)
const hot = plainParty("hot")
const reserve = plainParty("reserve")

/** All that a reason can be made of; each row of the table spoils one part of it. */
interface World {
  readonly rule: TopUpRule
  readonly level: Level
  readonly snapshot: Snapshot
  readonly timer: Timer
}

const intent = (state: IntentState, more: Partial<Intent> = {}): Intent =>
  intentOf("1", {
    id: state.padEnd(64, "0") as IntentId,
    subject: "hot/TOK",
    payment: {
      from: "reserve",
      fromKey: reserve.publicKey,
      to: "hot",
      toKey: hot.publicKey,
      asset: "TOK",
      assetId: asset.id,
      amount: units(1n),
    },
    decimals: 0,
    feeMax: 0n,
    state,
    detail: "",
    createdAt: now - 100_000,
    updatedAt: now - 100_000,
    ...more,
  })

const policyOf = (per24h: bigint, to: Party, share: bigint): Policy => ({
  digest: "",
  hash: "",
  maxFee: { numerator: share, denominator: 1_000n },
  lines: [
    {
      line: 1,
      from: new Set([reserve.publicKey]),
      to: new Set([to.publicKey]),
      assetId: asset.id,
      perTransfer: units(1_000_000n),
      per24h: units(per24h),
      transfersPer24h: 9,
    },
  ],
})

const level: Level = { party: hot, asset, balance: "free", trigger: units(1_000n), target: units(2_000n) }
const calm: World = {
  rule: {
    ...plainRule,
    kind: "topUp",
    name: "keep",
    from: reserve,
    levels: [level],
    forMillis: 10_000,
    cooldownMillis: 60_000,
  },
  level,
  timer: { firingSince: now - 20_000, observations: 3, lastObservation: 0n },
  snapshot: {
    ...calmSnapshot,
    now,
    asOf: BigInt(now - 1_000) * 1_000_000n,
    maxAgeMillis: 30_000,
    balance: (key) => (key === hot.publicKey ? 500n : 1_000_000n),
    listed: new Map([[asset.id, { status: "enabled", decimals: 0, quantum: 1_000n }]]),
    parameters: transferParametersOf(
      new Map([
        ["transfer.fee.factor", "0.001"],
        ["transfer.fee.maxQuantumAmount", "1"],
        ["transfer.minTransferQuantumMultiple", "0"],
      ]),
    ),
    policy: policyOf(1_000_000n, hot, 2n),
  },
}

const seen = (world: World, change: Partial<Snapshot>): World => ({
  ...world,
  snapshot: { ...world.snapshot, ...change },
})
const ruled = (world: World, change: Partial<TopUpRule>): World => ({ ...world, rule: { ...world.rule, ...change } })
const balances = (world: World, key: string, value: bigint | undefined): World => {
  const { balance } = world.snapshot
  return seen(world, { balance: (party, id, kind) => (party === key ? value : balance(party, id, kind)) })
}

/** Their end is looked for once, days ahead: all worlds share them. */
const never = { name: "never", weekdays: new Set<number>(), spans: [], location: "UTC" }

/** What makes each reason true, whatever else is. Those that cannot be true together are named beside it. */
const spoilers: ReadonlyArray<readonly [HoldReason, (world: World) => World, ReadonlyArray<HoldReason>?]> = [
  ["halted", (w) => seen(w, { halts: [halted] })],
  ["paused", (w) => seen(w, { pauses: [...w.snapshot.pauses, { scope: "rule:keep", reason: "x" }] })],
  ["maintenance", (w) => ruled(w, { maintenance: [{ name: "audit", from: now - 1, until: now + 1 }] })],
  ["outside_hours", (w) => ruled(w, { during: never })],
  ["locked", (w) => seen(w, { pauses: [...w.snapshot.pauses, { scope: "lock:keep", reason: "it failed 3 times" }] })],
  ["inhibited", (w) => ruled(seen(w, { firing: new Set(["alarm"]) }), { inhibitedBy: ["alarm"] })],
  ["no_data", (w) => balances(w, hot.publicKey, undefined), ["in_band"]],
  ["stale", (w) => seen(w, { maxAgeMillis: 10 })],
  ["catching_up", (w) => seen(w, { catchingUp: "not yet compared" })],
  ["disagreement", (w) => seen(w, { disagreement: "b shows other balances" })],
  ["drift", (w) => seen(w, { drift: (key) => (key === reserve.publicKey ? "they differ" : undefined) })],
  ["chain_unsettled", (w) => seen(w, { chainUnsettled: "the difficulty changed" })],
  ["in_band", (w) => balances(w, hot.publicKey, 1_500n), ["no_data"]],
  ["pending", (w) => ({ ...w, timer: { ...w.timer, firingSince: now - 1_000 } })],
  ["in_flight", (w) => seen(w, { open: [...w.snapshot.open, intent("in_flight")] })],
  [
    "settling",
    (w) =>
      seen(w, {
        settled: [
          ...w.snapshot.settled,
          intent("confirmed", { rule: "other", settledAt: w.snapshot.asOf, updatedAt: now - 90_000 }),
        ],
      }),
  ],
  ["cooldown", (w) => seen(w, { settled: [...w.snapshot.settled, intent("confirmed", { updatedAt: now - 59_000 })] })],
  ["unresolved", (w) => seen(w, { open: [...w.snapshot.open, intent("manual")] })],
  ["awaiting_approval", (w) => seen(w, { open: [...w.snapshot.open, intent("awaiting_approval")] })],
  ["too_small", (w) => ({ ...w, rule: { ...w.rule, min: new Map([[asset.id, units(5_000n)]]) } })],
  ["asset_status", (w) => seen(w, { listed: new Map() }), ["fee"]],
  ["policy", (w) => seen(w, { policy: { ...w.snapshot.policy, lines: [] } }), ["limit"]],
  ["limit", (w) => seen(w, { signed: () => ({ amount: 999_999n, count: 1 }) }), ["policy"]],
  ["quota", (w) => seen(w, { quota: () => ({ limit: 20, used: 20, endsAt: undefined }) })],
  ["fee", (w) => seen(w, { policy: { ...w.snapshot.policy, maxFee: { numerator: 0n, denominator: 1n } } })],
  ["short", (w) => balances(w, reserve.publicKey, 100n)],
  [
    "yielded",
    (w) => {
      const payment = { ...intent("proposed").payment, toKey: "f".repeat(64) as PublicKey, amount: units(999_000n) }
      const earlier = intent("proposed", { rule: "first", payment })
      return ruled(seen(w, { open: [...w.snapshot.open, earlier], priorities: new Map([["first", 0]]) }), {})
    },
    ["short", "quota"],
  ],
]

const reasonOf = ({ rule, level, snapshot, timer }: World): string => {
  const [subject] = subjectsOf({ ...rule, levels: [level] })
  const { decision } = decide(subject!, snapshot, { ...timer, episode: 1 })
  return decision._tag === "Hold" ? decision.reason : "act"
}

const pairs = spoilers.flatMap(([first, spoil, apart = []], i) =>
  spoilers
    .slice(i + 1)
    .filter(([second, , also = []]) => !apart.includes(second) && !also.includes(first))
    .map(([second, spoilToo]) => ({ first, second, world: spoilToo(spoil(calm)) })),
)

describe("the reasons for silence", () => {
  it("are none where nothing is spoilt, and each one where its part alone is", () => {
    assert.strictEqual(reasonOf(calm), "act")
    for (const [reason, spoil] of spoilers) assert.strictEqual(reasonOf(spoil(calm)), reason)
  })

  it("stand in the order in which they are declared", () => {
    const order = spoilers.map(([reason]) => holdReasons.indexOf(reason))
    assert.deepStrictEqual(
      order,
      [...order].sort((a, b) => a - b),
    )
    assert.notInclude(order, -1)
  })

  it.each(pairs)("say $first before $second", ({ first, world }) => {
    assert.strictEqual(reasonOf(world), first)
  })
})
