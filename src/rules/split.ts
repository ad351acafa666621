import { formatAmount, formatLevel } from "../domain/Amount.ts"
import type { Need, Seen } from "./Need.ts"
import { networkFee } from "./Snapshot.ts"

/**
 * Above its trigger an account pays all that is over its target to the receivers, each its part, the fee of each taken
 * from that part. What rounding leaves stays with the account.
 */
export const splitNeed = ({ subject: { rule }, snapshot, balances: [balance = 0n] }: Seen<"split">): Need => {
  const { level, to } = rule
  const { decimals } = level.asset
  const now = formatAmount(balance, decimals)
  if (balance <= level.trigger) {
    return { _tag: "InBand", detail: `${now} is not above ${formatLevel(level.trigger, decimals)}` }
  }
  const surplus = balance - level.target
  const whole = to.reduce((sum, { weight }) => sum + weight, 0n)
  return {
    _tag: "Wanted",
    detail: `${now} is above ${formatLevel(level.trigger, decimals)}`,
    transfers: to.map(({ party, weight }) => {
      const part = (surplus * weight) / whole
      const fee = networkFee(snapshot, level.asset, part) ?? 0n
      return { from: level.party, to: party, amount: part > fee ? part - fee : 0n }
    }),
  }
}
