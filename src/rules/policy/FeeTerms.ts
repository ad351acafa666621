import type { Share } from "../Account.ts"
import { feeMax } from "./Policy.ts"

/** Network fee on top of a transfer's amount: trunc(min(amount · factor, maxQuantum · quantum)). */
export interface FeeTerms {
  /** transfer.fee.factor */
  readonly factor: Share
  /** transfer.fee.maxQuantumAmount in base units of the asset; undefined while its quantum is not known. */
  readonly cap: bigint | undefined
  /** Unix milliseconds at which the network said so; undefined where a person wrote it down. */
  readonly readAt: number | undefined
}

/** Fee from the configuration: both values as in the network's parameters of these names. */
export interface WrittenFee {
  readonly factor: Share
  readonly maxQuantum: Share
}

/** Terms older than this say nothing of the fee of today. */
export const feeAgeMillisMax = 600_000

/** The most that the network takes on top of the amount. Where the cap is not known, the share alone bounds it. */
const feeOf = ({ factor, cap }: FeeTerms, amount: bigint): bigint => {
  const byAmount = (amount * factor.numerator) / factor.denominator
  return cap !== undefined && cap < byAmount ? cap : byAmount
}

/**
 * Why a payment must wait for the network's fee; undefined where the fee is known to be within `share` of the amount.
 * A share of nothing is that of a command that costs none.
 */
export const feeRefused = (
  terms: FeeTerms | undefined,
  { amount, share }: { readonly amount: bigint; readonly share: Share },
  now: number,
): string | undefined => {
  if (share.numerator === 0n) return undefined
  if (terms === undefined) return "the network's fee is not known; where no gateway tells it, write network.fee"
  const { readAt } = terms
  // A time from the future, or none at all, is no age.
  if (readAt !== undefined && !(readAt <= now && now - readAt <= feeAgeMillisMax)) {
    return "the network's fee was last read more than 10 minutes ago"
  }
  const [fee, most] = [feeOf(terms, amount), feeMax(share, amount)]
  return fee <= most ? undefined : `the network takes a fee of ${fee}, more than the ${most} that maxFee allows`
}
