import { formatAmount, formatLevel } from "../domain/Amount.ts"
import type { Need, Subject } from "./Need.ts"
import type { SweepRule } from "./Rule.ts"
import { networkFee } from "./Snapshot.ts"

/** Above its trigger an account pays what is over its target, the fee included, to the collector. */
export const sweepNeed = ({ rule, level, balance, snapshot }: Subject<SweepRule>): Need => {
  const { decimals } = level.asset
  const now = formatAmount(balance, decimals)
  if (balance <= level.trigger) {
    return { inBand: true, detail: `${now} is not above ${formatLevel(level.trigger, decimals)}` }
  }
  const surplus = balance - level.target
  const fee = networkFee(snapshot, level.asset, surplus) ?? 0n
  return {
    inBand: false,
    detail: `${now} is above ${formatLevel(level.trigger, decimals)}`,
    from: level.party,
    to: rule.to,
    amount: surplus > fee ? surplus - fee : 0n,
  }
}
