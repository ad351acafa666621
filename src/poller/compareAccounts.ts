import type { AccountKey } from "../domain/Balance.ts"
import { accountName, type Difference } from "../store/Drifts.ts"
import type { AccountBalance } from "../store/Observations.ts"
import type { AccountListing } from "./listAccounts.ts"

/** Accounts of a listing beside our rows. */
export interface Comparison {
  /** Names of accounts of which both tell the same. */
  readonly agreeing: ReadonlySet<string>
  readonly differing: ReadonlyArray<Difference>
  /** How many accounts moved meanwhile, so that nothing can be said of them. */
  readonly moving: number
}

/** Rows of this time before a listing are looked through for the balances at its time. */
export const lookbackNanos = 300_000_000_000n

/** The balances that a listing may show of an account that moved: the one at its time, where it is known, and later. */
const possible = (rows: ReadonlyArray<AccountBalance>, since: bigint) => {
  const later = rows.filter(({ timestamp }) => timestamp >= since).map(({ balance }) => balance)
  const before = rows.reduce<AccountBalance | undefined>(
    (newest, row) =>
      row.timestamp < since && (newest === undefined || row.timestamp > newest.timestamp) ? row : newest,
    undefined,
  )
  return { balances: before === undefined ? later : [before.balance, ...later], isComplete: before !== undefined }
}

/**
 * Compares a listing with the newest rows of accounts, and with all rows around `listing.since` of those that moved.
 * Our rows must be complete beyond that time: a listing made while a block came may show any balance that the account
 * had since.
 */
export const compareAccounts = (
  listing: AccountListing,
  latest: ReadonlyArray<AccountBalance>,
  rows: ReadonlyArray<AccountBalance>,
): Comparison => {
  const around = new Map<string, Array<AccountBalance>>()
  for (const row of rows) {
    const name = accountName(row)
    around.set(name, [...(around.get(name) ?? []), row])
  }
  const agreeing = new Set<string>()
  const differing: Array<Difference> = []
  let moving = 0
  const judge = (key: AccountKey, stored: AccountBalance | undefined, reported: bigint) => {
    const name = accountName(key)
    const balance = stored?.balance ?? 0n
    const seen =
      stored !== undefined && stored.timestamp >= listing.since
        ? possible(around.get(name) ?? [], listing.since)
        : { balances: [balance], isComplete: true }
    if (seen.balances.includes(reported)) agreeing.add(name)
    else if (!seen.isComplete) moving++
    else {
      const { party, asset, market, type } = key
      differing.push({ party, asset, market, type, stored: balance, reported })
    }
  }
  const known = new Set<string>()
  for (const account of latest) {
    const name = accountName(account)
    known.add(name)
    judge(account, account, listing.accounts.get(name)?.balance ?? 0n)
  }
  for (const [name, account] of listing.accounts) if (!known.has(name)) judge(account, undefined, account.balance)
  return { agreeing, differing, moving }
}
