import { formatAmount, formatLevel } from "../../domain/Amount.ts"
import type { KindInput, Need, NeededTransfer } from "../Need.ts"
import type { Level } from "../Rule.ts"
import { networkFee, type Snapshot } from "../Snapshot.ts"
import type { Subject } from "../Subject.ts"
import { codeNeed } from "./code.ts"
import { payoutNeed } from "./payout.ts"
import { rebalanceNeed } from "./rebalance.ts"

/** Returns the need that the subject's rule kind computes. */
export const needOf = ({ subject, snapshot, balances, episode }: KindInput<Subject["kind"]>): Need => {
  const [balance = 0n] = balances
  switch (subject.kind) {
    case "topUp":
      return filled(subject.level, balance, (amount) => [{ from: subject.rule.from, to: subject.level.party, amount }])
    // People are asked to fill it.
    case "request": {
      const { level, from } = subject.rule
      return filled(level, balance, (amount) => [{ from, to: level.party, amount }])
    }
    case "sweep": {
      const { level, rule } = subject
      return emptied(level, balance, (surplus) => [
        { from: level.party, to: rule.to, amount: afterFee(snapshot, level, surplus) },
      ])
    }
    // A withdrawal costs no fee in the network.
    case "withdraw": {
      const { level, to } = subject.rule
      return emptied(level, balance, (amount) => [{ from: level.party, to, amount }])
    }
    // The remainder of rounding stays in the account.
    case "split": {
      const { level, to } = subject.rule
      const whole = to.reduce((sum, { weight }) => sum + weight, 0n)
      return emptied(level, balance, (surplus) =>
        to.map(({ party, weight }) => {
          return { from: level.party, to: party, amount: afterFee(snapshot, level, (surplus * weight) / whole) }
        }),
      )
    }
    case "rebalance":
      return rebalanceNeed({ subject, snapshot, balances, episode })
    case "payout":
      return payoutNeed({ subject, snapshot, balances, episode })
    case "code":
      return codeNeed({ subject, snapshot, balances, episode })
  }
}

type Transfers = (amount: bigint) => ReadonlyArray<NeededTransfer>

/** Below its trigger an account is brought to its target. */
const filled = ({ asset: { decimals }, trigger, target }: Level, balance: bigint, transfers: Transfers): Need => {
  const [now, level] = [formatAmount(balance, decimals), formatLevel(trigger, decimals)]
  return balance >= trigger
    ? { _tag: "InBand", detail: `${now} (trigger ${level})` }
    : { _tag: "Wanted", detail: `${now} is below ${level}`, transfers: transfers(target - balance) }
}

/** Above its trigger an account pays what is over its target. */
const emptied = ({ asset: { decimals }, trigger, target }: Level, balance: bigint, transfers: Transfers): Need => {
  const [now, level] = [formatAmount(balance, decimals), formatLevel(trigger, decimals)]
  return balance <= trigger
    ? { _tag: "InBand", detail: `${now} (trigger ${level})` }
    : { _tag: "Wanted", detail: `${now} is above ${level}`, transfers: transfers(balance - target) }
}

/** Amount payable from a surplus that also covers the fee. */
const afterFee = (snapshot: Snapshot, { asset }: Level, surplus: bigint): bigint => {
  const fee = networkFee(snapshot, asset, surplus) ?? 0n
  return surplus > fee ? surplus - fee : 0n
}
