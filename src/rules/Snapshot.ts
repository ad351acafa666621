import type { AssetStatusWord } from "../domain/Asset.ts"
import type { HaltInForce } from "../domain/Halt.ts"
import type { Intent } from "../domain/Intent.ts"
import { dayMillis, millisOf } from "../domain/Time.ts"
import type { BalanceKind, PinnedAsset, Share } from "./Account.ts"
import type { Answers } from "./Code.ts"
import { isCountedBy, type PeriodUse, type Policy, type PolicyLine } from "./policy/Policy.ts"
import type { Subject } from "./Subject.ts"

/** Fees and limits of the network, as far as its parameters are known. */
export interface TransferParameters {
  /** transfer.fee.factor as a fraction. */
  readonly feeFactor: Share
  /** transfer.fee.maxQuantumAmount as a fraction of quanta. */
  readonly feeMaxQuantum: Share
  /** transfer.minTransferQuantumMultiple as a fraction of quanta. */
  readonly minQuantum: Share
  /** spam.protection.minimumWithdrawalQuantumMultiple as a fraction of quanta; undefined if unknown. */
  readonly minWithdrawQuantum?: Share | undefined
}

/** An asset as the network lists it now. */
export interface Listed {
  readonly status: AssetStatusWord
  readonly decimals: number
  readonly quantum: bigint
}

/** A funding request: a transfer that people were asked to send. */
export interface FundingRequest {
  readonly rule: string
  readonly subject: string
  readonly episode: number
  /** Names of the configuration. */
  readonly from: string
  readonly to: string
  readonly asset: string
  readonly amount: bigint
  readonly decimals: number
  /** Unix milliseconds. */
  readonly at: number
  /** Undefined while it is open; otherwise when the money was seen, or the need was gone. */
  readonly endedAt: number | undefined
}

/** Transfers that the network lets a key send in an epoch. */
export interface Quota {
  readonly limit: number
  /** Signed in this epoch. */
  readonly used: number
  /** Unix milliseconds at which the epoch is expected to end; undefined where that is not known. */
  readonly endsAt: number | undefined
}

/** All inputs of decisions. The same snapshot gives the same decisions, on any machine, at any time. */
export interface Snapshot {
  /** Unix milliseconds. */
  readonly now: number
  /** Balances are complete strictly below this block time (Unix nanoseconds); undefined before the first reading. */
  readonly asOf: bigint | undefined
  readonly maxAgeMillis: number
  /** Why balances are not reliable yet, as text; undefined: they are complete. */
  readonly catchingUp: string | undefined
  /** How our rows and the gateway's balance of the account differ, as text; undefined if they agree. */
  readonly drift: (party: string, assetId: string, kind: BalanceKind) => string | undefined
  /** Why too few gateways agree on the balances; undefined while enough do. */
  readonly disagreement: string | undefined
  /** Observed balance in base units; undefined where none was ever seen. */
  readonly balance: (party: string, assetId: string, kind: BalanceKind) => bigint | undefined
  /** `balance` without rehearsed payments; undefined if it has none. */
  readonly observed?: Snapshot["balance"]
  /** Undefined while no listing was read. */
  readonly listed: ReadonlyMap<string, Listed> | undefined
  readonly parameters: TransferParameters | undefined
  /** Intents that are not final: both ends of each are reserved. */
  readonly open: ReadonlyArray<Intent>
  /** Final intents, as far back as `reachOf` says, oldest first. */
  readonly settled: ReadonlyArray<Intent>
  /** Funding requests: open ones, and those that ended a short time ago. */
  readonly requests: ReadonlyArray<FundingRequest>
  readonly halts: ReadonlyArray<HaltInForce>
  /** Why the network's work parameters are not valid, as text; undefined if they are. */
  readonly chainUnsettled: string | undefined
  /** Rules whose condition holds, even if something keeps them from acting. */
  readonly firing: ReadonlySet<string>
  /** Priorities of the rules by name; payments of people have none. */
  readonly priorities: ReadonlyMap<string, number>
  /** Transfers that the party's key may still send in this epoch of the network; undefined where that is not known. */
  readonly quota: (party: string) => Quota | undefined
  /** In force; `until` in Unix milliseconds, undefined where only a person ends it. */
  readonly pauses: ReadonlyArray<{
    readonly scope: string
    readonly reason: string
    /** Absent in a backtest. */
    readonly author?: string
    readonly until?: number | undefined
  }>
  readonly policy: Policy
  /** Signed in the last 24 hours under the line; open intents that are not signed yet are added by the rules. */
  readonly signed: (line: PolicyLine) => PeriodUse
  /**
   * Unix milliseconds of the first signature of the subject's newest confirmed payment. With `missed: once` it covers
   * all times planned before. Absent if no payout is due.
   */
  readonly lastSigned?: (rule: string, subject: string) => number | undefined
  /** Answers of the code rules for this snapshot; absent if there are no code rules. */
  readonly answers?: Answers
}

/** Base units of the account that open payments already claim, fees at their highest included. */
export const reservedFrom = (snapshot: Snapshot, party: string, assetId: string): bigint => {
  let sum = 0n
  for (const { payment, feeMax } of snapshot.open) {
    if (payment.fromKey === party && payment.assetId === assetId) sum += payment.amount + feeMax
  }
  return sum
}

/** Age of balances in milliseconds; negative where their block is ahead of our clock. */
export const ageMillis = (snapshot: Pick<Snapshot, "now">, asOf: bigint): number => snapshot.now - lastMillisOf(asOf)

let lastNanos = 0n
let lastMillis = 0

/** Remembers the last result: all evaluations of a round are of the same block. */
const lastMillisOf = (nanos: bigint): number => {
  if (nanos !== lastNanos) {
    lastMillis = millisOf(nanos)
    lastNanos = nanos
  }
  return lastMillis
}

/** The fee that the network takes from an amount in base units: trunc(min(amount · factor, quanta · quantum)). */
export const transferFee = (terms: TransferParameters, quantum: bigint, amount: bigint): bigint => {
  const byAmount = (amount * terms.feeFactor.numerator) / terms.feeFactor.denominator
  const cap = (quantum * terms.feeMaxQuantum.numerator) / terms.feeMaxQuantum.denominator
  return byAmount < cap ? byAmount : cap
}

/** The network's fee; undefined if its parameters or the asset's quantum are not known. */
export const networkFee = (
  { parameters, listed }: Snapshot,
  { id }: PinnedAsset,
  amount: bigint,
): bigint | undefined => {
  const quantum = listed?.get(id)?.quantum
  return parameters === undefined || quantum === undefined ? undefined : transferFee(parameters, quantum, amount)
}

/** The network's minimum transfer; 0 if unknown. */
export const networkMinimum = (
  { parameters, listed }: Pick<Snapshot, "parameters" | "listed">,
  { id }: Pick<PinnedAsset, "id">,
): bigint => {
  const quantum = listed?.get(id)?.quantum
  if (parameters === undefined || quantum === undefined) return 0n
  return (quantum * parameters.minQuantum.numerator) / parameters.minQuantum.denominator
}

/** The network's minimum withdrawal; 0 if unknown. */
export const withdrawalMinimum = (snapshot: Snapshot, asset: PinnedAsset): bigint => {
  const quantum = snapshot.listed?.get(asset.id)?.quantum
  const least = snapshot.parameters?.minWithdrawQuantum
  return least === undefined || quantum === undefined ? 0n : (quantum * least.numerator) / least.denominator
}

/** "0.001" as an exact fraction; undefined where it is no plain decimal. */
export const fraction = (text: string): Share | undefined => {
  const match = /^([0-9]{1,40})(?:\.([0-9]{1,40}))?$/.exec(text)
  if (match === null) return undefined
  const places = match[2] ?? ""
  return { numerator: BigInt(match[1]! + places), denominator: 10n ** BigInt(places.length) }
}

/** A network whose fee has no cap. `minQuantum`: default no minimum. */
export const uncappedFee = (
  feeFactor: Share,
  minQuantum: Share = { numerator: 0n, denominator: 1n },
): TransferParameters => ({ feeFactor, feeMaxQuantum: { numerator: 2n ** 256n, denominator: 1n }, minQuantum })

/** Parses the network's parameters; undefined unless all three for transfers are known. */
export const transferParametersOf = (parameters: ReadonlyMap<string, string>): TransferParameters | undefined => {
  const feeFactor = fraction(parameters.get("transfer.fee.factor") ?? "")
  const feeMaxQuantum = fraction(parameters.get("transfer.fee.maxQuantumAmount") ?? "")
  const minQuantum = fraction(parameters.get("transfer.minTransferQuantumMultiple") ?? "")
  if (feeFactor === undefined || feeMaxQuantum === undefined || minQuantum === undefined) return undefined
  const minWithdrawQuantum = fraction(parameters.get("spam.protection.minimumWithdrawalQuantumMultiple") ?? "")
  return { feeFactor, feeMaxQuantum, minQuantum, minWithdrawQuantum }
}

/** The part of a snapshot that holds balances. */
export type Knowledge = Pick<Snapshot, "asOf" | "balance">

/** Balances of the subject's accounts, in their order; undefined while one of them is not known. */
export const balancesOf = (subject: Subject, known: Knowledge): ReadonlyArray<bigint> | undefined => {
  if (subject.accounts.length === 0) return []
  if (known.asOf === undefined) return undefined
  const zero = subject.rule.onNoData === "zero" ? 0n : undefined
  const balances: Array<bigint> = []
  for (const { party, asset, balance } of subject.accounts) {
    const units = known.balance(party.publicKey, asset.id, balance) ?? zero
    if (units === undefined) return undefined
    balances.push(units)
  }
  return balances
}

/** Sum of a rule's simulated payments since its simulation began: decided like any payment, never signed. */
export interface TrialMovement {
  readonly rule: string
  /** Unix milliseconds since which it simulates. */
  readonly since: number
  readonly payments: number
  /** Base units by account (see `accountKey`): what it would have received less what it would have paid with fees. */
  readonly moved: ReadonlyMap<string, bigint>
}

export const accountKey = (party: string, assetId: string): string => `${party}|${assetId}`

/**
 * The snapshot as it would be had the rehearsed payments been made: their balances, and what they took of the policy's
 * limits. Decisions on it are made by the same code as any.
 */
export const overlaid = (snapshot: Snapshot, rehearsals: ReadonlyArray<TrialMovement>): Snapshot => {
  if (rehearsals.length === 0) return snapshot
  const names = new Set(rehearsals.map(({ rule }) => rule))
  // Limits count from the earlier of clock and newest block, as in the signer. A simulated payment counts once decided.
  const newest = snapshot.asOf === undefined ? snapshot.now : millisOf(snapshot.asOf)
  const since = Math.min(snapshot.now, newest) - dayMillis
  const recent = snapshot.settled.filter(
    ({ rule, state, createdAt }) => state === "rehearsed" && names.has(rule) && createdAt > since,
  )
  return {
    ...snapshot,
    observed: snapshot.balance,
    balance: overlaidBalance(snapshot.balance, rehearsals),
    signed: (line: PolicyLine) =>
      recent
        .filter(({ payment: { fromKey: from, toKey: to, assetId } }) => isCountedBy(line, { from, to, assetId }))
        .reduce(
          (sum, { payment }) => ({ amount: sum.amount + payment.amount, count: sum.count + 1 }),
          snapshot.signed(line),
        ),
  }
}

/** Balances as they would be had the rehearsed payments been made. */
export const overlaidBalance = (
  balance: Snapshot["balance"],
  rehearsals: ReadonlyArray<TrialMovement>,
): Snapshot["balance"] => {
  const moved = new Map<string, bigint>()
  for (const rehearsal of rehearsals) {
    for (const [key, units] of rehearsal.moved) moved.set(key, (moved.get(key) ?? 0n) + units)
  }
  return (party, assetId, kind) => {
    const observed = balance(party, assetId, kind)
    return observed === undefined ? undefined : observed + (moved.get(accountKey(party, assetId)) ?? 0n)
  }
}
