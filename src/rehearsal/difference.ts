import type { Backtest } from "./Backtest.ts"
import type { Paid } from "./World.ts"

/** Decisions this near in time with the same content are the same payment. */
const sameMillis = 60_000

/** What one set of rules did and another did not. */
export interface Difference {
  readonly both: number
  readonly onlyHere: ReadonlyArray<Paid>
  readonly onlyThere: ReadonlyArray<Paid>
}

const keyOf = ({ intent: { payment } }: Paid): string =>
  [payment.fromKey, payment.toKey, payment.assetId, payment.amount].join("|")

/** Compares the payments of two backtests of one past. */
export const difference = (here: Backtest, there: Backtest): Difference => {
  const left = new Map<string, Array<Paid>>()
  for (const paid of there.payments) left.set(keyOf(paid), [...(left.get(keyOf(paid)) ?? []), paid])
  const onlyHere: Array<Paid> = []
  for (const paid of here.payments) {
    const same = left.get(keyOf(paid)) ?? []
    const twin = same.findIndex(({ at }) => Math.abs(at - paid.at) <= sameMillis)
    if (twin < 0) onlyHere.push(paid)
    else same.splice(twin, 1)
  }
  const onlyThere = [...left.values()].flat().toSorted((a, b) => a.at - b.at)
  return { both: here.payments.length - onlyHere.length, onlyHere, onlyThere }
}
