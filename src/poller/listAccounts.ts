import { Clock, Effect } from "effect"
import type { AccountKey } from "../domain/Balance.ts"
import type { AccountBalance } from "../gateway/schema/Accounts.ts"
import { walkPages } from "../gateway/walkPages.ts"
import { accountName } from "../store/Drifts.ts"
import { isAhead, isWatched, type Reader, settleNanos } from "./askWindow.ts"

/** Balances as the gateway itself tells them. */
export interface AccountListing {
  /** By `accountName`. */
  readonly accounts: ReadonlyMap<string, AccountKey & { readonly balance: bigint }>
  /** Holds every row before this block time, and may hold later ones. Unix nanoseconds. */
  readonly since: bigint
}

type ListedAccounts =
  | { readonly _tag: "Listed"; readonly listing: AccountListing }
  /** It came to no end, told one account twice, or names a block of the future. */
  | { readonly _tag: "Unusable"; readonly detail: string }
  /** The gateway has no such operation. */
  | { readonly _tag: "Unsupported" }

/** The largest page that networks give: one page is one moment. */
const pageRows = 5_000

/** All accounts of the parties with their balances. A gateway without block headers is believed to be settled late. */
export const listAccounts = Effect.fn("Reconciliation.list")(function* (
  reader: Reader,
  parties: ReadonlyArray<string>,
) {
  const now = BigInt(yield* Clock.currentTimeMillis) * 1_000_000n
  const walk = yield* walkPages((after) =>
    reader.accounts({ partyIds: parties, first: pageRows, ...(after === undefined ? {} : { after }) }),
  ).pipe(Effect.catchReason("GatewayError", "Unsupported", () => Effect.undefined))
  if (walk === undefined) return { _tag: "Unsupported" } satisfies ListedAccounts
  const unusable = (detail: string): ListedAccounts => ({ _tag: "Unusable", detail })
  if (!walk.complete) return unusable("the listing of accounts does not end")
  if (isAhead(walk.mark, now)) return unusable("the gateway is ahead of our clock")
  const watched = isWatched(parties)
  const accounts = new Map<string, AccountBalance>()
  for (const row of walk.rows) {
    if (!watched({ ...row, timestamp: 0n })) continue
    const name = accountName(row)
    if (accounts.has(name)) return unusable("the listing tells one account twice")
    accounts.set(name, row)
  }
  const since = walk.mark?.timestamp ?? now - settleNanos
  return { _tag: "Listed", listing: { accounts, since } } satisfies ListedAccounts
})
