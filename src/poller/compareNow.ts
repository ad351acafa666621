import { Effect } from "effect"
import { accountName, Drifts } from "../store/Drifts.ts"
import { Observations } from "../store/Observations.ts"
import { keysOf, type ReconciliationOptions } from "./Comparison.ts"
import { type Comparison, compareAccounts } from "./compareAccounts.ts"
import type { AccountListing } from "./listAccounts.ts"

/** Rows since a listing that are held in memory to compare it; one that is older is made anew. */
const rowsMax = 100_000
/** Accounts whose balance before a listing is looked up; more are left to the next comparison. */
const movingMax = 200

/** Compares a listing with the rows as they are now; undefined where the rows since are too many. */
export const compareNow = Effect.fnUntraced(function* (options: ReconciliationOptions, listing: AccountListing) {
  const observations = yield* Observations
  const parties = new Set<string>(keysOf(options))
  const accounts = (yield* observations.accounts).filter(({ party }) => parties.has(party))
  const end = accounts.reduce((newest, { timestamp }) => (timestamp > newest ? timestamp : newest), listing.since)
  const drifts = yield* Drifts
  const rows = yield* drifts.rowsBetween(listing.since, end + 1n, rowsMax)
  if (rows === undefined) return undefined
  const named = new Set([...accounts.map(accountName), ...listing.accounts.keys()])
  const unnamed = (yield* drifts.all).map(accountName).filter((name) => !named.has(name))
  const looked = (comparison: Comparison): Comparison =>
    // An account that neither side tells of any more is one that a lie had named.
    unnamed.length === 0 ? comparison : { ...comparison, agreeing: new Set([...comparison.agreeing, ...unnamed]) }
  const first = compareAccounts(listing, accounts, rows)
  if (first.moving.length === 0) return looked(first)
  const before = new Map<string, bigint>()
  for (const account of first.moving.slice(0, movingMax)) {
    const balance = yield* drifts.balanceBefore(account, listing.since)
    if (balance !== undefined) before.set(accountName(account), balance)
  }
  return looked(compareAccounts(listing, accounts, rows, before))
})
