import { formatAmount } from "../domain/Amount.ts"
import type { Backtest } from "../rehearsal/Backtest.ts"
import { dayTotalsOf, differenceOf, type Total, totalsOf } from "../rehearsal/totals.ts"
import { timeText } from "../rules/Check.ts"
import { table } from "./output.ts"

const none = "-"

const positiveText = ({ unit, decimals }: Total, one: bigint | number): string => {
  if (typeof one === "bigint") return formatAmount(one, decimals)
  if (unit === "share") return `${Math.round(one * 100)} %`
  return unit === "millis" ? timeText(one) : `${one}`
}

const valueText = (total: Total, one: bigint | number | undefined): string =>
  one === undefined ? none : positiveText(total, one)

/** "+12", "-3 min", "0" */
const changeText = (total: Total): string => {
  const { here, there, unit } = total
  // As shown: 32 % and 37 % differ by 5 %, whatever was rounded away.
  const percent = (share: Total["here"]) => (typeof share === "number" ? Math.round(share * 100) / 100 : share)
  const by = differenceOf(unit === "share" ? { here: percent(here), there: percent(there) } : total)
  if (by === undefined) return none
  if (Number(by) === 0) return "0"
  return Number(by) > 0 ? `+${positiveText(total, by)}` : `-${positiveText(total, -by)}`
}

const indented = (rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> =>
  table(rows)
    .split("\n")
    .map((line) => `  ${line}`)

/** The numbers of two sets of rules over the same past, side by side, and what was spent on each day. */
export const totalsText = (names: readonly [string, string], sides: readonly [Backtest, Backtest]): string => {
  const head = (what: string): ReadonlyArray<string> => [what, ...names, "difference"]
  const rows = totalsOf(sides).map((total) => [
    total.asset === null ? total.what : `${total.what}, ${total.asset}`,
    valueText(total, total.here),
    valueText(total, total.there),
    changeText(total),
  ])
  const days = dayTotalsOf(sides).map((day) => {
    const total: Total = { what: day.day, unit: "amount", ...day }
    return [`${day.day}, ${day.asset}`, valueText(total, day.here), valueText(total, day.there), changeText(total)]
  })
  return [
    "side by side",
    ...indented([head("total"), ...rows, ...(days.length === 0 ? [] : [head("paid on")]), ...days]),
  ].join("\n")
}
