import type { BaseUnits } from "../../domain/Amount.ts"
import type { ApprovalGroup } from "../../domain/Approval.ts"
import type { Intent, IntentCommand } from "../../domain/Intent.ts"
import { instantText } from "../../domain/Time.ts"
import type { Share } from "../Account.ts"

/** One line of the policy: the payments that it allows, and their limits. Payments without a line are refused. */
export interface PolicyLine {
  /** Position in the file, from 1: its name in messages and metrics. */
  readonly line: number
  /** Public keys; the limits are shared by all of them. */
  readonly from: ReadonlySet<string>
  /** Public keys, and addresses outside of the network that may be withdrawn to. */
  readonly to: ReadonlySet<string>
  readonly assetId: string
  readonly perTransfer: BaseUnits
  readonly per24h: BaseUnits
  readonly transfersPer24h: number
  /** Group that must sign payments of more than `above` base units; undefined: no approval needed. */
  readonly approval?: { readonly group: ApprovalGroup; readonly above: BaseUnits } | undefined
}

/** Names in the file for the keys, addresses and assets of its policy. */
export interface PolicyNames {
  /** Name by public key, or by address outside of the network. */
  readonly parties: ReadonlyMap<string, string>
  /** By asset id. */
  readonly assets: ReadonlyMap<string, { readonly symbol: string; readonly decimals: number }>
}

export interface Policy {
  /** No part of the digest: other names are no other policy. Absent: nothing has a name. */
  readonly names?: PolicyNames
  readonly maxFee: Share
  readonly lines: ReadonlyArray<PolicyLine>
  /** All groups of operators, with or without a line: they also end halts and approve policies. */
  readonly groups?: ReadonlyArray<ApprovalGroup>
  /** SHA-256 over the policy's canonical text, with approvals, floors and kept transfers: operators approve it. */
  readonly digest: string
  /** First 8 hex characters of the digest, for people to compare. */
  readonly hash: string
}

/** Names of the signer's refusals: journal, metric label and message use the same. */
export const refusals = [
  "no_line",
  "amount",
  "window_amount",
  "window_count",
  "fee",
  "command",
  "chain_id",
  "halted",
  "lease",
  "watermark",
  "attempt_alive",
  "attempts",
  "approval",
  "floor",
  "stale",
  "permit",
  "signature",
] as const
export type Refusal = (typeof refusals)[number]

/** One payment by its keys, as the policy judges it. */
export interface PolicyPayment {
  readonly from: string
  readonly to: string
  readonly assetId: string
  readonly amount: bigint
}

/** Use of one line's period of 24 hours: signed amounts, and those reserved for open intents. */
export interface PeriodUse {
  readonly amount: bigint
  readonly count: number
  /** Payments that leave the period, the earliest first; absent if unknown. */
  readonly leaving?: ReadonlyArray<LeavingSpend>
}

/** A payment and when it stops counting, Unix milliseconds. */
interface LeavingSpend {
  readonly amount: bigint
  readonly at: number
}

type Verdict =
  | { readonly permitted: true; readonly line: PolicyLine }
  | {
      readonly permitted: false
      readonly refusal: Refusal
      readonly detail: string
      /** The line whose limit refuses it; undefined if no line names the payment. */
      readonly line: PolicyLine | undefined
    }

export type RefusedVerdict = Extract<Verdict, { permitted: false }>

/** The largest fee on top of an amount, rounded up. It is reserved beside the amount. */
export const feeMax = (maxFee: Share, amount: bigint): bigint =>
  (amount * maxFee.numerator + maxFee.denominator - 1n) / maxFee.denominator

const free: Share = { numerator: 0n, denominator: 1n }

/** The share of an amount that the network may take on top. Only transfers have a fee, whatever the policy allows. */
export const feeShare = (command: IntentCommand, maxFee: Share): Share => (command === "transfer" ? maxFee : free)

/** Payer, payee and asset of a payment: the part that decides its line. */
export type Cell = Omit<PolicyPayment, "amount">

/** True if the line counts a payment in its period, whichever line permitted it. */
export const isCountedBy = (line: Pick<PolicyLine, "from" | "to" | "assetId">, { from, to, assetId }: Cell): boolean =>
  line.assetId === assetId && line.from.has(from) && line.to.has(to)

/** The line that names this payment, if one does. The first in the file's order wins; lines do not add up. */
export const lineFor = (policy: Policy, payment: Cell): PolicyLine | undefined =>
  policy.lines.find((line) => isCountedBy(line, payment))

/** The payments that a line names and no line before it does. */
export const cellsOf = (policy: Policy, line: PolicyLine): ReadonlyArray<Cell> =>
  [...line.from].flatMap((from) =>
    [...line.to].map((to) => ({ from, to, assetId: line.assetId })).filter((cell) => lineFor(policy, cell) === line),
  )

/**
 * The payments that count in a line's limit: its own, and those that a policy before bounded together with some of
 * them. A line that is divided, or that loses keys, would else begin with an unused limit.
 */
export const countedIn = (
  policy: Policy,
  line: PolicyLine,
  before: ReadonlyArray<Policy>,
): Pick<PolicyLine, "from" | "to" | "assetId"> => {
  if (before.length === 0) return line
  const own = cellsOf(policy, line)
  const lines = [line, ...before.flatMap((one) => own.flatMap((cell) => lineFor(one, cell) ?? []))]
  const keys = (end: "from" | "to") => new Set(lines.flatMap((one) => [...one[end]]))
  return { assetId: line.assetId, from: keys("from"), to: keys("to") }
}

/** The group that must approve the amount under the line; undefined if no approval is needed. */
export const approvalFor = (line: PolicyLine | undefined, amount: bigint): ApprovalGroup | undefined =>
  line?.approval !== undefined && amount > line.approval.above ? line.approval.group : undefined

/**
 * Judges a payment against its line and what the last 24 hours used of it (`used` excludes the payment itself).
 * Deny by default: no line, no payment.
 */
export const judgePolicy = (policy: Policy, payment: PolicyPayment, used: (line: PolicyLine) => PeriodUse): Verdict => {
  const line = lineFor(policy, payment)
  const refuse = (refusal: Refusal, detail: string): Verdict => ({ permitted: false, refusal, detail, line })
  if (line === undefined) return refuse("no_line", "no policy line allows this payment")
  const at = `policy line ${line.line}`
  if (payment.amount <= 0n) return refuse("amount", "a payment of nothing")
  if (payment.amount > line.perTransfer) {
    return refuse("amount", `${payment.amount} is above ${line.perTransfer} per transfer (${at})`)
  }
  const { amount, count } = used(line)
  if (amount + payment.amount > line.per24h) {
    return refuse("window_amount", `${amount} of ${line.per24h} in 24 h are used (${at})`)
  }
  if (count + 1 > line.transfersPer24h) {
    return refuse("window_count", `${count} of ${line.transfersPer24h} transfers in 24 h are used (${at})`)
  }
  return { permitted: true, line }
}

/** Names of a payment's keys and asset. Keys without a name show as "unnamed", their amounts in base units. */
export const namesIn = ({ names }: Policy, { from, to, assetId }: Cell) => {
  const { symbol, decimals } = names?.assets.get(assetId) ?? { symbol: "unnamed", decimals: 0 }
  const nameOf = (key: string): string => names?.parties.get(key) ?? "unnamed"
  return { fromName: nameOf(from), toName: nameOf(to), symbol, decimals }
}

/** True if a payment is decided and not signed: the signer's periods do not count it yet. */
export const isUnsigned = ({ state }: Pick<Intent, "state">): boolean =>
  state === "proposed" || state === "awaiting_approval" || state === "reserved"

/** True if the payment will use a transfer of the network's quota in this epoch, and has not yet. */
export const usesQuota = (intent: Pick<Intent, "state" | "command">): boolean =>
  isUnsigned(intent) && intent.command !== "withdraw"

/** Use of a line: what was signed, what open intents will sign, and payments that are to be made beside them. */
export const periodUse = (
  snapshot: { readonly open: ReadonlyArray<Intent>; readonly signed: (line: PolicyLine) => PeriodUse },
  line: PolicyLine,
  beside: ReadonlyArray<PolicyPayment>,
): PeriodUse => {
  const open = snapshot.open.filter(isUnsigned).map(({ payment: { fromKey, toKey, assetId, amount } }) => ({
    from: fromKey,
    to: toKey,
    assetId,
    amount,
  }))
  const counted = [...open, ...beside].filter((payment) => isCountedBy(line, payment))
  const signed = snapshot.signed(line)
  const amount = counted.reduce((sum, payment) => sum + payment.amount, signed.amount)
  return { ...signed, amount, count: signed.count + counted.length }
}

/** Unix milliseconds at which the line's limits allow the amount again; undefined where time alone does not do it. */
export const freeAt = (line: PolicyLine, { amount, count, leaving = [] }: PeriodUse, wanted: bigint) => {
  let [sum, transfers] = [amount + wanted, count + 1]
  for (const spend of leaving) {
    sum -= spend.amount
    transfers -= 1
    if (sum <= line.per24h && transfers <= line.transfersPer24h) return spend.at
  }
  return undefined
}

/** When time alone next leaves more of the line's limit to new payments, and how much; undefined where it does not. */
export const nextFree = (
  { per24h, transfersPer24h }: PolicyLine,
  { amount, count, leaving = [] }: PeriodUse,
): LeavingSpend | undefined => {
  const left = (used: bigint, transfers: number): bigint =>
    transfers >= transfersPer24h || used > per24h ? 0n : per24h - used
  let [used, transfers] = [amount, count]
  for (const { amount: freed, at } of leaving) {
    used -= freed
    transfers -= 1
    const more = left(used, transfers) - left(amount, count)
    if (more > 0n) return { amount: more, at }
  }
  return undefined
}

/** Describes a refusal with the numbers that decided, each as `sum` writes it. `freeAt`: Unix milliseconds. */
export const refusalText = (
  { refusal, detail, line }: RefusedVerdict,
  {
    amount,
    used,
    freeAt,
  }: {
    readonly amount: bigint
    readonly used: (line: PolicyLine) => bigint
    readonly freeAt: number | undefined
  },
  sum: (units: bigint) => string,
): string => {
  // No time permits a payment of nothing.
  if (line === undefined || amount <= 0n) return detail
  const at = `policy line ${line.line}`
  if (refusal === "amount") {
    return `${sum(amount)} is above ${sum(line.perTransfer)} per transfer (${at})`
  }
  const free = freeAt === undefined ? "" : `; free again about ${instantText(freeAt)}`
  if (refusal !== "window_amount") return `${detail}${free}`
  return `${sum(used(line))} of ${sum(line.per24h)} in 24 h are used; ${sum(amount)} more is too much (${at})${free}`
}

/** Network fee on top of a transfer's amount: trunc(min(amount · factor, maxQuantum · quantum)). */
export interface FeeParameters {
  /** transfer.fee.factor */
  readonly factor: Share
  /** transfer.fee.maxQuantumAmount in base units of the asset; undefined while its quantum is not known. */
  readonly cap: bigint | undefined
  /** Unix milliseconds of its reading; undefined if it is configured. */
  readonly readAt: number | undefined
}

/** Fee from the configuration: both values as in the network's parameters of these names. */
export interface WrittenFee {
  readonly factor: Share
  readonly maxQuantum: Share
}

/** Fee parameters older than this may have changed, and are not used. */
export const feeAgeMillisMax = 600_000

/** The most that the network takes on top of the amount. Where the cap is not known, the share alone bounds it. */
const feeOf = ({ factor, cap }: FeeParameters, amount: bigint): bigint => {
  const byAmount = (amount * factor.numerator) / factor.denominator
  return cap !== undefined && cap < byAmount ? cap : byAmount
}

/**
 * Why a transfer must wait for the network's fee; undefined where the fee is known to be at most `most`.
 */
export const feeRefused = (
  terms: FeeParameters | undefined,
  { amount, most }: { readonly amount: bigint; readonly most: bigint },
  now: number,
): string | undefined => {
  if (terms === undefined) return "the network's fee is not known; if no gateway reports it, set network.fee"
  const { readAt } = terms
  // A time from the future, or none at all, is no age.
  if (readAt !== undefined && !(readAt <= now && now - readAt <= feeAgeMillisMax)) {
    return "the network's fee was last read more than 10 minutes ago"
  }
  const fee = feeOf(terms, amount)
  return fee <= most ? undefined : `the network takes a fee of ${fee}, more than the ${most} that its maxFee allows`
}
