import { formatAmount } from "../../domain/Amount.ts"
import type { Party } from "../Account.ts"
import type { KindInput, Need, NeededTransfer } from "../Need.ts"
import { networkFee, networkMinimum, type Snapshot } from "../Snapshot.ts"
import type { Subject } from "../Subject.ts"

type Rebalance = Extract<Subject, { kind: "rebalance" }>

/** How far an account is from its share: above zero it has too much. */
interface Offset {
  readonly party: Party
  readonly by: bigint
}

/**
 * If an account is further from its share than the tolerance, brings all accounts to their shares by few transfers: the
 * largest surplus fills the largest deficit, so that each transfer settles at least one account. Fees come from the
 * surplus. Transfers below the minimum are left out if there are others.
 */
export const rebalanceNeed = ({ subject, snapshot, balances }: KindInput<"rebalance">): Need => {
  const { weights, tolerance, asset } = subject.rule
  const total = balances.reduce((sum, balance) => sum + balance, 0n)
  const whole = weights.reduce((sum, { weight }) => sum + weight, 0n)
  const offsets = weights.map(({ party, weight }, i) => ({
    party,
    weight,
    balance: balances[i] ?? 0n,
    by: (balances[i] ?? 0n) - (total * weight) / whole,
  }))
  const furthest = offsets.reduce((a, b) => (size(b.by) > size(a.by) ? b : a))
  const now = formatAmount(furthest.balance, asset.decimals)
  const share = `${furthest.party.name} holds ${now}, ${percent(furthest.balance, total)} of the whole`
  const aim = `${percent(furthest.weight, whole)} is its share, ${percent(tolerance.numerator, tolerance.denominator)} its tolerance`
  const detail = total === 0n ? "all of them are empty" : `${share}; ${aim}`
  if (size(furthest.by) * tolerance.denominator <= total * tolerance.numerator) return { _tag: "InBand", detail }
  const transfers = match(offsets, subject, snapshot)
  return transfers.length === 0 ? { _tag: "InBand", detail } : { _tag: "Wanted", detail, transfers }
}

const size = (n: bigint): bigint => (n < 0n ? -n : n)

/** "52.5 %"; "0 %" of nothing. */
const percent = (part: bigint, whole: bigint): string => {
  const tenths = whole === 0n ? 0n : (part * 1_000n) / whole
  return `${tenths / 10n}${tenths % 10n === 0n ? "" : `.${tenths % 10n}`} %`
}

const match = (
  offsets: ReadonlyArray<Offset>,
  subject: Rebalance,
  snapshot: Snapshot,
): ReadonlyArray<NeededTransfer> => {
  const { asset, min } = subject.rule
  const least = max(min.get(asset.id) ?? 0n, networkMinimum(snapshot, asset), 1n)
  const order = (a: Offset, b: Offset) => (a.by === b.by ? 0 : a.by < b.by ? 1 : -1)
  const rich = offsets
    .filter(({ by }) => by > 0n)
    .toSorted(order)
    .map((o) => ({ party: o.party, left: o.by }))
  const poor = offsets
    .filter(({ by }) => by < 0n)
    .toSorted(order)
    .reverse()
    .map((o) => ({ party: o.party, left: -o.by }))
  const transfers: Array<NeededTransfer> = []
  const small: Array<NeededTransfer> = []
  while (rich.length > 0 && poor.length > 0) {
    const [payer, payee] = pair(rich, poor)
    const fee = networkFee(snapshot, asset, payer.left) ?? 0n
    const spare = payer.left > fee ? payer.left - fee : 0n
    const amount = spare < payee.left ? spare : payee.left
    const transfer = { from: payer.party, to: payee.party, amount }
    if (amount >= least) transfers.push(transfer)
    else small.push(transfer)
    payer.left -= amount + (networkFee(snapshot, asset, amount) ?? 0n)
    payee.left -= amount
    if (payer.left <= fee || amount === spare) rich.splice(rich.indexOf(payer), 1)
    if (payee.left <= 0n) poor.splice(poor.indexOf(payee), 1)
    rich.sort((a, b) => (a.left === b.left ? 0 : a.left < b.left ? 1 : -1))
    poor.sort((a, b) => (a.left === b.left ? 0 : a.left < b.left ? 1 : -1))
  }
  return transfers.length > 0 ? transfers : small.slice(0, 1)
}

interface Side {
  readonly party: Party
  left: bigint
}

/** A pair that settles each other exactly, which saves a transfer; otherwise the largest of both sides. */
const pair = (rich: ReadonlyArray<Side>, poor: ReadonlyArray<Side>): readonly [Side, Side] => {
  for (const payer of rich) {
    const payee = poor.find(({ left }) => left === payer.left)
    if (payee !== undefined) return [payer, payee]
  }
  return [rich[0]!, poor[0]!]
}

const max = (...values: ReadonlyArray<bigint>): bigint => values.reduce((a, b) => (a > b ? a : b))
