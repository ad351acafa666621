import { formatAmount, formatLevel } from "../domain/Amount.ts"
import type { Need, Seen } from "./Need.ts"

/** Above its trigger an account's surplus over the target leaves the network. A withdrawal costs no fee there. */
export const withdrawNeed = ({ subject: { rule }, balances: [balance = 0n] }: Seen<"withdraw">): Need => {
  const { level, to } = rule
  const { decimals } = level.asset
  const now = formatAmount(balance, decimals)
  if (balance <= level.trigger) {
    return { _tag: "InBand", detail: `${now} is not above ${formatLevel(level.trigger, decimals)}` }
  }
  return {
    _tag: "Wanted",
    detail: `${now} is above ${formatLevel(level.trigger, decimals)}`,
    transfers: [{ from: level.party, to, amount: balance - level.target }],
  }
}
