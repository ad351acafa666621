import { formatAmount } from "../domain/Amount.ts"
import type { Backtest, Difference } from "../rehearsal/Backtest.ts"
import type { Paid, Told } from "../rehearsal/World.ts"

export const iso = (millis: number): string => new Date(millis).toISOString()

const paidRow = ({ at, signedAt, group, rule, subject, state, line, intent }: Paid) => {
  const { payment, decimals, fee, detail } = intent
  return {
    at: iso(at),
    signedAt: signedAt === undefined ? null : iso(signedAt),
    approval: group?.name ?? null,
    rule,
    account: subject,
    state,
    from: payment.from,
    to: payment.to,
    asset: payment.asset,
    amount: formatAmount(payment.amount, decimals),
    fee: fee === undefined ? null : formatAmount(fee, decimals),
    line,
    detail,
  }
}

/** For programs: times as text, amounts of payments in units of the asset, all else in base units. */
export const plain = ({ drawing: _, lines, payments, unsigned, told, from, to, accounts, ...result }: Backtest) => ({
  from: iso(from),
  to: iso(to),
  payments: payments.map(paidRow),
  unsigned: unsigned.map(paidRow),
  alerts: told.map(toldRow),
  lines: lines.map(({ line, ...near }) => ({
    line: line.line,
    per24h: line.per24h,
    transfersPer24h: line.transfersPer24h,
    perTransfer: line.perTransfer,
    ...near,
  })),
  accounts: accounts.map(({ lowestAt, ...account }) => ({ ...account, lowestAt: iso(lowestAt) })),
  ...result,
})

const toldRow = ({ at, asked: _, ...alert }: Told) => ({ at: iso(at), ...alert })

/** What one side alone did, for programs. */
export const plainDifference = ({ both, onlyHere, onlyThere, alerts }: Difference) => ({
  both,
  onlyHere: onlyHere.map(paidRow),
  onlyThere: onlyThere.map(paidRow),
  alerts: {
    both: alerts.both,
    onlyHere: alerts.onlyHere.map(toldRow),
    onlyThere: alerts.onlyThere.map(toldRow),
  },
})
