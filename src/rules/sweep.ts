import { formatAmount, formatLevel } from "../domain/Amount.ts"
import type { Need, Seen } from "./Need.ts"
import { networkFee } from "./Snapshot.ts"

/** Above its trigger an account pays what is over its target, the fee included, to the collector. */
export const sweepNeed = ({ subject: { rule, level }, snapshot, balances: [balance = 0n] }: Seen<"sweep">): Need => {
  const { decimals } = level.asset
  const now = formatAmount(balance, decimals)
  if (balance <= level.trigger) {
    return { _tag: "InBand", detail: `${now} is not above ${formatLevel(level.trigger, decimals)}` }
  }
  const surplus = balance - level.target
  const fee = networkFee(snapshot, level.asset, surplus) ?? 0n
  return {
    _tag: "Wanted",
    detail: `${now} is above ${formatLevel(level.trigger, decimals)}`,
    transfers: [{ from: level.party, to: rule.to, amount: surplus > fee ? surplus - fee : 0n }],
  }
}
