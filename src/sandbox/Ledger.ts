import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import type { AccountKey, AccountTypeName } from "../domain/Balance.ts"

const perSecond = 1_000_000_000n

/** Unix nanoseconds as the network's API prints times: RFC 3339 in UTC, fraction without zeros at its end. */
export const formatTime = (nanos: bigint): string => {
  const whole = new Date(Number(nanos / perSecond) * 1_000).toISOString().slice(0, 19)
  const fraction = (nanos % perSecond).toString().padStart(9, "0").replace(/0+$/, "")
  return fraction === "" ? `${whole}Z` : `${whole}.${fraction}Z`
}

/** Reads RFC 3339 with at most nine places and "Z" or an offset; undefined for anything else. */
export const parseTime = (text: string): bigint | undefined => {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(text)
  if (match === null) return undefined
  const millis = Date.parse(`${match[1]}${match[3]}`)
  if (Number.isNaN(millis)) return undefined
  return BigInt(millis) * 1_000_000n + BigInt((match[2] ?? "").padEnd(9, "0"))
}

/** The data node keeps block times in microseconds: everything finer is cut off. */
export const toMicros = (nanos: bigint): bigint => nanos - (nanos % 1_000n)

/** The owner of accounts that no party has. */
export const network = "network"

export interface Account extends AccountKey {
  readonly type: AccountTypeName
  /** SHA-256 over asset, party, market and type: hidden from readers, but the order of rows within a block. */
  readonly id: string
  balance: bigint
}

/** A line of balance history: what an account held after a block that touched it, changed or not. */
export interface BalanceLine {
  /** Block time, Unix nanoseconds cut to microseconds. */
  readonly time: bigint
  readonly account: Account
  readonly balance: bigint
}

/** Why money moved, by the network's own numbers. */
export const movementTypes = {
  TRANSFER_TYPE_LOSS: 1,
  TRANSFER_TYPE_INFRASTRUCTURE_FEE_PAY: 11,
  TRANSFER_TYPE_WITHDRAW: 18,
  TRANSFER_TYPE_DEPOSIT: 19,
  TRANSFER_TYPE_TRANSFER_FUNDS_SEND: 22,
  TRANSFER_TYPE_TRANSFER_FUNDS_DISTRIBUTE: 23,
} as const
type MovementType = keyof typeof movementTypes

/** One entry of the ledger: money that left one account for another. */
export interface Movement {
  /** Block time cut to microseconds, and a microsecond more for each entry before it in its block. */
  readonly time: bigint
  /** Block time cut to microseconds. */
  readonly blockTime: bigint
  readonly type: MovementType
  readonly amount: bigint
  readonly from: Account
  readonly to: Account
  /** Balances of both after it. */
  readonly fromBalance: bigint
  readonly toBalance: bigint
  /** The transfer that it is part of; "" for fees, deposits and withdrawals. */
  readonly transferId: string
}

/**
 * All money of the network in whole base units. History is ordered by time, then account id. The sum over all accounts
 * of an asset changes by deposit and withdrawal alone; the end of each block makes sure of it.
 */
export interface Ledger {
  readonly accounts: Map<string, Account>
  readonly rows: Array<BalanceLine>
  readonly movements: Array<Movement>
  /** Accounts that the block being made touched, with what they held before it. */
  readonly touched: Map<Account, bigint>
  /** Movements of the block being made. */
  readonly moved: Array<Omit<Movement, "time" | "blockTime">>
  /** Amount that the block in the making issued (or removed), by asset. */
  readonly issued: Map<string, bigint>
}

export const emptyLedger = (): Ledger => ({
  accounts: new Map(),
  rows: [],
  movements: [],
  touched: new Map(),
  moved: [],
  issued: new Map(),
})

type Key = AccountKey & { readonly type: AccountTypeName }

const keyOf = (key: Key): string => `${key.asset} ${key.party} ${key.market} ${key.type}`

export const accountId = (key: Key): string =>
  bytesToHex(sha256(utf8ToBytes(key.asset + key.party + key.market + key.type)))

export const findAccount = (ledger: Ledger, key: Key): Account | undefined => ledger.accounts.get(keyOf(key))

/** The account, created empty if it is new; a new account has a row in its block. */
export const openAccount = (ledger: Ledger, key: Key): Account => {
  const name = keyOf(key)
  const known = ledger.accounts.get(name)
  if (known !== undefined) return known
  const { asset, party, market, type } = key
  const account: Account = { id: accountId(key), asset, party, market, type, balance: 0n }
  ledger.accounts.set(name, account)
  change(ledger, account, 0n)
  return account
}

/** Puts back an account as it was stored. */
export const restoreAccount = (ledger: Ledger, account: Account): void => {
  ledger.accounts.set(keyOf(account), account)
}

/** The account of the outside world has no balance and reports no row after its first one. */
const change = (ledger: Ledger, account: Account, by: bigint): void => {
  if (!ledger.touched.has(account)) ledger.touched.set(account, account.balance)
  account.balance += by
}

const issue = (ledger: Ledger, asset: string, amount: bigint): void => {
  ledger.issued.set(asset, (ledger.issued.get(asset) ?? 0n) + amount)
}

const note = (ledger: Ledger, moved: Ledger["moved"][number]): void => {
  ledger.moved.push(moved)
}

const outside = (ledger: Ledger, asset: string): Account =>
  openAccount(ledger, { party: network, asset, market: "", type: "ACCOUNT_TYPE_EXTERNAL" })

/** The only way in which money comes into being. */
export const deposit = (ledger: Ledger, to: Account, amount: bigint): void => {
  const from = outside(ledger, to.asset)
  issue(ledger, to.asset, amount)
  change(ledger, to, amount)
  const after = { fromBalance: 0n, toBalance: to.balance, transferId: "" }
  note(ledger, { type: "TRANSFER_TYPE_DEPOSIT", amount, from, to, ...after })
}

/** The only way in which money leaves the network. Throws a RangeError where the account holds less. */
export const withdraw = (ledger: Ledger, from: Account, amount: bigint): void => {
  checkCovered(from, amount)
  const to = outside(ledger, from.asset)
  issue(ledger, from.asset, -amount)
  change(ledger, from, -amount)
  const after = { fromBalance: from.balance, toBalance: 0n, transferId: "" }
  note(ledger, { type: "TRANSFER_TYPE_WITHDRAW", amount, from, to, ...after })
}

/** Moves money. Throws a RangeError where the account holds less: callers check first, so that is a defect. */
export const move = (
  ledger: Ledger,
  step: Pick<Movement, "from" | "to" | "amount" | "type"> & { readonly transferId?: string },
): void => {
  const { from, to, amount, type, transferId = "" } = step
  checkCovered(from, amount)
  change(ledger, from, -amount)
  change(ledger, to, amount)
  const after = { fromBalance: from.balance, toBalance: to.balance, transferId }
  note(ledger, { type, amount, from, to, ...after })
}

const checkCovered = (from: Account, amount: bigint): void => {
  if (amount < 0n || amount > from.balance) throw new RangeError(`cannot move ${amount} out of ${from.balance}`)
}

/** Change of the ledger by one block. */
export interface LedgerDelta {
  readonly rows: ReadonlyArray<BalanceLine>
  readonly movements: ReadonlyArray<Movement>
}

/**
 * Ends a block: one row for each account that it touched, and its movements, both in their order. Throws a RangeError
 * where money appeared or vanished: no block that does that may ever be seen.
 */
export const closeBlock = (ledger: Ledger, blockTime: bigint): LedgerDelta => {
  checkSums(ledger)
  const time = toMicros(blockTime)
  const accounts = [...ledger.touched.keys()].sort((a, b) => (a.id < b.id ? -1 : 1))
  const rows = accounts.map((account) => ({ time, account, balance: account.balance }))
  for (const row of rows) ledger.rows.push(row)
  const movements = ledger.moved.map((moved, n) => ({ time: time + BigInt(n) * 1_000n, blockTime: time, ...moved }))
  for (const movement of movements) ledger.movements.push(movement)
  ledger.touched.clear()
  ledger.moved.length = 0
  ledger.issued.clear()
  return { rows, movements }
}

const checkSums = (ledger: Ledger): void => {
  const sums = new Map<string, bigint>()
  for (const [{ asset, balance }, before] of ledger.touched) {
    sums.set(asset, (sums.get(asset) ?? 0n) + balance - before)
  }
  for (const [asset, sum] of sums) {
    const issued = ledger.issued.get(asset) ?? 0n
    if (sum !== issued) throw new RangeError(`the sum of ${asset} changed by ${sum}, but ${issued} was issued`)
  }
}

/** The network's own accounts of an asset, there from the block that enables it. */
export const assetAccountTypes: ReadonlyArray<AccountTypeName> = [
  "ACCOUNT_TYPE_EXTERNAL",
  "ACCOUNT_TYPE_FEES_INFRASTRUCTURE",
  "ACCOUNT_TYPE_GLOBAL_INSURANCE",
  "ACCOUNT_TYPE_GLOBAL_REWARD",
  "ACCOUNT_TYPE_NETWORK_TREASURY",
  "ACCOUNT_TYPE_PENDING_FEE_REFERRAL_REWARD",
  "ACCOUNT_TYPE_PENDING_TRANSFERS",
]
