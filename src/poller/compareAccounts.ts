import type { AccountKey } from "../domain/Balance.ts"
import { accountName, type Difference } from "../store/Drifts.ts"
import type { AccountBalance } from "../store/Observations.ts"
import type { AccountListing } from "./listAccounts.ts"

/** Accounts of a listing beside our rows. */
export interface Comparison {
  /** Names of accounts of which both tell the same. */
  readonly agreeing: ReadonlySet<string>
  readonly differing: ReadonlyArray<Difference>
  /** Moved meanwhile: nothing can be said of them without their balances before. */
  readonly moving: ReadonlyArray<AccountKey>
}

/**
 * Compares a listing with the newest rows of accounts, and for those that moved with all rows from `listing.since` on
 * and the balances before it, where they are known. Our rows must be complete beyond that time: a listing made while
 * a block came may show any balance that the account had since.
 */
export const compareAccounts = (
  listing: AccountListing,
  latest: ReadonlyArray<AccountBalance>,
  rowsSince: ReadonlyArray<AccountBalance>,
  before: ReadonlyMap<string, bigint> = new Map(),
): Comparison => {
  const later = new Map<string, Array<bigint>>()
  for (const row of rowsSince) {
    const name = accountName(row)
    const known = later.get(name)
    if (known === undefined) later.set(name, [row.balance])
    else known.push(row.balance)
  }
  const agreeing = new Set<string>()
  const differing: Array<Difference> = []
  const moving: Array<AccountKey> = []
  const judge = (key: AccountKey, stored: AccountBalance | undefined, reported: bigint) => {
    const name = accountName(key)
    const balance = stored?.balance ?? 0n
    const isMoved = stored !== undefined && stored.timestamp >= listing.since
    const first = isMoved ? before.get(name) : balance
    if (first === reported || later.get(name)?.includes(reported) === true) agreeing.add(name)
    else if (first === undefined) moving.push(key)
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
