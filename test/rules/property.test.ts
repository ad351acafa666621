import { assert, describe, it } from "@effect/vitest"
import { type BaseUnits, baseUnits } from "../../src/domain/Amount.ts"
import type { IntentId, PublicKey } from "../../src/domain/Hex.ts"
import type { Intent } from "../../src/domain/Intent.ts"
import type { Memory } from "../../src/rules/Look.ts"
import { feeMax, type Policy } from "../../src/rules/Policy.ts"
import type { Level, Party, PayingRule } from "../../src/rules/Rule.ts"
import { networkFee, type Snapshot, termsOf } from "../../src/rules/Snapshot.ts"
import { type Subject, subjectsOf } from "../../src/rules/Subject.ts"
import { step } from "../../src/rules/step.ts"
import { intentOf } from "../support/Payments.ts"
import { calmSnapshot, plainRule } from "../support/Rules.ts"

const day = 86_400_000
const asset = { symbol: "TOK", id: "ab".repeat(32), decimals: 0 }
const units = (n: number): BaseUnits => baseUnits(BigInt(n))
const party = (name: string, floor = 0): Party => ({
  name,
  publicKey: name.padEnd(64, "0") as PublicKey,
  signer: { sandbox: name },
  floor: new Map(floor === 0 ? [] : [[asset.id, units(floor)]]),
  transfersKept: 0,
})
const floor = 5_000
const reserve = party("reserve", floor)
const hots = [party("hot1"), party("hot2"), party("hot3")]
const levels = (trigger: number, target: number): ReadonlyArray<Level> =>
  hots.map((hot) => ({ party: hot, asset, balance: "free", trigger: units(trigger), target: units(target) }))
const base = {
  ...plainRule,
  forMillis: 5_000,
  cooldownMillis: 20_000,
  min: new Map([[asset.id, units(10)]]),
}
const rules: ReadonlyArray<PayingRule> = [
  { ...base, kind: "topUp", name: "keep", from: reserve, levels: levels(1_000, 2_500), onShort: "partial" },
  { ...base, kind: "sweep", name: "collect", to: reserve, levels: levels(6_000, 3_000), onShort: "hold" },
]
const line = { line: 1, assetId: asset.id, perTransfer: units(3_000), per24h: units(9_000), transfersPer24h: 7 }
const policy: Policy = {
  digest: "",
  hash: "",
  maxFee: { numerator: 2n, denominator: 1_000n },
  lines: [
    { ...line, from: new Set([reserve.publicKey]), to: new Set(hots.map((hot) => hot.publicKey)) },
    { ...line, line: 2, from: new Set(hots.map((hot) => hot.publicKey)), to: new Set([reserve.publicKey]) },
  ],
}
const terms = termsOf(
  new Map([
    ["transfer.fee.factor", "0.001"],
    ["transfer.fee.maxQuantumAmount", "1000"],
    ["transfer.minTransferQuantumMultiple", "0"],
  ]),
)

/** Repeatable numbers below a bound. */
const randomOf = (seed: number) => {
  let state = seed >>> 0
  return (bound: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * bound)
  }
}

/** A payment on its way: when it executes, and when that is found out. */
interface Flight {
  intent: Intent
  readonly executesAt: number
  readonly seenAt: number
}

/** Accounts that others use too, a ledger that executes late, and a treasury that sees both with a delay. */
class World {
  now = 1_800_000_000_000
  readonly random: (bound: number) => number
  /** True balances, and what they were at each change, oldest first. */
  readonly balances = new Map<string, number>()
  readonly history: Array<{ readonly at: number; readonly balances: ReadonlyMap<string, number> }> = []
  readonly memories = new Map<string, Memory>()
  flights: Array<Flight> = []
  readonly settled: Array<Intent> = []
  readonly signed: Array<Intent> = []
  episodes = 0

  constructor(seed: number) {
    this.random = randomOf(seed)
    this.balances.set(reserve.publicKey, floor + this.random(30_000))
    for (const hot of hots) this.balances.set(hot.publicKey, this.random(8_000))
    this.remember(this.now - 10 * day)
  }

  remember(at: number): void {
    this.history.push({ at, balances: new Map(this.balances) })
  }

  move(key: string, by: number): void {
    this.balances.set(key, (this.balances.get(key) ?? 0) + by)
  }

  /** Time passes: what is due executes or is found out, and others spend and deposit. */
  pass(): void {
    const until = this.now + 1_000 + this.random(this.random(4) === 0 ? 3_600_000 : 20_000)
    const due = this.flights.filter((f) => f.executesAt <= until && f.intent.settledAt === undefined)
    for (const flight of due.sort((a, b) => a.executesAt - b.executesAt)) this.execute(flight)
    this.now = until
    for (const { intent, seenAt } of this.flights) {
      if (seenAt <= until) this.settled.push({ ...intent, state: "confirmed", updatedAt: until })
    }
    this.flights = this.flights.filter((f) => f.seenAt > until)
    const hot = hots[this.random(hots.length)]!.publicKey
    const change = this.random(4_000) - 2_500
    // The bounds of others' spending: a hot account is never spent below what our payment from it may take.
    const kept = this.flights.some((f) => f.intent.payment.fromKey === hot)
    if (!kept && this.random(3) === 0) this.move(hot, Math.max(change, -(this.balances.get(hot) ?? 0)))
    if (this.random(20) === 0) this.move(reserve.publicKey, this.random(6_000))
    this.remember(this.now)
  }

  execute(flight: Flight): void {
    const { payment } = flight.intent
    const fee = Number(networkFee(this.snapshot(), asset, payment.amount) ?? 0n)
    this.move(payment.fromKey, -Number(payment.amount) - fee)
    this.move(payment.toKey, Number(payment.amount))
    this.remember(flight.executesAt)
    flight.intent = { ...flight.intent, settledAt: BigInt(flight.executesAt) * 1_000_000n }
  }

  snapshot(): Snapshot {
    const asOf = this.now - this.random(20_000)
    // Complete strictly below the block: what executed in it is not seen yet.
    const seen = this.history.findLast(({ at }) => at < asOf)
    const since = asOf - day
    return {
      ...calmSnapshot,
      now: this.now,
      asOf: BigInt(asOf) * 1_000_000n,
      maxAgeMillis: 30_000,
      balance: (key) => {
        const value = seen?.balances.get(key)
        return value === undefined ? undefined : BigInt(value)
      },
      listed: new Map([[asset.id, { status: "enabled", decimals: 0, quantum: 1n }]]),
      terms,
      open: this.flights.map(({ intent }) => ({ ...intent, settledAt: undefined })),
      settled: this.settled,
      policy,
      signed: ({ from }) => {
        const used = this.signed.filter((i) => i.createdAt >= since && from.has(i.payment.fromKey))
        return { amount: used.reduce((sum, i) => sum + i.payment.amount, 0n), count: used.length }
      },
    }
  }

  decideAll(): void {
    const keyOf = (subject: Subject) => `${subject.rule.name}|${subject.name}`
    const outcomes = step(rules.flatMap(subjectsOf), this.snapshot(), (subject) => this.memories.get(keyOf(subject)))
    for (const { look, judgement } of outcomes) {
      this.memories.set(keyOf(look.subject), { ...judgement.timer, episode: 1 })
      if (judgement.decision._tag !== "Act") continue
      for (const payment of judgement.decision.payments) this.start(look.subject, payment)
    }
  }

  start(subject: Subject, payment: Intent["payment"]): void {
    const episode = ++this.episodes
    const intent = intentOf("", {
      id: String(episode).padStart(64, "0") as IntentId,
      rule: subject.rule.name,
      subject: subject.name,
      episode,
      payment,
      decimals: 0,
      feeMax: feeMax(policy.maxFee, payment.amount),
      state: this.random(3) === 0 ? "unknown" : "in_flight",
      createdAt: this.now,
      updatedAt: this.now,
    })
    const executesAt = this.now + this.random(this.random(5) === 0 ? 7_200_000 : 30_000)
    this.flights.push({ intent, executesAt, seenAt: executesAt + this.random(60_000) })
    this.signed.push(intent)
  }
}

/** The most that any window of 24 hours holds. */
const fullest = (signed: ReadonlyArray<Intent>) =>
  signed.reduce(
    (most, { createdAt }) => {
      const inside = signed.filter((i) => i.createdAt <= createdAt && i.createdAt > createdAt - day)
      const amount = inside.reduce((sum, i) => sum + Number(i.payment.amount), 0)
      return { amount: Math.max(most.amount, amount), count: Math.max(most.count, inside.length) }
    },
    { amount: 0, count: 0 },
  )

describe("rules over days of late payments", () => {
  it.each(Array.from({ length: 12 }, (_, i) => 4_711 + i))(
    "keep windows and floors and pay each account once at a time (seed %i)",
    (seed) => {
      const world = new World(seed)
      for (let tick = 0; tick < 1_200; tick++) {
        world.pass()
        world.decideAll()
        const inFlight = world.flights.map(({ intent }) => intent.subject)
        assert.strictEqual(new Set(inFlight).size, inFlight.length, `tick ${tick}: ${inFlight.join(", ")}`)
        assert.isAtLeast(world.balances.get(reserve.publicKey) ?? 0, floor, `tick ${tick}`)
        for (const hot of hots) assert.isAtLeast(world.balances.get(hot.publicKey) ?? 0, 0, `tick ${tick}`)
      }
      for (const allowed of policy.lines) {
        const most = fullest(world.signed.filter((i) => allowed.from.has(i.payment.fromKey)))
        assert.isAtMost(most.amount, Number(allowed.per24h))
        assert.isAtMost(most.count, allowed.transfersPer24h)
      }
      assert.isAbove(world.signed.length, 10, "a treasury that pays nothing proves nothing")
    },
  )
})
