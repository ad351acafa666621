import { Clock, Effect } from "effect"
import { RequestPriority } from "../gateway/RequestPriority.ts"
import { accountName, Drifts } from "../store/Drifts.ts"
import { type AccountBalance, Observations } from "../store/Observations.ts"
import type { Reader } from "./askWindow.ts"
import type { AccountListing } from "./listAccounts.ts"
import { readWindow } from "./readWindow.ts"
import { oldestNanos } from "./rereadRows.ts"

const pageRows = 1_000
/** Accounts of one comparison, a question each; others are left to the next ones. */
const accountsMax = 50

/**
 * Where a gateway tells no balances, what its own history tells today takes their place: of each account the newest
 * row that is known, and what came after it. What it does not show any more says nothing: without block headers it may
 * only be behind. Accounts in drift come first; `turn` counts the comparisons before this one.
 */
export const listByRows = Effect.fn("Reconciliation.listByRows")(function* (
  reader: Reader,
  parties: ReadonlyArray<string>,
  turn: number,
) {
  const observations = yield* Observations
  const known = yield* observations.accounts
  const until = (yield* observations.watermark)?.timestamp
  if (until === undefined) return undefined
  const watched = new Set(parties)
  const own = known.filter(({ party }) => watched.has(party))
  const accounts = new Map(own.map((account) => [accountName(account), account]))
  const start = own.length === 0 ? 0 : (turn * accountsMax) % own.length
  const inDrift = new Set((yield* (yield* Drifts).all).map(accountName))
  const first = own.filter((account) => inDrift.has(accountName(account)))
  const others = [...own.slice(start), ...own.slice(0, start)].filter((account) => !inDrift.has(accountName(account)))
  const unseen = new Set(accounts.keys())
  for (const account of [...first, ...others].slice(0, accountsMax)) {
    const balance = yield* shownNow(reader, account, until).pipe(Effect.provideService(RequestPriority, "backfill"))
    if (balance === undefined) continue
    unseen.delete(accountName(account))
    accounts.set(accountName(account), { ...account, balance })
  }
  return { accounts, unseen, since: until } satisfies AccountListing
})

/** What the account's history leads to as it is shown now; undefined where it shows none of that. */
const shownNow = Effect.fnUntraced(function* (reader: Reader, account: AccountBalance, until: bigint) {
  const { party, timestamp: from } = account
  if (from >= until || until - from > oldestNanos) return undefined
  const now = BigInt(yield* Clock.currentTimeMillis) * 1_000_000n
  const answer = yield* readWindow(reader, { parties: [party], from, end: until, pageRows, now })
  if (answer._tag !== "Rows") return undefined
  const name = accountName(account)
  const rows = answer.rows.filter((row) => accountName(row) === name)
  const last = rows.reduce(
    (newest, row) => (newest === undefined || row.timestamp > newest.timestamp ? row : newest),
    rows[0],
  )
  return last?.balance
})
