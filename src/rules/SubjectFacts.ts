import { formatAmount, formatLevel } from "../domain/Amount.ts"
import type { HoldReason } from "../domain/Decision.ts"
import { type Party, receiverKey, type Share } from "./Account.ts"
import { codeNeed } from "./kinds/code.ts"
import { payoutNeed } from "./kinds/payout.ts"
import { rebalanceNeed } from "./kinds/rebalance.ts"
import type { KindInput, Need, NeededTransfer, WantedNeed } from "./Need.ts"
import { feeMax, feeShare, lineFor } from "./policy/Policy.ts"
import type { Level } from "./Rule.ts"
import { balancesOf, networkFee, networkMinimum, reservedFrom, type Snapshot, withdrawalMinimum } from "./Snapshot.ts"
import { commandOf, type Subject } from "./Subject.ts"

/** Returns the need that the subject's rule kind computes. */
const needOf = ({ subject, snapshot, balances, episode }: KindInput<Subject["kind"]>): Need => {
  const [balance = 0n] = balances
  switch (subject.kind) {
    case "topUp":
      return filled(subject.level, balance, (amount) => [{ from: subject.rule.from, to: subject.level.party, amount }])
    // People are asked to fill it.
    case "request": {
      const { level, from } = subject.rule
      return filled(level, balance, (amount) => [{ from, to: level.party, amount }])
    }
    case "sweep": {
      const { level, rule } = subject
      return emptied(level, balance, (surplus) => [
        { from: level.party, to: rule.to, amount: afterFee(snapshot, level, surplus) },
      ])
    }
    // A withdrawal costs no fee in the network.
    case "withdraw": {
      const { level, to } = subject.rule
      return emptied(level, balance, (amount) => [{ from: level.party, to, amount }])
    }
    // The remainder of rounding stays in the account.
    case "split": {
      const { level, to } = subject.rule
      const whole = to.reduce((sum, { weight }) => sum + weight, 0n)
      return emptied(level, balance, (surplus) =>
        to.map(({ party, weight }) => {
          return { from: level.party, to: party, amount: afterFee(snapshot, level, (surplus * weight) / whole) }
        }),
      )
    }
    case "rebalance":
      return rebalanceNeed({ subject, snapshot, balances, episode })
    case "payout":
      return payoutNeed({ subject, snapshot, balances, episode })
    case "code":
      return codeNeed({ subject, snapshot, balances, episode })
  }
}

type Transfers = (amount: bigint) => ReadonlyArray<NeededTransfer>

const leveled =
  (side: "below" | "above") =>
  ({ asset: { decimals }, trigger, target }: Level, balance: bigint, transfers: Transfers): Need => {
    const [now, level] = [formatAmount(balance, decimals), formatLevel(trigger, decimals)]
    const isWanted = side === "below" ? balance < trigger : balance > trigger
    if (!isWanted) return { _tag: "InBand", detail: `${now} (trigger ${level})` }
    const amount = side === "below" ? target - balance : balance - target
    return { _tag: "Wanted", detail: `${now} is ${side} ${level}`, transfers: transfers(amount) }
  }

/** Below its trigger an account is brought to its target. */
const filled = leveled("below")
/** Above its trigger an account pays what is over its target. */
const emptied = leveled("above")

/** Amount payable from a surplus that also covers the fee. */
const afterFee = (snapshot: Snapshot, { asset }: Level, surplus: bigint): bigint => {
  const fee = networkFee(snapshot, asset, surplus) ?? 0n
  return surplus > fee ? surplus - fee : 0n
}

/** How long, and in how many observations, a condition has been true. Kept across restarts. */
export interface Timer {
  /** Unix milliseconds; undefined while the condition is false. */
  readonly firingSince: number | undefined
  readonly observations: number
  /** Block time of the last observation counted: the same block seen twice counts once. */
  readonly lastObservation: bigint
}

export const idleTimer: Timer = { firingSince: undefined, observations: 0, lastObservation: 0n }

/** A money rule never acts on a single reading. */
export const observationsMin = 2

/** The timer after one more evaluation. */
export const advance = (
  timer: Timer,
  seen: { readonly firing: boolean; readonly now: number; readonly observation: bigint },
): Timer => {
  if (!seen.firing) return { firingSince: undefined, observations: 0, lastObservation: seen.observation }
  if (timer.firingSince === undefined) {
    return { firingSince: seen.now, observations: 1, lastObservation: seen.observation }
  }
  // A beginning later than now comes from a clock that was ahead: it counts from now.
  const firingSince = Math.min(timer.firingSince, seen.now)
  const { observations } = timer
  if (seen.observation <= timer.lastObservation)
    return firingSince === timer.firingSince ? timer : { ...timer, firingSince }
  return { firingSince, observations: observations + 1, lastObservation: seen.observation }
}

/** State of a subject that is kept between two evaluations. */
export interface Memory extends Timer {
  /** Counts the needs; for schedules the planned time (Unix seconds) up to which all is done. */
  readonly episode: number
}

/** Most base units, fee included, that a subject may take from a payer whose funds several needs share. */
export type Allotment = (payer: Party) => bigint | undefined

/** One transfer, limited by the payer's funds. */
export interface Sized {
  readonly transfer: NeededTransfer
  /** Amount to pay if the payer had enough; where parts are paid, at most what the policy permits at once. */
  readonly wanted: bigint
  /** Amount to pay now: `wanted`, or the part that the payer can afford. */
  readonly amount: bigint
  /** True if the payer can pay all of `wanted` with its fee. */
  readonly covered: boolean
  /** Payer's balance above its floors, less open payments; negative if these exceed it. */
  readonly spendable: bigint
  /** The payer's balance as seen; undefined where none ever was. */
  readonly observed: bigint | undefined
}

/** All facts that the decision on one subject depends on. */
export interface SubjectFacts {
  readonly subject: Subject
  readonly snapshot: Snapshot
  readonly memory: Memory | undefined
  readonly allotment: Allotment | undefined
  /** Balances of the subject's accounts in their order; undefined while one of them is not known. */
  readonly balances: ReadonlyArray<bigint> | undefined
  /** Undefined while the balances are. */
  readonly need: Need | undefined
  /** How long the condition has been true, this evaluation included; meaningful only while balances are current. */
  readonly timer: Timer
  /** The transfers as the payers' funds allow them, in the need's order; each sees what the ones before it take. */
  readonly sized: ReadonlyArray<Sized>
}

export const subjectFacts = (
  subject: Subject,
  snapshot: Snapshot,
  memory: Memory | undefined,
  allotment?: Allotment,
): SubjectFacts => {
  const balances = balancesOf(subject, snapshot)
  const need = balances === undefined ? undefined : needOf({ subject, snapshot, balances, episode: memory?.episode })
  const timer = timerAfter(memory ?? idleTimer, need, snapshot.now, snapshot.asOf)
  // No getter: an object that has one of its own is slow to make and slow to read.
  const sized = need?._tag === "Wanted" ? sizesOf({ subject, snapshot, allotment }, need) : nothing
  return { subject, snapshot, memory, allotment, balances, need, timer, sized }
}

/** Facts of a subject that needs exactly this transfer, whatever its balances are. */
export const transferFacts = (subject: Subject, snapshot: Snapshot, transfer: NeededTransfer): SubjectFacts => {
  const need: Need = { _tag: "Wanted", detail: "it is a part of what is paid already", transfers: [transfer] }
  const sized = sizesOf({ subject, snapshot, allotment: undefined }, need)
  const balances = balancesOf(subject, snapshot)
  return { subject, snapshot, memory: undefined, allotment: undefined, balances, need, timer: idleTimer, sized }
}

const nothing: ReadonlyArray<Sized> = []

/** Advances the timer if the need is known. */
const timerAfter = (before: Timer, need: Need | undefined, now: number, asOf: bigint | undefined): Timer =>
  need === undefined || need._tag === "Unanswered" || asOf === undefined
    ? before
    : advance(before, { firing: need._tag === "Wanted", now, observation: asOf })

/** Minimum payment: the rule's or the network's, and at least one base unit. */
export const leastOf = ({ subject: { kind, rule, asset }, snapshot }: SubjectFacts): bigint => {
  const network = kind === "withdraw" ? withdrawalMinimum(snapshot, asset) : networkMinimum(snapshot, asset)
  return [rule.min.get(asset.id) ?? 0n, network, 1n].reduce((a, b) => (a > b ? a : b))
}

/** The share of its payments that the network may take on top. */
export const feeShareOf = ({ subject, snapshot }: Pick<SubjectFacts, "subject" | "snapshot">): Share =>
  feeShare(commandOf(subject), snapshot.policy.maxFee)

/** "8,790.00" in units of the asset. */
export const amountText = ({ subject }: SubjectFacts, units: bigint): string =>
  formatAmount(units, subject.asset.decimals)

/** "10,000": a number of the configuration, without trailing zeros. */
export const levelText = ({ subject }: SubjectFacts, units: bigint): string =>
  formatLevel(units, subject.asset.decimals)

/** Balance that a payer always keeps: its own floor or the rule's, the higher of both. */
export const floorOf = ({ rule, asset }: Subject, payer: Party): bigint => {
  const own = payer.floor.get(asset.id) ?? 0n
  const ruled = rule.floor.get(asset.id) ?? 0n
  return own > ruled ? own : ruled
}

const sizesOf = (
  facts: Pick<SubjectFacts, "subject" | "snapshot" | "allotment">,
  need: WantedNeed,
): ReadonlyArray<Sized> => {
  const { subject, snapshot } = facts
  const { asset, rule } = subject
  const share = feeShareOf(facts)
  const taken = new Map<string, bigint>()
  const wants = wantsOf(snapshot, subject, need.transfers)
  const left = ({ from }: NeededTransfer, observed: bigint | undefined): bigint => {
    const before = taken.get(from.publicKey) ?? 0n
    const free = (observed ?? 0n) - reservedFrom(snapshot, from.publicKey, asset.id) - floorOf(subject, from)
    const allotted = facts.allotment?.(from)
    return (allotted === undefined || free < allotted ? free : allotted) - before
  }
  const seen = need.transfers.map(({ from }) => snapshot.balance(from.publicKey, asset.id, "free"))
  const parts =
    subject.kind === "split" && takesPart(rule) ? evenly(wants, left(need.transfers[0]!, seen[0]), share) : undefined
  return need.transfers.map((transfer, i) => {
    const wanted = wants[i]!
    const observed = seen[i]
    const spendable = left(transfer, observed)
    const covered = parts === undefined && spendable >= wanted + feeMax(share, wanted)
    const amount = !covered && takesPart(rule) ? (parts?.[i] ?? affordable(spendable, share)) : wanted
    const { publicKey } = transfer.from
    taken.set(publicKey, (taken.get(publicKey) ?? 0n) + amount + feeMax(share, amount))
    return { transfer, wanted, amount, covered, spendable, observed }
  })
}

/** The largest amount that `spendable` pays together with its fee. */
const affordable = (spendable: bigint, { numerator, denominator }: Share): bigint =>
  spendable > 0n ? (spendable * denominator) / (denominator + numerator) : 0n

/** Parts of all wants, in proportion, that `spendable` pays with their fees; undefined where it pays all in full. */
const evenly = (wants: ReadonlyArray<bigint>, spendable: bigint, share: Share): ReadonlyArray<bigint> | undefined => {
  const cost = wants.reduce((sum, wanted) => sum + wanted + feeMax(share, wanted), 0n)
  if (cost <= spendable) return undefined
  const whole = wants.reduce((sum, wanted) => sum + wanted, 0n)
  // Each part's fee is rounded up.
  const paid = affordable(spendable - BigInt(wants.length), share)
  return wants.map((wanted) => (whole === 0n ? 0n : (paid * wanted) / whole))
}

/** Amounts to pay now regardless of the payers' funds. Transfers of a split keep their proportions. */
const wantsOf = (
  snapshot: Snapshot,
  subject: Subject,
  transfers: ReadonlyArray<NeededTransfer>,
): ReadonlyArray<bigint> => {
  if (!takesPart(subject.rule)) return transfers.map(({ amount }) => amount)
  const parts = transfers.map((transfer) => ({ amount: transfer.amount, part: permitted(snapshot, subject, transfer) }))
  if (subject.kind !== "split" || parts.every(({ amount, part }) => part === amount))
    return parts.map(({ part }) => part)
  const tightest = parts
    .filter(({ amount }) => amount > 0n)
    .reduce((a, b) => (b.part * a.amount < a.part * b.amount ? b : a))
  return parts.map(({ amount }) => (amount * tightest.part) / tightest.amount)
}

/** Amount that the policy permits at once. Rules that pay parts pay the rest later. */
const permitted = ({ policy }: Snapshot, { asset }: Subject, { from, to, amount }: NeededTransfer): bigint => {
  const line = lineFor(policy, { from: from.publicKey, to: receiverKey(to), assetId: asset.id })
  return line !== undefined && line.perTransfer < amount ? line.perTransfer : amount
}

/** True if the rule pays less where it cannot pay all. If the account itself pays, the rest stays in it. */
export const takesPart = (rule: Subject["rule"]): boolean =>
  rule.kind === "sweep" ||
  rule.kind === "withdraw" ||
  (rule.kind !== "payout" && rule.kind !== "request" && rule.onShort === "partial")

/** One hold reason: when it applies, and its text. */
export interface Check {
  readonly reason: HoldReason
  /** The text with the deciding number; undefined if the reason does not apply. */
  readonly held: (facts: SubjectFacts) => string | undefined
  /** The comparison made where the reason does not apply, as text for `explain`. */
  readonly passed: (facts: SubjectFacts) => string
  /** Unix milliseconds at which it ends by itself; undefined where time alone does not end it. */
  readonly ends?: (facts: SubjectFacts) => number | undefined
}
