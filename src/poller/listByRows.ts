import { Clock, Effect } from "effect"
import { accountName } from "../store/Drifts.ts"
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
 * only be behind. `turn` counts the comparisons before this one.
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
  const turned = [...own.slice(start), ...own.slice(0, start)].slice(0, accountsMax)
  for (const account of turned) {
    const balance = yield* shownNow(reader, account, until)
    accounts.set(accountName(account), { ...account, balance })
  }
  return { accounts, since: until } satisfies AccountListing
})

/** What the account's history leads to as it is shown now; what we know where it shows none of that. */
const shownNow = Effect.fnUntraced(function* (reader: Reader, account: AccountBalance, until: bigint) {
  const { party, timestamp: from, balance } = account
  if (from >= until || until - from > oldestNanos) return balance
  const now = BigInt(yield* Clock.currentTimeMillis) * 1_000_000n
  const answer = yield* readWindow(reader, { parties: [party], from, end: until, pageRows, now })
  if (answer._tag !== "Rows") return balance
  const name = accountName(account)
  const rows = answer.rows.filter((row) => accountName(row) === name)
  const last = rows.reduce(
    (newest, row) => (newest === undefined || row.timestamp > newest.timestamp ? row : newest),
    rows[0],
  )
  return last?.balance ?? balance
})
