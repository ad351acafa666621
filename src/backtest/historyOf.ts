import { isHex64 } from "../domain/Hex.ts"
import type { History, HistoryRow, RealPayment } from "./History.ts"

/** A row of an export: texts, numbers, and null where there is nothing. */
export type ToldRow = Readonly<Record<string, string | number | null | undefined>>

/** Gathers a history from rows as `export` writes them, page by page. */
export interface HistoryBook {
  /** `place` names the row that is looked at. */
  readonly addBalances: (rows: Iterable<ToldRow>, place?: () => string) => void
  readonly addPayments: (rows: Iterable<ToldRow>, place?: () => string) => void
  /** Faults of rows that could not be used, at most ten. */
  readonly problems: ReadonlyArray<string>
  /** Parties and assets that the treasury does not have; empty where it was not said what it has. */
  readonly strangers: () => ReadonlyArray<UnknownName>
  readonly history: () => History
}

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
  if (nanosIn(String(at)) === undefined) return "at is no time in UTC such as 2026-11-21T10:00:00Z"
  if (!digits.test(String(balance))) return "balance is no whole number of base units"
  return /^([0-9]+|ACCOUNT_TYPE_[A-Z_]+)$/.test(String(type)) ? undefined : "type is none such as ACCOUNT_TYPE_GENERAL"
}

const stored = (): string => "a row of the store"

export const makeHistoryBook = (names?: HistoryNames): HistoryBook => {
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
      if (since === undefined || until === undefined) wrong(row, place, "at or until is no time in UTC")
      else gaps.push({ since, until })
    } else wrong(row, place, `kind is none of ${kinds.join(", ")}, or its balance is no whole number`)
  }
  return {
    problems,
    strangers: () => strangers?.all() ?? [],
    addBalances: (told, place = stored) => {
      for (const row of told) (isBalance(row) ? addBalance : addOther)(row, place)
    },
    addPayments: (told, place = stored) => {
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
    history: () => ({
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
