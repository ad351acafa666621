import { general, totalTypes } from "../domain/AccountType.ts"
import { accountKey, type TransferTerms, transferTermsOf } from "../rules/Snapshot.ts"
import type { WorldEvent } from "./World.ts"

/** A balance of one ledger account, from a moment on. Times are Unix nanoseconds. */
export interface HistoryRow {
  readonly at: bigint
  readonly party: string
  readonly asset: string
  readonly market: string
  readonly type: string
  readonly balance: bigint
}

/** A payment that was really made. */
interface RealPayment {
  readonly rule: string
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
  readonly before: ReadonlyArray<HistoryRow>
  /** Oldest first. */
  readonly rows: ReadonlyArray<HistoryRow>
  readonly gaps: ReadonlyArray<{ readonly since: bigint; readonly until: bigint }>
  readonly payments: ReadonlyArray<RealPayment>
  readonly parameters: ReadonlyMap<string, string>
  readonly quanta: ReadonlyMap<string, bigint>
}

export const millisOf = (nanos: bigint): number => Number(nanos / 1_000_000n)

export const termsIn = ({ parameters }: History): TransferTerms | undefined => transferTermsOf(parameters)

/** A row that came this much later than a payment's block may still be the payment's own. */
const matchNanos = 60_000_000_000n

interface Part {
  readonly at: bigint
  readonly account: string
  readonly free: bigint
  readonly beside: bigint
  /** The first that is ever known of the account: it is set, not moved. */
  readonly isFirst: boolean
}

/**
 * Events of the outside world: every change of a balance, without the payments that our own rules really made. Both
 * ends of such a payment are removed at the times of the rows that they caused.
 */
export const outsideOf = (history: History, start: number): ReadonlyArray<WorldEvent> => {
  const parts = partsOf(history)
  const taken = takeOut(
    parts,
    history.payments.filter(({ executedAt }) => millisOf(executedAt) >= start),
  )
  const moves: Array<WorldEvent> = []
  for (const part of parts.all) {
    const { at, account, beside, isFirst } = part
    const event = { at: Math.max(start, millisOf(at)), account, free: part.free - (taken.get(part) ?? 0n) }
    moves.push(isFirst ? { kind: "set", ...event } : { kind: "move", ...event, beside })
  }
  for (const { since, until } of history.gaps) {
    const from = Math.max(start, millisOf(since))
    moves.push({ kind: "gateway", at: from, answers: false })
    moves.push({ kind: "gateway", at: Math.max(from, millisOf(until)), answers: true })
  }
  return moves.sort((a, b) => a.at - b.at)
}

interface Parts {
  readonly all: ReadonlyArray<Part>
  readonly byAccount: ReadonlyMap<string, ReadonlyArray<Part>>
}

const partsOf = ({ before, rows }: History): Parts => {
  const last = new Map<string, bigint>()
  const known = new Set<string>()
  const all: Array<Part> = []
  const byAccount = new Map<string, Array<Part>>()
  const add = ({ at, party, asset, market, type, balance }: HistoryRow) => {
    if (!totalTypes.has(type)) return
    const key = `${party}|${asset}|${market}|${type}`
    const by = balance - (last.get(key) ?? 0n)
    last.set(key, balance)
    const account = accountKey(party, asset)
    const isFree = type === general && market === ""
    const isFirst = isFree && !known.has(account)
    if (by === 0n && !isFirst) return
    if (isFree) known.add(account)
    const part: Part = { at, account, free: isFree ? by : 0n, beside: isFree ? 0n : by, isFirst }
    all.push(part)
    const own = byAccount.get(account)
    if (own === undefined) byAccount.set(account, [part])
    else own.push(part)
  }
  for (const row of before) add({ ...row, at: 0n })
  for (const row of rows) add(row)
  return { all, byAccount }
}

/**
 * Effect of our own payments on the rows that they caused, or else on the first row after them, which includes it.
 * Payments that no row shows yet are not in the past and are not removed.
 */
const takeOut = ({ byAccount }: Parts, payments: ReadonlyArray<RealPayment>): ReadonlyMap<Part, bigint> => {
  const taken = new Map<Part, bigint>()
  const take = (account: string, { executedAt }: RealPayment, by: bigint) => {
    const known = byAccount.get(account) ?? []
    const first = firstAt(known, executedAt)
    const near = known.slice(first, firstAt(known, executedAt + matchNanos))
    const part =
      near.find((one) => one.free === by && !taken.has(one)) ?? near.find(({ free }) => free !== 0n) ?? known[first]
    if (part !== undefined) taken.set(part, (taken.get(part) ?? 0n) + by)
  }
  for (const payment of payments) {
    take(accountKey(payment.fromKey, payment.assetId), payment, -payment.amount - payment.fee)
    take(accountKey(payment.toKey, payment.assetId), payment, payment.amount)
  }
  return taken
}

/** Place of the first part at or after a time. */
const firstAt = (parts: ReadonlyArray<Part>, at: bigint): number => {
  let low = 0
  let high = parts.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (parts[middle]!.at < at) low = middle + 1
    else high = middle
  }
  return low
}

/** A row of an export: texts, numbers, and null where there is nothing. */
type ExportedRow = Readonly<Record<string, string | number | null | undefined>>

/** Unix nanoseconds of "2026-11-21T10:00:00.123456789Z". */
const nanosIn = (at: ExportedRow[string]): bigint => {
  const [seconds, fraction = ""] = String(at).replace("Z", "").split(".")
  return BigInt(Date.parse(`${seconds}Z`)) * 1_000_000n + BigInt(fraction.padEnd(9, "0"))
}

/** Gathers a history from rows as `export` reads them from a store, page by page. */
export const makeHistoryBook = () => {
  const before: Array<HistoryRow> = []
  const rows: Array<HistoryRow> = []
  const gaps: Array<History["gaps"][number]> = []
  const payments: Array<RealPayment> = []
  const parameters = new Map<string, string>()
  const quanta = new Map<string, bigint>()
  // A year of rows names the same few accounts again and again.
  const words = new Map<string, string>()
  const word = (value: ExportedRow[string]): string => {
    const text = String(value ?? "")
    const known = words.get(text)
    if (known !== undefined) return known
    words.set(text, text)
    return text
  }
  const addBalance = ({ kind, at, until, party, asset, market, type, balance }: ExportedRow): void => {
    if (kind === "parameter") parameters.set(word(type), String(balance))
    else if (kind === "quantum") quanta.set(word(asset), BigInt(String(balance)))
    else if (kind === "gap") gaps.push({ since: nanosIn(at), until: nanosIn(until) })
    else {
      const account = { party: word(party), asset: word(asset), market: word(market), type: word(type) }
      const row = { at: nanosIn(at), ...account, balance: BigInt(String(balance)) }
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
      rows: rows.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0)),
      gaps,
      payments,
      parameters,
      quanta,
    }),
  }
}

const paymentOf = (row: ExportedRow): RealPayment => ({
  rule: String(row["rule"]),
  decidedAt: Date.parse(String(row["decidedAt"])),
  executedAt: nanosIn(row["executedAt"]),
  fromKey: String(row["fromKey"]),
  toKey: String(row["toKey"]),
  assetId: String(row["assetId"]),
  amount: BigInt(String(row["amountUnits"])),
  fee: BigInt(row["feeUnits"] ?? 0),
})
