import { feeMax, type Policy } from "../Policy.ts"
import type { Party, Receiver } from "../Rule.ts"
import type { Spot } from "./Finding.ts"
import { minOf } from "./Finding.ts"

/** One transfer that a rule may want, between the least and the most that it can be. */
export interface NeedRange {
  readonly from: Party
  readonly to: Receiver
  readonly least: bigint
  /** Undefined where the balance alone bounds it. */
  readonly most: bigint | undefined
}

/** What an amount and its fee leave of a surplus from which both are paid, with the highest fee. */
const afterFee = (surplus: bigint, { maxFee }: Policy): bigint =>
  (surplus * maxFee.denominator) / (maxFee.denominator + maxFee.numerator)

const max = (a: bigint, b: bigint): bigint => (a > b ? a : b)

/**
 * The transfers of one decision; none where a group of balances or code decides their size, people make them, or
 * nothing moves.
 */
export const needRanges = (spot: Spot, policy: Policy): ReadonlyArray<NeedRange> => {
  const { subject } = spot
  const min = minOf(spot)
  switch (subject.kind) {
    case "topUp": {
      const { trigger, target, party } = subject.level
      return [{ from: subject.rule.from, to: party, least: max(target - trigger + 1n, min), most: target }]
    }
    case "sweep": {
      const { trigger, target, party } = subject.level
      const least = max(afterFee(trigger - target + 1n, policy), min)
      return [{ from: party, to: subject.rule.to, least, most: undefined }]
    }
    case "split": {
      const { level, to } = subject.rule
      const whole = to.reduce((sum, { weight }) => sum + weight, 0n)
      const surplus = level.trigger - level.target + 1n
      return to.map(({ party, weight }) => ({
        from: level.party,
        to: party,
        least: max(afterFee((surplus * weight) / whole, policy), min),
        most: undefined,
      }))
    }
    case "withdraw": {
      const { level, to } = subject.rule
      return [{ from: level.party, to, least: max(level.trigger - level.target + 1n, min), most: undefined }]
    }
    case "payout": {
      const { from, to, amount } = subject.rule
      return [{ from, to, least: amount, most: amount }]
    }
    case "rebalance":
    case "request":
    case "code":
      return []
  }
}

/** What a transfer takes from its payer at most. */
export const costOf = (amount: bigint, { maxFee }: Policy): bigint => amount + feeMax(maxFee, amount)
