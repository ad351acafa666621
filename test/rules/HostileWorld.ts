import type { IntentId } from "../../src/domain/Hex.ts"
import type { Intent } from "../../src/domain/Intent.ts"
import { receiverKey } from "../../src/rules/Account.ts"
import { askedAfter, conclude } from "../../src/rules/conclude.ts"
import { type Spot, spotsOf } from "../../src/rules/lint/Finding.ts"
import { needRanges } from "../../src/rules/lint/limits.ts"
import { judgePolicy, lineFor, type PeriodUse, type PolicyLine } from "../../src/rules/policy/Policy.ts"
import { levelsOf } from "../../src/rules/Rule.ts"
import type { RuleMemory } from "../../src/rules/RuleMemory.ts"
import { round } from "../../src/rules/round.ts"
import type { FundingRequest, Snapshot } from "../../src/rules/Snapshot.ts"
import { accountKey } from "../../src/rules/Snapshot.ts"
import { intentFor, type Subject } from "../../src/rules/Subject.ts"
import { answered } from "../support/answered.ts"
import { calmSnapshot } from "../support/Rules.ts"
import { pick, type Random } from "./dice.ts"
import { assets } from "./RandomRule.ts"
import type { RandomTreasury } from "./RandomTreasury.ts"

export const dayMillis = 86_400_000
export const maxAgeMillis = 30_000

/** One payment that engine and signer let through. */
export interface Signed {
  readonly line: PolicyLine
  readonly intent: Intent
  /** When it counts from, when the ledger's newest block was, and when it was by our clock. */
  readonly recordedAt: number
  readonly block: number
  readonly at: number
}

/**
 * A gateway that says what it likes: balances, listings, the age of its blocks, the fate of payments.
 * Engine and signer are the real decisions; between them stands what the store would keep.
 */
export class HostileWorld {
  now = Date.UTC(2026, 10, 21)
  /** Transfers and withdrawals. */
  readonly signed: Array<Signed> = []
  asks: ReadonlyArray<FundingRequest> = []
  readonly treasury: RandomTreasury
  readonly #random: Random
  readonly #spots: ReadonlyArray<Spot>
  readonly #memories = new Map<string, RuleMemory>()
  readonly #balances = new Map<string, bigint>()
  #open: ReadonlyArray<Intent> = []
  #settled: ReadonlyArray<Intent> = []
  #blockTime = this.now
  /** When payments executed, by the ledger's clock; what is not in it did not. */
  readonly executedAt = new Map<string, number>()
  #aim: Spot | undefined
  #sequence = 0

  constructor(treasury: RandomTreasury, random: Random) {
    this.treasury = treasury
    this.#random = random
    this.#spots = spotsOf(treasury)
  }

  /** Time passes as the adversary likes it; mostly seconds, so that windows fill, sometimes most of a day. */
  tick(): void {
    const random = this.#random
    const leap = random(60) === 0 ? random(dayMillis) : random(10) === 0 ? random(3_600_000) : 1_000 + random(20_000)
    this.now += leap
    // Now and then a block is older than anything may be, or from the future.
    this.#blockTime = this.now - random(random(8) === 0 ? 90_000 : maxAgeMillis) + (random(10) === 0 ? 40_000 : 0)
    if (random(4) === 0 || this.#aim === undefined) this.#aim = pick(random, this.#spots)
    this.#say(this.#aim)
    this.#settle()
    this.#decide()
  }

  /** Balances that let the rule at which it aims pay as much as its line still permits. */
  #say({ subject, rule }: Spot): void {
    const random = this.#random
    for (const { publicKey } of this.treasury.parties.values()) {
      for (const { id } of assets) {
        if (random(3) === 0) this.#balances.set(accountKey(publicKey, id), pick(random, [0n, 1_000_000n, 5_000n]))
      }
    }
    const { id } = subject.asset
    for (const payer of subject.payers) this.#balances.set(accountKey(payer.publicKey, id), 10_000_000n)
    const spot = this.#spots.find((each) => each.subject === subject)
    const [range] = spot === undefined ? [] : needRanges(spot, this.treasury.policy)
    const [account] = subject.accounts
    if (range === undefined || account === undefined) return
    const line = lineFor(this.treasury.policy, { from: range.from.publicKey, to: receiverKey(range.to), assetId: id })
    if (line === undefined) return
    const left = line.per24h - this.#used(line, this.#blockTime).amount
    const most = left < line.perTransfer && left > 0n ? left : line.perTransfer
    const level = subject.kind === "topUp" || subject.kind === "sweep" ? subject.level : levelsOf(rule)[0]
    const target = level?.target ?? 0n
    const parts = BigInt(subject.kind === "split" ? subject.rule.to.length : 1)
    const at = subject.kind === "topUp" ? target - most : target + most * parts
    this.#balances.set(accountKey(account.party.publicKey, id), at < 0n ? 0n : at)
  }

  #settle(): void {
    const ends = this.#open.filter(() => this.#random(3) > 0)
    this.#open = this.#open.filter((intent) => !ends.includes(intent))
    const fates = ["confirmed", "confirmed", "confirmed", "failed", "abandoned"] as const
    const done = ends.map((intent) => ({
      ...intent,
      state: pick(this.#random, fates),
      settledAt: BigInt(this.#blockTime - this.#random(60_000)) * 1_000_000n,
      updatedAt: this.now,
    }))
    for (const { id, state } of done) {
      const signed = this.signed.find(({ intent }) => intent.id === id)
      if (state === "abandoned" || signed === undefined) continue
      this.executedAt.set(id, Math.max(signed.block + 1, this.#blockTime - this.#random(60_000)))
    }
    this.#settled = [...this.#settled, ...done].filter(({ updatedAt }) => updatedAt > this.now - dayMillis)
  }

  #used({ from, to, assetId }: PolicyLine, blockTime: number): PeriodUse {
    const since = Math.min(this.now, blockTime) - dayMillis
    return this.signed
      .filter((each) => {
        const { payment } = each.intent
        return (
          this.#counts(each, since) && from.has(payment.fromKey) && to.has(payment.toKey) && payment.assetId === assetId
        )
      })
      .reduce((sum, { intent }) => ({ amount: sum.amount + intent.payment.amount, count: sum.count + 1 }), {
        amount: 0n,
        count: 0,
      })
  }

  /** It is open, or was signed or executed within the window. */
  #counts({ recordedAt, intent: { id } }: Signed, since: number): boolean {
    if (this.#open.some((open) => open.id === id)) return true
    return Math.max(recordedAt, this.executedAt.get(id) ?? 0) > since
  }

  #snapshot(): Snapshot {
    const random = this.#random
    const listed = assets.map(({ id, decimals }) => {
      const status = random(30) === 0 ? ("rejected" as const) : ("enabled" as const)
      return [id, { status, decimals, quantum: BigInt(random(3)) }] as const
    })
    return {
      ...calmSnapshot,
      now: this.now,
      asOf: BigInt(this.#blockTime) * 1_000_000n,
      maxAgeMillis,
      balance: (key, assetId) => this.#balances.get(accountKey(key, assetId)),
      listed: new Map(listed),
      parameters: {
        feeFactor: { numerator: BigInt(random(10)), denominator: 1_000n },
        feeMaxQuantum: { numerator: BigInt(random(100)), denominator: 1n },
        minQuantum: { numerator: 0n, denominator: 1n },
      },
      open: this.#open,
      settled: this.#settled,
      requests: this.asks,
      policy: this.treasury.policy,
      signed: (line) => this.#used(line, this.#blockTime),
    }
  }

  #decide(): void {
    const keyOf = (subject: Subject) => `${subject.rule.name}|${subject.name}`
    const subjects = this.#spots.map(({ subject }) => subject)
    const outcomes = round(subjects, answered(subjects, this.#snapshot()), (subject) =>
      this.#memories.get(keyOf(subject)),
    ).outcomes
    for (const outcome of outcomes) {
      const { subject } = outcome.facts
      const { memory, notices } = conclude(outcome, this.#memories.get(keyOf(subject)), false)
      for (const notice of notices) this.asks = askedAfter(this.asks, notice, this.now)
      this.#memories.set(keyOf(subject), memory)
      const { decision } = outcome.judgement
      if (decision._tag === "Act") for (const payment of decision.payments) this.#sign(subject, payment)
    }
  }

  /** What the signer does with it: its own line, its own window, its own clock. */
  #sign(subject: Subject, payment: Intent["payment"]): void {
    const { policy } = this.treasury
    const recordedAt = Math.max(this.#blockTime, this.now)
    const state = pick(this.#random, ["in_flight", "unknown"] as const)
    const sequence = ++this.#sequence
    const own = { id: String(sequence).padStart(64, "0") as IntentId, treasury: "", episode: sequence, detail: "" }
    const intent = { ...intentFor(subject, payment, { ...own, policy, at: this.now }), state }
    const asked = { from: payment.fromKey, to: payment.toKey, assetId: payment.assetId, amount: payment.amount }
    const verdict = judgePolicy(policy, asked, (line) => this.#used(line, this.#blockTime))
    if (!verdict.permitted) return
    this.signed.push({ intent, recordedAt, block: this.#blockTime, at: this.now, line: verdict.line })
    this.#open = [...this.#open, intent]
  }
}

/** Sums of the fullest window: no longer than `millis`, its beginning excluded. */
export const fullest = <A extends Pick<Signed, "intent" | "at">>(
  signed: ReadonlyArray<A>,
  millis: number,
  clock: (each: A) => number,
) =>
  signed.reduce(
    (most, last) => {
      const inside = signed.filter((each) => clock(each) <= clock(last) && clock(each) > clock(last) - millis)
      const amount = inside.reduce((sum, { intent }) => sum + intent.payment.amount, 0n)
      const fees = inside.reduce((sum, { intent }) => sum + intent.feeMax, 0n)
      return {
        amount: amount > most.amount ? amount : most.amount,
        fees: fees > most.fees ? fees : most.fees,
        count: Math.max(most.count, inside.length),
      }
    },
    { amount: 0n, fees: 0n, count: 0 },
  )
