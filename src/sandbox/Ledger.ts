import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import type { AccountTypeName } from "../domain/AccountType.ts"
import type { AccountKey } from "../domain/Balance.ts"
import { toMicros } from "./Time.ts"

/** The owner of accounts that no party has. */
export const network = "network"

export interface Account extends AccountKey {
  readonly type: AccountTypeName
  /** SHA-256 over asset, party, market and type: hidden from readers, but the order of rows within a block. */
  readonly id: string
  balance: bigint
}

/** A line of balance history: what an account held after a block that touched it, changed or not. */
export interface BalanceRow {
  /** Block time, Unix nanoseconds cut to microseconds. */
  readonly time: bigint
  readonly account: Account
  readonly balance: bigint
}

/** All money of the network in whole base units. History is ordered by time, then account id. */
export interface Ledger {
  readonly accounts: Map<string, Account>
  readonly rows: Array<BalanceRow>
  readonly touched: Set<Account>
}

export const emptyLedger = (): Ledger => ({ accounts: new Map(), rows: [], touched: new Set() })

type Key = AccountKey & { readonly type: AccountTypeName }

const keyOf = (key: Key): string => `${key.asset} ${key.party} ${key.market} ${key.type}`

export const accountId = (key: Key): string =>
  bytesToHex(sha256(utf8ToBytes(key.asset + key.party + key.market + key.type)))

export const findAccount = (ledger: Ledger, key: Key): Account | undefined => ledger.accounts.get(keyOf(key))

/** The account, created with nothing in it where it is new; a new account has a row in its block. */
export const openAccount = (ledger: Ledger, key: Key): Account => {
  const name = keyOf(key)
  const known = ledger.accounts.get(name)
  if (known !== undefined) return known
  const { asset, party, market, type } = key
  const account: Account = { id: accountId(key), asset, party, market, type, balance: 0n }
  ledger.accounts.set(name, account)
  ledger.touched.add(account)
  return account
}

/** Puts back an account as it was stored. */
export const restoreAccount = (ledger: Ledger, account: Account): void => {
  ledger.accounts.set(keyOf(account), account)
}

/** A deposit: the only way in which money comes into being. */
export const deposit = (ledger: Ledger, account: Account, amount: bigint): void => {
  account.balance += amount
  ledger.touched.add(account)
}

/** Moves money. Throws a RangeError where the account holds less: callers check first, so that is a defect. */
export const move = (ledger: Ledger, from: Account, to: Account, amount: bigint): void => {
  if (amount < 0n || amount > from.balance) throw new RangeError(`cannot move ${amount} out of ${from.balance}`)
  from.balance -= amount
  to.balance += amount
  ledger.touched.add(from)
  ledger.touched.add(to)
}

/** Ends a block: one row for each account that it touched. Returns the rows, in their order. */
export const closeBlock = (ledger: Ledger, time: bigint): ReadonlyArray<BalanceRow> => {
  const accounts = [...ledger.touched].sort((a, b) => (a.id < b.id ? -1 : 1))
  const rows = accounts.map((account) => ({ time: toMicros(time), account, balance: account.balance }))
  for (const row of rows) ledger.rows.push(row)
  ledger.touched.clear()
  return rows
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
