import { formatAmount } from "../domain/Amount.ts"
import type { Backtest, Difference } from "../rehearsal/Backtest.ts"
import { type DayTotal, dayTotalsOf, differenceOf, type Total, totalsOf } from "../rehearsal/totals.ts"
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

const plainAmount = (units: bigint, { decimals }: { readonly decimals: number }): string =>
  formatAmount(units, decimals)

const plainTotal = (total: Total) => {
  const { what, unit, asset } = total
  const plainOf = (one: bigint | number | undefined) =>
    one === undefined ? null : typeof one === "bigint" ? plainAmount(one, total) : one
  const difference = plainOf(differenceOf(total))
  return { what, unit, asset, here: plainOf(total.here), there: plainOf(total.there), difference }
}

const plainDay = (total: DayTotal) => ({
  day: total.day,
  asset: total.asset,
  here: plainAmount(total.here, total),
  there: plainAmount(total.there, total),
  difference: plainAmount(total.there - total.here, total),
})

/** The numbers of both sides, for programs: amounts in units of the asset, times in milliseconds, shares of 1. */
export const plainTotals = (sides: readonly [Backtest, Backtest]) => ({
  totals: totalsOf(sides).map(plainTotal),
  totalsByDay: dayTotalsOf(sides).map(plainDay),
})
