import { formatAmount, formatLevel } from "../domain/Amount.ts"
import type { Need, Seen } from "./Need.ts"

/** Below its trigger an account is brought to its target by the funder. */
export const topUpNeed = ({ subject: { rule, level }, balances: [balance = 0n] }: Seen<"topUp">): Need => {
  const { decimals } = level.asset
  const now = formatAmount(balance, decimals)
  if (balance >= level.trigger) {
    return { _tag: "InBand", detail: `${now} is not below ${formatLevel(level.trigger, decimals)}` }
  }
  return {
    _tag: "Wanted",
    detail: `${now} is below ${formatLevel(level.trigger, decimals)}`,
    transfers: [{ from: rule.from, to: level.party, amount: level.target - balance }],
  }
}
