import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import type { Chain, Included } from "../../src/sandbox/Chain.ts"
import type { Movement } from "../../src/sandbox/Ledger.ts"
import type { Traffic } from "./Traffic.ts"

/** The accounts of a network kept a second time, from the movements alone, and how far they are read. */
interface Books {
  readonly balances: Map<string, bigint>
  /** All money of each asset. */
  readonly sums: Map<string, bigint>
  /** Transfers and cancellations of the epoch, by party. */
  readonly counted: Map<string, number>
  epoch: number
  rows: number
  movements: number
  included: number
}

export const emptyBooks = (): Books => ({
  balances: new Map(),
  sums: new Map(),
  counted: new Map(),
  epoch: 0,
  rows: 0,
  movements: 0,
  included: 0,
})

/** A block under audit. */
interface Page {
  readonly books: Books
  readonly chain: Chain
  readonly included: ReadonlyArray<Included>
  readonly movements: ReadonlyArray<Movement>
  /** Fails with the seed, the block and what is wrong in it, where it is not as it must be. */
  readonly must: (ok: boolean, what: string) => void
}

/** Proves a block by what was there before it. Returns the transactions in it. */
export const auditBlock = (books: Books, { chain, sent }: Traffic): ReadonlyArray<Included> => {
  const included = chain.included.slice(books.included)
  const page: Page = {
    books,
    chain,
    included,
    movements: chain.ledger.movements.slice(books.movements),
    must: (ok, what) => ok || assert.fail(`seed ${chain.scenario.seed}, block ${chain.height}: ${what}`),
  }
  auditSums(page, sent)
  auditMovements(page)
  auditRows(page)
  auditWaiting(page)
  auditLimits(page)
  books.rows = chain.ledger.rows.length
  books.movements = chain.ledger.movements.length
  books.included = chain.included.length
  return included
}

const add = (map: Map<string, bigint>, key: string, amount: bigint): void => {
  map.set(key, (map.get(key) ?? 0n) + amount)
}

/** All money of each asset: what it was, and what the scenario brought in, without what was taken out. */
const auditSums = ({ books: { sums }, chain, included, must }: Page, sent: Traffic["sent"]): void => {
  for (const { assetId, amount, height } of chain.scenario.deposits) {
    if (height === chain.height) add(sums, assetId, amount)
  }
  for (const { hash, code, height } of included) {
    must(height === chain.height, `a transaction of block ${height}`)
    const command = sent.get(hash)?.command
    if (code === 0 && command?._tag === "Withdraw") add(sums, command.asset, -command.amount)
  }
  const found = new Map<string, bigint>()
  for (const { asset, party, type, balance } of chain.ledger.accounts.values()) {
    must(balance >= 0n, `${type} of ${party} holds ${balance}`)
    add(found, asset, balance)
  }
  for (const [asset, sum] of found) {
    must(sum === (sums.get(asset) ?? 0n), `there is ${sum} of ${asset}, not ${sums.get(asset)}`)
  }
}

/** Each account is what the movements make of it; the outside world's holds nothing, as the network's does. */
const auditMovements = ({ books: { balances }, chain, movements, must }: Page): void => {
  for (const { from, to, amount, fromBalance, toBalance } of movements) {
    if (from.type !== "ACCOUNT_TYPE_EXTERNAL") add(balances, from.id, -amount)
    if (to.type !== "ACCOUNT_TYPE_EXTERNAL") add(balances, to.id, amount)
    must(fromBalance === (balances.get(from.id) ?? 0n), `${from.type} of ${from.party} is told as ${fromBalance}`)
    must(toBalance === (balances.get(to.id) ?? 0n), `${to.type} of ${to.party} is told as ${toBalance}`)
  }
  for (const { id, type, party, balance } of chain.ledger.accounts.values()) {
    must(balance === (balances.get(id) ?? 0n), `${type} of ${party} holds ${balance}, moved were ${balances.get(id)}`)
  }
}

/** History has one row for each account that moved, in order, with what the account holds. */
const auditRows = ({ books, chain, movements, must }: Page): void => {
  const rows = chain.ledger.rows.slice(books.rows)
  let last = ""
  for (const { time, account, balance } of rows) {
    must(balance === account.balance, `the row of ${account.type} of ${account.party} says ${balance}`)
    must(time === chain.time - (chain.time % 1_000n), `a row is of ${time}`)
    must(last < account.id, "rows are out of order, or an account has two")
    last = account.id
  }
  const told = new Set(rows.map(({ account }) => account))
  for (const account of movements.flatMap(({ from, to }) => [from, to])) {
    // Of the outside world's account nobody hears: it never holds anything.
    must(told.has(account) || account.type === "ACCOUNT_TYPE_EXTERNAL", `${account.type} moved and has no row`)
  }
}

/** What waits for its delivery is exactly what open transfers owe. */
const auditWaiting = ({ chain, must }: Page): void => {
  const owed = new Map<string, bigint>()
  for (const id of chain.openTransfers) {
    const transfer = chain.transfers.get(id)
    if (transfer?.kind._tag !== "oneOff") continue
    add(owed, transfer.asset, transfer.amount * BigInt(1 + (transfer.repeats ?? 0)))
  }
  for (const { type, asset, balance } of chain.ledger.accounts.values()) {
    if (type !== "ACCOUNT_TYPE_PENDING_TRANSFERS") continue
    must(balance === (owed.get(asset) ?? 0n), `${balance} of ${asset} wait, ${owed.get(asset)} are owed`)
  }
}

/** Nobody has more transfers and cancellations in the blocks of an epoch than its limit. */
const auditLimits = ({ books, chain, included, must }: Page): void => {
  const { counted } = books
  for (const { party, command } of included) {
    if (command !== "Transfer Funds" && command !== "Cancel Transfer Funds") continue
    const count = (counted.get(party) ?? 0) + 1
    counted.set(party, count)
    must(count <= chain.scenario.transfersPerEpoch, `${count} transfers of ${party} in an epoch`)
  }
  // Proposers count by the block before: the block that begins an epoch still belongs to the old one.
  if (books.epoch !== chain.epoch.seq) counted.clear()
  books.epoch = chain.epoch.seq
}

/** Keys in order: the file and the memory make the same entry in different ways. */
const text = (value: object): string =>
  JSON.stringify(value, (_, member) => {
    if (typeof member === "bigint") return `${member}n`
    if (typeof member !== "object" || member === null || Array.isArray(member)) return member
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
  })

const byId = (a: { readonly id: string }, b: { readonly id: string }): number => (a.id < b.id ? -1 : 1)

/** SHA-256 over everything that the network did: accounts, transfers, withdrawals, results, and the newest block. */
export const digestOf = ({ ledger, transfers, withdrawals, included, hash }: Chain): string => {
  const digest = createHash("sha256")
  for (const account of [...ledger.accounts.values()].sort(byId)) digest.update(text(account))
  for (const transfer of [...transfers.values()].sort(byId)) digest.update(text(transfer))
  for (const withdrawal of [...withdrawals.values()].sort(byId)) digest.update(text(withdrawal))
  for (const { bytes: _, ...entry } of included) digest.update(text(entry))
  return digest.update(hash).digest("hex")
}
