import { general, totalTypes } from "../domain/AccountType.ts"
import { isHex64 } from "../domain/Hex.ts"
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
export type ToldRow = Readonly<Record<string, string | number | null | undefined>>

/** Gathers a history from rows as `export` writes them, page by page. */
export type HistoryBook = ReturnType<typeof makeHistoryBook>

const timeForm = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z$/

/** Unix nanoseconds of "2026-11-21T10:00:00.123456789Z"; undefined where it is no such time. */
const nanosIn = (text: string): bigint | undefined => {
  const match = timeForm.exec(text)
  const seconds = match === null ? Number.NaN : Date.parse(`${match[1]}Z`)
  if (Number.isNaN(seconds)) return undefined
  return BigInt(seconds) * 1_000_000n + BigInt((match?.[2] ?? "").padEnd(9, "0"))
}

const digits = /^[0-9]{1,78}$/

const kinds = ["change", "opening", "before", "gap", "quantum", "parameter"]
const isBalance = ({ kind }: ToldRow): boolean => kind === "change" || kind === "opening" || kind === "before"

/** Why a row has no usable balance. */
const problemOf = ({ at, type, balance }: ToldRow): string | undefined => {
  if (nanosIn(String(at)) === undefined) return "at is not a time in UTC such as 2026-11-21T10:00:00Z"
  if (!digits.test(String(balance))) return "balance is not a whole number of base units"
  return /^([0-9]+|ACCOUNT_TYPE_[A-Z_]+)$/.test(String(type)) ? undefined : "type is none such as ACCOUNT_TYPE_GENERAL"
}

const stored = (): string => "a row of the store"

export const makeHistoryBook = (names?: HistoryNames) => {
  const before: Array<HistoryRow> = []
  const rows: Array<HistoryRow> = []
  const gaps: Array<History["gaps"][number]> = []
  const payments: Array<RealPayment> = []
  const parameters = new Map<string, string>()
  const quanta = new Map<string, bigint>()
  const problems: Array<string> = []
  // A year of rows names the same few accounts again and again.
  const words = new Map<string, string>()
  const word = (value: ToldRow[string]): string => {
    const text = String(value ?? "")
    const known = words.get(text)
    if (known !== undefined) return known
    words.set(text, text)
    return text
  }
  const strangers = names === undefined ? undefined : makeStrangers(names)
  const partyOf = (party: ToldRow[string], place: () => string): string => {
    const text = word(party)
    return strangers?.keyOf("party", text, place) ?? text
  }
  const assetOf = (asset: ToldRow[string], place: () => string): string => {
    const text = word(asset)
    return strangers?.keyOf("asset", text, place) ?? text
  }
  const idOf = (asset: ToldRow[string]): string => names?.asset.get(word(asset)) ?? word(asset)
  const wrong = (row: ToldRow, place: () => string, why: string): void => {
    if (problems.length < 10) problems.push(`${place()}: ${why}: ${JSON.stringify(row).slice(0, 120)}`)
  }
  const addBalance = (row: ToldRow, place: () => string): void => {
    const problem = problemOf(row)
    if (problem !== undefined) {
      wrong(row, place, problem)
      return
    }
    const { kind, party, asset, market, type } = row
    const account = {
      party: partyOf(party, place),
      asset: assetOf(asset, place),
      market: word(market),
      type: word(type),
    }
    const told = { at: nanosIn(String(row["at"])) ?? 0n, ...account, balance: BigInt(String(row["balance"])) }
    ;(kind === "before" ? before : rows).push(told)
  }
  const addOther = (row: ToldRow, place: () => string): void => {
    const value = String(row["balance"] ?? "")
    if (row["kind"] === "parameter") parameters.set(word(row["type"]), value)
    else if (row["kind"] === "quantum" && digits.test(value)) quanta.set(idOf(row["asset"]), BigInt(value))
    else if (row["kind"] === "gap") {
      const since = nanosIn(String(row["at"]))
      const until = nanosIn(String(row["until"]))
      if (since === undefined || until === undefined) wrong(row, place, "at or until is not a time in UTC")
      else gaps.push({ since, until })
    } else wrong(row, place, `kind is none of ${kinds.join(", ")}, or its balance is not a whole number`)
  }
  return {
    /** Faults of rows that could not be used, at most ten. */
    problems: problems as ReadonlyArray<string>,
    /** Parties and assets that the treasury does not have; empty where it was not said what it has. */
    strangers: () => strangers?.all() ?? [],
    /** `place` names the row that is looked at. */
    addBalances: (told: Iterable<ToldRow>, place: () => string = stored): void => {
      for (const row of told) (isBalance(row) ? addBalance : addOther)(row, place)
    },
    addPayments: (told: Iterable<ToldRow>, place: () => string = stored): void => {
      for (const row of told) {
        if (row["state"] === undefined) wrong(row, place, "it has no state")
        if (row["state"] !== "confirmed") continue
        const payment = paymentOf(row)
        if (payment === undefined) wrong(row, place, "a time or an amount in it is none")
        else {
          partyOf(payment.fromKey, place)
          payments.push(payment)
        }
      }
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

const paymentOf = (row: ToldRow): RealPayment | undefined => {
  const executedAt = nanosIn(String(row["executedAt"]))
  const decidedAt = Date.parse(String(row["decidedAt"]))
  const amount = String(row["amountUnits"])
  const fee = String(row["feeUnits"] ?? "0") || "0"
  if (executedAt === undefined || Number.isNaN(decidedAt) || !digits.test(amount) || !digits.test(fee)) return undefined
  return {
    rule: String(row["rule"]),
    decidedAt,
    executedAt,
    fromKey: String(row["fromKey"]),
    toKey: String(row["toKey"]),
    assetId: String(row["assetId"]),
    amount: BigInt(amount),
    fee: BigInt(fee),
  }
}

/** Names of parties and assets in the treasury's file, with their keys and ids. */
export interface HistoryNames {
  readonly party: ReadonlyMap<string, string>
  readonly asset: ReadonlyMap<string, string>
}

/** A party or an asset of a history that the treasury does not have. */
export interface UnknownName {
  readonly what: keyof HistoryNames
  readonly text: string
  readonly rows: number
  /** Place of its first row. */
  readonly place: string
}

/** Gathers them while a history is read; gives the key or id that a cell names. */
const makeStrangers = (names: HistoryNames) => {
  const keys = { party: new Set(names.party.values()), asset: new Set(names.asset.values()) }
  const seen = new Map<string, UnknownName>()
  return {
    keyOf: (what: keyof HistoryNames, text: string, place: () => string): string => {
      const key = names[what].get(text) ?? (keys[what].has(text) ? text : undefined)
      if (key !== undefined) return key
      const { rows = 0, place: first = place() } = seen.get(`${what} ${text}`) ?? {}
      seen.set(`${what} ${text}`, { what, text, rows: rows + 1, place: first })
      return text
    },
    all: (): ReadonlyArray<UnknownName> => [...seen.values()],
  }
}

/** True if rows with it must be a mistake: a name that nobody has. A stranger's key may be intended. */
export const isMistaken = ({ what, text }: UnknownName): boolean => what === "party" && !isHex64(text)
