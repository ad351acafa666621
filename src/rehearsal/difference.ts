import type { Backtest } from "./Backtest.ts"
import type { Paid, Told } from "./World.ts"

/** Decisions this near in time with the same content are the same; so are alerts. */
const sameMillis = 60_000

/** What was the same, and what one side alone has. */
export interface Sides<A> {
  readonly both: number
  readonly onlyHere: ReadonlyArray<A>
  readonly onlyThere: ReadonlyArray<A>
}

/** What one set of rules did and another did not. */
export interface Difference extends Sides<Paid> {
  readonly alerts: Sides<Told>
}

const paidKey = ({ intent: { payment } }: Paid): string =>
  [payment.fromKey, payment.toKey, payment.assetId, payment.amount].join("|")

const toldKey = ({ kind, rule, subject }: Told): string => [kind, rule, subject].join("|")

/** Compares the payments and alerts of two backtests of one past. */
export const difference = (here: Backtest, there: Backtest): Difference => ({
  ...sides(here.payments, there.payments, paidKey),
  alerts: sides(here.told, there.told, toldKey),
})

const sides = <A extends { readonly at: number }>(
  here: ReadonlyArray<A>,
  there: ReadonlyArray<A>,
  keyOf: (one: A) => string,
): Sides<A> => {
  const left = new Map<string, Array<A>>()
  for (const one of there) {
    const same = left.get(keyOf(one))
    if (same === undefined) left.set(keyOf(one), [one])
    else same.push(one)
  }
  const onlyHere: Array<A> = []
  for (const one of here) {
    const same = left.get(keyOf(one)) ?? []
    const twin = same.findIndex(({ at }) => Math.abs(at - one.at) <= sameMillis)
    if (twin < 0) onlyHere.push(one)
    else same.splice(twin, 1)
  }
  const onlyThere = [...left.values()].flat().toSorted((a, b) => a.at - b.at)
  return { both: here.length - onlyHere.length, onlyHere, onlyThere }
}
