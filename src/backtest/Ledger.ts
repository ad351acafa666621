import type { Payment } from "../domain/Decision.ts"
import type { IntentId } from "../domain/Hex.ts"
import type { Intent } from "../domain/Intent.ts"
import { nanosOf } from "../domain/Time.ts"
import { approvalFor, lineFor } from "../rules/policy/Policy.ts"
import type { Level } from "../rules/Rule.ts"
import { accountKey, transferFee } from "../rules/Snapshot.ts"
import { intentFor, type Subject } from "../rules/Subject.ts"
import type { DecidedPayment, WorldEvent, WorldSettings } from "./World.ts"

/** An open payment: its index among all payments, and the time of its block. */
interface Flight {
  readonly index: number
  readonly dueAt: number
}

type BalanceEvent = Extract<WorldEvent, { kind: "set" | "move" }>

/** Accounts, and the payments between them. */
export type MemoryLedger = ReturnType<typeof makeLedger>

/** Time of the block that includes a payment signed at `at`: never `at` itself. */
export const blockAfter = (at: number, { settlesMillis }: Pick<WorldSettings, "settlesMillis">): number =>
  at + Math.max(1, settlesMillis)

export const makeLedger = (settings: WorldSettings) => {
  const { policy, parameters, assets } = settings
  const holdings = new Map<string, Holding>()
  const payments: Array<DecidedPayment> = []
  let flights: ReadonlyArray<Flight> = []
  let unsigned: ReadonlyArray<number> = []
  let settled: Array<Intent> = []
  const holding = (key: string): Holding => {
    const known = holdings.get(key)
    if (known !== undefined) return known
    const made = emptyHolding(key)
    holdings.set(key, made)
    return made
  }
  const move = (party: string, asset: string, by: bigint, at: number): Holding => {
    const moved = holding(accountKey(party, asset))
    moved.free += by
    moved.known = true
    measure(moved, at)
    return moved
  }
  /** Moves the amount and the fee. Returns the fee; undefined if the payer cannot pay both. */
  const transfer = ({ payment, command }: Intent, at: number): bigint | undefined => {
    const quantum = assets.get(payment.assetId)?.quantum ?? 0n
    const fee =
      command === "withdraw" || parameters === undefined ? 0n : transferFee(parameters, quantum, payment.amount)
    const payer = holding(accountKey(payment.fromKey, payment.assetId))
    if (payer.free < payment.amount + fee) return undefined
    move(payment.fromKey, payment.assetId, -payment.amount - fee, at)
    if (command !== "withdraw") move(payment.toKey, payment.assetId, payment.amount, at)
    return fee
  }
  const update = (id: IntentId, change: Partial<DecidedPayment>, intent: Partial<Intent>): DecidedPayment => {
    const index = Number(id) - 1
    const before = payments[index]!
    const after: DecidedPayment = { ...before, ...change, intent: { ...before.intent, ...intent } }
    payments[index] = after
    return after
  }
  const settleOne = ({ index, dueAt }: Flight): DecidedPayment => {
    const { intent } = payments[index]!
    const fee = transfer(intent, dueAt)
    const state = fee === undefined ? "failed" : "confirmed"
    const settledAt = nanosOf(dueAt)
    const after = update(intent.id, { state }, { state, fee, settledAt, updatedAt: dueAt })
    settled.push(after.intent)
    return after
  }
  const sign = (id: IntentId, at: number): DecidedPayment => {
    const index = Number(id) - 1
    unsigned = unsigned.filter((one) => one !== index)
    flights = [...flights, { index, dueAt: blockAfter(at, settings) }]
    return update(id, { state: "open", signedAt: at }, { state: "in_flight", updatedAt: at })
  }
  return {
    holdings: holdings as ReadonlyMap<string, Holding>,
    /** Returns the account; a new one is created. */
    holding,
    payments: payments as ReadonlyArray<DecidedPayment>,
    sign,
    byId: (id: IntentId): DecidedPayment => payments[Number(id) - 1]!,
    reserve: (id: IntentId, at: number, detail: string): DecidedPayment =>
      update(id, { state: "waiting" }, { state: "reserved", detail, updatedAt: at }),
    /** Ends a payment that was never signed. */
    drop: (id: IntentId, state: "rejected" | "denied", at: number, detail: string): DecidedPayment => {
      unsigned = unsigned.filter((one) => one !== Number(id) - 1)
      const dropped = update(id, { state }, { state, detail, updatedAt: at })
      settled.push(dropped.intent)
      return dropped
    },
    change: (event: BalanceEvent): Holding => {
      const changed = holding(event.account)
      if (event.kind === "move") {
        changed.free += event.free
        changed.beside += event.beside
      } else {
        if (event.free !== undefined) changed.free = event.free
        if (event.beside !== undefined) changed.beside = event.beside
      }
      changed.known = true
      measure(changed, event.at)
      return changed
    },
    /** Records the decided payment, and signs it at once if it needs no approval. */
    pay: (
      subject: Subject,
      payment: Payment,
      { at, detail, episode }: { readonly at: number; readonly detail: string; readonly episode: number },
    ): DecidedPayment => {
      const id = `${payments.length + 1}` as IntentId
      const intent: Intent = {
        ...intentFor(subject, payment, { id, treasury: "", episode, detail, policy, at }),
        state: "awaiting_approval",
      }
      const { fromKey: from, toKey: to, assetId, amount } = payment
      const line = lineFor(policy, { from, to, assetId })
      const group = approvalFor(line, amount)
      const decided: DecidedPayment = {
        rule: intent.rule,
        subject: intent.subject,
        at,
        state: "waiting",
        signedAt: undefined,
        group,
        intent,
        line: line?.line ?? 0,
      }
      unsigned = [...unsigned, payments.length]
      payments.push(decided)
      return group === undefined ? sign(intent.id, at) : decided
    },
    /** Time of the next block with a payment; infinite if none is open. */
    nextBlock: () => flights[0]?.dueAt ?? Number.POSITIVE_INFINITY,
    /** Settles the payments whose block has come, and returns them. */
    settle: (now: number): ReadonlyArray<DecidedPayment> => {
      const due = flights.filter(({ dueAt }) => dueAt <= now)
      if (due.length === 0) return []
      flights = flights.filter(({ dueAt }) => dueAt > now)
      return due.map(settleOne)
    },
    open: (): ReadonlyArray<Intent> =>
      [...unsigned, ...flights.map(({ index }) => index)].map((index) => payments[index]!.intent),
    /** Final payments that ended after `since`, which may only grow from call to call. */
    settledSince: (since: number): ReadonlyArray<Intent> => {
      const first = settled.findIndex(({ updatedAt }) => updatedAt > since)
      if (first !== 0) settled = first < 0 ? [] : settled.slice(first)
      return settled
    },
  }
}

/** How long, and how often, a balance was outside a band. */
interface Outside {
  readonly band: Band
  readonly rule: string
  /** Unix milliseconds; undefined while it is within. */
  since: number | undefined
  millis: number
  times: number
}

/** One account: its balance, and what the rules see of it. */
export interface Holding {
  readonly key: string
  /** Negative where the past spent more than the rules paid in. */
  free: bigint
  beside: bigint
  known: boolean
  /** As the rules see it. */
  seen: { readonly free: bigint; readonly total: bigint } | undefined
  lowest: { readonly free: bigint; readonly at: number } | undefined
  highest: { readonly free: bigint; readonly at: number } | undefined
  readonly outside: Array<Outside>
}

const emptyHolding = (key: string): Holding => ({
  key,
  free: 0n,
  beside: 0n,
  known: false,
  seen: undefined,
  lowest: undefined,
  highest: undefined,
  outside: [],
})

const positive = (units: bigint): bigint => (units < 0n ? 0n : units)

export const seenOf = ({ free: units, beside }: Holding): { readonly free: bigint; readonly total: bigint } => {
  const free = positive(units)
  return { free, total: free + positive(beside) }
}

/** Shows the present balance to the rules. */
export const reveal = (holding: Holding): void => {
  if (holding.known) holding.seen = seenOf(holding)
}

/** Updates extremes and times outside the bands after a change. */
const measure = (holding: Holding, at: number): void => {
  const { free, lowest, highest } = holding
  if (lowest === undefined || free < lowest.free) holding.lowest = { free, at }
  if (highest === undefined || free > highest.free) holding.highest = { free, at }
  for (const outside of holding.outside) {
    const balance = outside.band.level.balance === "free" ? free : free + holding.beside
    const isOut = !isWithin(outside.band, balance)
    if (isOut && outside.since === undefined) {
      outside.since = at
      outside.times++
    } else if (!isOut && outside.since !== undefined) {
      outside.millis += at - outside.since
      outside.since = undefined
    }
  }
}

/** Adds the time of balances that are still outside. */
export const endMeasure = (holding: Holding, at: number): void => {
  for (const outside of holding.outside) {
    if (outside.since === undefined) continue
    outside.millis += at - outside.since
    outside.since = at
  }
}

/** The balances at which a subject has no need, both ends included. */
export interface Band {
  readonly level: Level
  readonly least: bigint | undefined
  readonly most: bigint | undefined
}

/** The band of a subject whose need follows from one balance alone; undefined for all others. */
export const bandOf = (subject: Subject): Band | undefined => {
  switch (subject.kind) {
    case "topUp":
      return { level: subject.level, least: subject.level.trigger, most: undefined }
    case "request":
      return { level: subject.rule.level, least: subject.rule.level.trigger, most: undefined }
    case "sweep":
      return { level: subject.level, least: undefined, most: subject.level.trigger }
    case "split":
    case "withdraw":
      return { level: subject.rule.level, least: undefined, most: subject.rule.level.trigger }
    default:
      return undefined
  }
}

export const isWithin = ({ least, most }: Band, balance: bigint): boolean =>
  (least === undefined || balance >= least) && (most === undefined || balance <= most)
