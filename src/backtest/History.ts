import { accountKeyText, type BalanceChange, general, totalTypes } from "../domain/Balance.ts"
import { millisOf, nanosOf } from "../domain/Time.ts"
import { accountKey } from "../rules/Snapshot.ts"
import type { WorldEvent } from "./World.ts"

/** A payment that was really made. */
interface RealPayment {
  /** Unix milliseconds of its decision. */
  readonly decidedAt: number
  /** Unix nanoseconds of its block. */
  readonly executedAt: bigint
  readonly fromKey: string
  readonly toKey: string
  readonly assetId: string
  readonly amount: bigint
  readonly fee: bigint
}

/** A treasury's past. */
export interface History {
  /** Balances with which it begins. */
  readonly before: ReadonlyArray<BalanceChange>
  /** Oldest first. */
  readonly rows: ReadonlyArray<BalanceChange>
  readonly gaps: ReadonlyArray<{ readonly since: bigint; readonly until: bigint }>
  readonly payments: ReadonlyArray<RealPayment>
  readonly parameters: ReadonlyMap<string, string>
  readonly quanta: ReadonlyMap<string, bigint>
}

/** Latest time after a payment's block at which a row may still be caused by that payment. */
const matchNanos = 60_000_000_000n

/** A row as a difference from the row before it. */
interface Change {
  readonly at: bigint
  readonly account: string
  readonly free: bigint
  readonly beside: bigint
  /** The account's first known balance: it is set, not moved. */
  readonly isFirst: boolean
}

/**
 * Events of the outside world: every change of a balance, without the payments that our own rules really made. Both
 * ends of such a payment are removed at the times of the rows that they caused.
 */
export const externalEvents = (history: History, start: number): ReadonlyArray<WorldEvent> => {
  const changes = changesOf(history)
  const own = ownEffects(
    changes,
    history.payments.filter(({ executedAt }) => millisOf(executedAt) >= start),
  )
  const events: Array<WorldEvent> = []
  for (const change of changes) {
    const { at, account, beside, isFirst } = change
    const event = { at: Math.max(start, millisOf(at)), account, free: change.free - (own.get(change) ?? 0n) }
    events.push(isFirst ? { kind: "set", ...event } : { kind: "move", ...event, beside })
  }
  for (const { since, until } of history.gaps) {
    const from = Math.max(start, millisOf(since))
    events.push({ kind: "gateway", at: from, answers: false })
    events.push({ kind: "gateway", at: Math.max(from, millisOf(until)), answers: true })
  }
  return events.sort((a, b) => a.at - b.at)
}

const changesOf = ({ before, rows }: History): ReadonlyArray<Change> => {
  const last = new Map<string, bigint>()
  const known = new Set<string>()
  const changes: Array<Change> = []
  const add = (row: BalanceChange) => {
    const { timestamp: at, party, asset, market, type, balance } = row
    if (!totalTypes.has(type)) return
    const key = accountKeyText(row)
    const by = balance - (last.get(key) ?? 0n)
    last.set(key, balance)
    const account = accountKey(party, asset)
    const isFree = type === general && market === ""
    const isFirst = isFree && !known.has(account)
    if (by === 0n && !isFirst) return
    if (isFree) known.add(account)
    changes.push({ at, account, free: isFree ? by : 0n, beside: isFree ? 0n : by, isFirst })
  }
  for (const row of before) add({ ...row, timestamp: 0n })
  for (const row of rows) add(row)
  return changes
}

/**
 * Effect of our own payments on the rows that they caused, or else on the first row after them, which includes it.
 * Payments that no row shows yet are not in the past and are not removed.
 */
const ownEffects = (
  changes: ReadonlyArray<Change>,
  payments: ReadonlyArray<RealPayment>,
): ReadonlyMap<Change, bigint> => {
  const byAccount = Map.groupBy(changes, ({ account }) => account)
  const own = new Map<Change, bigint>()
  const add = (account: string, { executedAt }: RealPayment, by: bigint) => {
    const known = byAccount.get(account) ?? []
    const first = firstAt(known, executedAt)
    const near = known.slice(first, firstAt(known, executedAt + matchNanos))
    const change =
      near.find((one) => one.free === by && !own.has(one)) ?? near.find(({ free }) => free !== 0n) ?? known[first]
    if (change !== undefined) own.set(change, (own.get(change) ?? 0n) + by)
  }
  for (const payment of payments) {
    add(accountKey(payment.fromKey, payment.assetId), payment, -payment.amount - payment.fee)
    add(accountKey(payment.toKey, payment.assetId), payment, payment.amount)
  }
  return own
}

/** Index of the first change at or after a time. */
const firstAt = (changes: ReadonlyArray<Change>, at: bigint): number => {
  let low = 0
  let high = changes.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (changes[middle]!.at < at) low = middle + 1
    else high = middle
  }
  return low
}

/** A row of an export: texts, numbers, and null where there is nothing. */
type ExportedRow = Readonly<Record<string, string | number | null | undefined>>

/** Unix nanoseconds of "2026-11-21T10:00:00.123456789Z". */
const nanosIn = (at: ExportedRow[string]): bigint => {
  const [seconds, fraction = ""] = String(at).replace("Z", "").split(".")
  return nanosOf(Date.parse(`${seconds}Z`)) + BigInt(fraction.padEnd(9, "0"))
}

/** Oldest first. */
export const byTime = (rows: ReadonlyArray<BalanceChange>): ReadonlyArray<BalanceChange> =>
  rows.toSorted((a, b) => (a.timestamp < b.timestamp ? -1 : a.timestamp > b.timestamp ? 1 : 0))

/** Gathers a history from rows as `export` reads them from a store, page by page. */
export const makeHistoryReader = () => {
  const before: Array<BalanceChange> = []
  const rows: Array<BalanceChange> = []
  const gaps: Array<History["gaps"][number]> = []
  const payments: Array<RealPayment> = []
  const parameters = new Map<string, string>()
  const quanta = new Map<string, bigint>()
  // A year of rows names the same few accounts: each name is kept in memory once.
  const names = new Map<string, string>()
  const interned = (value: ExportedRow[string]): string => {
    const text = String(value ?? "")
    const known = names.get(text)
    if (known !== undefined) return known
    names.set(text, text)
    return text
  }
  const addBalance = ({ kind, at, until, party, asset, market, type, balance }: ExportedRow): void => {
    if (kind === "parameter") parameters.set(interned(type), String(balance))
    else if (kind === "quantum") quanta.set(interned(asset), BigInt(String(balance)))
    else if (kind === "gap") gaps.push({ since: nanosIn(at), until: nanosIn(until) })
    else {
      const owner = { party: interned(party), asset: interned(asset) }
      const account = { ...owner, market: interned(market), type: interned(type) }
      const row = { timestamp: nanosIn(at), ...account, balance: BigInt(String(balance)) }
      ;(kind === "before" ? before : rows).push(row)
    }
  }
  return {
    addBalances: (exported: Iterable<ExportedRow>): void => {
      for (const row of exported) addBalance(row)
    },
    addPayments: (exported: Iterable<ExportedRow>): void => {
      for (const row of exported) if (row["state"] === "confirmed") payments.push(paymentOf(row))
    },
    history: (): History => ({
      before,
      rows: byTime(rows),
      gaps,
      payments,
      parameters,
      quanta,
    }),
  }
}

const paymentOf = (row: ExportedRow): RealPayment => ({
  decidedAt: Date.parse(String(row["decidedAt"])),
  executedAt: nanosIn(row["executedAt"]),
  fromKey: String(row["fromKey"]),
  toKey: String(row["toKey"]),
  assetId: String(row["assetId"]),
  amount: BigInt(String(row["amountUnits"])),
  fee: BigInt(row["feeUnits"] ?? 0),
})
