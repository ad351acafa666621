import type { IntentId } from "../../src/domain/Hex.ts"
import type { Intent } from "../../src/domain/Intent.ts"
import { askedAfter, conclude } from "../../src/rules/conclude.ts"
import type { RuleMemory } from "../../src/rules/RuleMemory.ts"
import { type Outcome, round } from "../../src/rules/round.ts"
import { accountKey, type FundingRequest, networkFee, type Snapshot } from "../../src/rules/Snapshot.ts"
import { intentFor, type Subject, subjectsOf } from "../../src/rules/Subject.ts"
import { answered } from "../support/answered.ts"
import { calmSnapshot } from "../support/Rules.ts"
import { pick, type Random } from "./dice.ts"
import { assets } from "./RandomRule.ts"
import { accountsOf, type RandomTreasury } from "./RandomTreasury.ts"

const dayMillis = 86_400_000
const parameters = {
  feeFactor: { numerator: 1n, denominator: 1_000n },
  feeMaxQuantum: { numerator: 2n, denominator: 1n },
  minQuantum: { numerator: 0n, denominator: 1n },
}
const listed: Snapshot["listed"] = new Map(
  assets.map(({ id, decimals }) => [id, { status: "enabled", decimals, quantum: 1n }]),
)

interface Flight {
  intent: Intent
  readonly executesAt: number
  readonly seenAt: number
}

/** What one tick decided, and on what. */
export interface Ticked {
  readonly snapshot: Snapshot
  readonly outcomes: ReadonlyArray<Outcome>
  readonly memories: ReadonlyMap<string, RuleMemory>
}

const plain = (_: string, value: unknown): unknown => (typeof value === "bigint" ? `${value}n` : value)

/** A decision with its timer, to the byte. */
export const bytesOf = (outcomes: ReadonlyArray<Outcome>): string =>
  outcomes
    .map(({ facts: { subject }, judgement }) => JSON.stringify([subject.rule.name, subject.name, judgement], plain))
    .join("\n")

/** What a process that starts again has of a memory: the columns of a row. */
const fromStore = (memory: RuleMemory): RuleMemory => {
  const { firingSince, observations, lastObservation, episode } = memory
  const row = JSON.stringify([firingSince ?? null, observations, lastObservation.toString(), episode])
  const [since, seen, last, count] = JSON.parse(row) as [number | null, number, string, number]
  const timer = { firingSince: since ?? undefined, observations: seen, lastObservation: BigInt(last) }
  return { ...memory, ...timer, episode: count }
}

/** Accounts on which others deposit and spend, a ledger that executes late, and rules that see all of it late. */
export class WalkWorld {
  now = Date.UTC(2026, 10, 21)
  treasury: RandomTreasury
  /** Base units by account. */
  readonly balances = new Map<string, bigint>()
  asks: ReadonlyArray<FundingRequest> = []
  /** All that was decided: transfers and withdrawals. */
  readonly paid: Array<Intent> = []
  memories = new Map<string, RuleMemory>()
  subjects: ReadonlyArray<Subject>
  readonly #random: Random
  readonly #history: Array<{ readonly at: number; readonly balances: ReadonlyMap<string, bigint> }> = []
  #flights: ReadonlyArray<Flight> = []
  #settled: ReadonlyArray<Intent> = []
  #sequence = 0

  readonly #others: { readonly spare?: string; readonly drain: number }

  /** Others leave the account `spare` alone, and spend `drain` more each time than they deposit. */
  constructor(treasury: RandomTreasury, random: Random, others: { spare?: string; drain: number } = { drain: 0 }) {
    this.treasury = treasury
    this.#random = random
    this.#others = others
    this.subjects = treasury.rules.flatMap(subjectsOf)
    for (const key of accountsOf(treasury)) this.balances.set(key, BigInt(random(12_000)))
    this.#remember(this.now - dayMillis)
  }

  /** Time passes, payments execute, others use the accounts unless it is calm, and all rules are looked at. */
  tick(calm: boolean): Ticked {
    const random = this.#random
    this.wait(1_000 + random(random(3) === 0 ? 1_800_000 : 30_000))
    if (!calm && random(2) === 0) this.#outside()
    const snapshot = answered(this.subjects, this.#snapshot())
    const memories = this.memories
    const outcomes = round(this.subjects, snapshot, (subject) => memories.get(keyOf(subject))).outcomes
    this.#keep(outcomes)
    return { snapshot, outcomes, memories }
  }

  /** Time passes and payments execute, and nobody looks. */
  wait(millis: number): void {
    const until = this.now + millis
    const due = this.#flights.filter(({ executesAt, intent }) => executesAt <= until && intent.settledAt === undefined)
    for (const flight of due.toSorted((a, b) => a.executesAt - b.executesAt)) this.#execute(flight)
    this.now = until
    const over = this.#flights.filter(({ seenAt }) => seenAt <= until)
    this.#flights = this.#flights.filter(({ seenAt }) => seenAt > until)
    const ended = over.map(({ intent }): Intent => ({ ...intent, state: "confirmed", updatedAt: until }))
    this.#settled = [...this.#settled, ...ended].filter(({ updatedAt }) => updatedAt > until - dayMillis)
  }

  /** Payments that are not known to have ended. */
  get open(): ReadonlyArray<Intent> {
    return this.#flights.map(({ intent }) => intent)
  }

  /** Others use the accounts so many times at once. */
  stir(times: number): void {
    for (let i = 0; i < times; i++) this.#outside()
  }

  /** The process starts again: it knows what the store does, and reads its file anew. */
  restart(treasury: RandomTreasury): void {
    this.treasury = treasury
    this.memories = new Map([...this.memories].map(([key, memory]) => [key, fromStore(memory)]))
    this.subjects = treasury.rules.flatMap(subjectsOf)
  }

  #remember(at: number): void {
    this.#history.push({ at, balances: new Map(this.balances) })
    if (this.#history.length > 200) this.#history.splice(0, 100)
  }

  #move(key: string, by: bigint): void {
    this.balances.set(key, (this.balances.get(key) ?? 0n) + by)
  }

  #execute(flight: Flight): void {
    const { payment, command } = flight.intent
    const asset = assets.find(({ id }) => id === payment.assetId)
    if (asset === undefined) throw new Error(`a payment of ${payment.asset}`)
    const fee = command === "transfer" ? (networkFee(this.#snapshot(), asset, payment.amount) ?? 0n) : 0n
    this.#move(accountKey(payment.fromKey, asset.id), -payment.amount - fee)
    this.#move(accountKey(payment.toKey, asset.id), payment.amount)
    this.#remember(flight.executesAt)
    flight.intent = { ...flight.intent, settledAt: BigInt(flight.executesAt) * 1_000_000n }
  }

  /** Others deposit anywhere, and spend from where no payment of ours is under way. */
  #outside(): void {
    const key = pick(this.#random, accountsOf(this.treasury))
    const by = BigInt(this.#random(6_000) - 3_000 - this.#others.drain)
    if (key === this.#others.spare) return
    const busy = this.#flights.some(({ intent: { payment } }) => accountKey(payment.fromKey, payment.assetId) === key)
    const held = this.balances.get(key) ?? 0n
    if (by > 0n || !busy) this.#move(key, by < -held ? -held : by)
    this.#remember(this.now)
  }

  #snapshot(): Snapshot {
    const asOf = this.now - this.#random(20_000)
    const seen = this.#history.findLast(({ at }) => at < asOf)?.balances ?? this.#history[0]?.balances
    const recent = this.paid.filter(({ createdAt }) => createdAt > asOf - dayMillis)
    return {
      ...calmSnapshot,
      now: this.now,
      asOf: BigInt(asOf) * 1_000_000n,
      maxAgeMillis: 30_000,
      balance: (key, assetId) => seen?.get(accountKey(key, assetId)),
      listed,
      parameters,
      open: this.#flights.map(({ intent }) => ({ ...intent, settledAt: undefined })),
      settled: this.#settled,
      requests: this.asks,
      firing: new Set(
        [...this.memories].flatMap(([key, { firingSince }]) => (firingSince === undefined ? [] : [key.split("|")[0]!])),
      ),
      policy: this.treasury.policy,
      signed: ({ from, to, assetId }) =>
        recent
          .filter(({ payment }) => {
            return from.has(payment.fromKey) && to.has(payment.toKey) && payment.assetId === assetId
          })
          .reduce((sum, { payment }) => ({ amount: sum.amount + payment.amount, count: sum.count + 1 }), {
            amount: 0n,
            count: 0,
          }),
    }
  }

  #keep(outcomes: ReadonlyArray<Outcome>): void {
    const kept = new Map(this.memories)
    for (const outcome of outcomes) {
      const { subject } = outcome.facts
      const { memory, notices } = conclude(outcome, kept.get(keyOf(subject)), false)
      for (const notice of notices) this.asks = askedAfter(this.asks, notice, this.now)
      kept.set(keyOf(subject), memory)
      const { decision } = outcome.judgement
      if (decision._tag === "Act") for (const payment of decision.payments) this.#start(subject, payment)
    }
    this.memories = kept
  }

  #start(subject: Subject, payment: Intent["payment"]): void {
    const random = this.#random
    const { policy } = this.treasury
    const sequence = ++this.#sequence
    const own = { id: String(sequence).padStart(64, "0") as IntentId, treasury: "", episode: sequence, detail: "" }
    const intent = { ...intentFor(subject, payment, { ...own, policy, at: this.now }), state: "in_flight" as const }
    const executesAt = this.now + random(random(6) === 0 ? 1_200_000 : 30_000)
    this.#flights = [...this.#flights, { intent, executesAt, seenAt: executesAt + random(60_000) }]
    this.paid.push(intent)
  }
}

export const keyOf = (subject: Subject): string => `${subject.rule.name}|${subject.name}`
