import { formatAmount, formatLevel } from "../domain/Amount.ts"
import type { Need, Subject } from "./Need.ts"
import type { TopUpRule } from "./Rule.ts"

/** Below its trigger an account is brought to its target by the funder. */
export const topUpNeed = ({ rule, level, balance }: Subject<TopUpRule>): Need => {
  const { decimals } = level.asset
  const now = formatAmount(balance, decimals)
  if (balance >= level.trigger) {
    return { inBand: true, detail: `${now} is not below ${formatLevel(level.trigger, decimals)}` }
  }
  return {
    inBand: false,
    detail: `${now} is below ${formatLevel(level.trigger, decimals)}`,
    from: rule.from,
    to: level.party,
    amount: level.target - balance,
  }
}
