import { Clock, Effect } from "effect"
import { accountTypeNumbers } from "../../domain/Balance.ts"
import { type BalanceLine, formatTime, parseTime, toMicros } from "../Ledger.ts"
import type { Profile } from "../Profiles.ts"
import { readFilter } from "./Accounts.ts"
import { int64, nodeError, ok, type RefusedRequest, reads, refuseRequest } from "./Answer.ts"
import { cutPage, edgesOf, fetchCount, type Paging, readPaging, toCursor } from "./Paging.ts"

const badAsset = { code: 90_004, message: "failed to get balances", inner: "querying balances: " }

/** Balance history: a row for each account and block that touched it. */
export const balanceChanges = reads("balanceChanges", "/api/v2/balance/changes", function* (world, ask) {
  const { profile } = world
  const start = yield* int64(ask.query, "date_range.start_timestamp")
  const end = yield* int64(ask.query, "date_range.end_timestamp")
  const isSelected = yield* readFilter(ask.query, badAsset)
  const paging = yield* readPaging(ask.query)
  yield* checkRange({ start, end, profile, hasCursor: paging.cursor !== undefined })
  const cursor = yield* readCursor(paging)
  const page = yield* world.node.read((chain) => {
    const found: Array<BalanceLine> = []
    const enough = fetchCount(paging)
    const downwards = paging.newestFirst === paging.forward
    const { rows } = chain.ledger
    const low = start === undefined ? 0 : firstAtOrAfter(rows, toMicros(start))
    const high = end === undefined ? rows.length : firstAtOrAfter(rows, toMicros(end))
    for (let n = low; n < high && found.length < enough; n++) {
      const row = rows[downwards ? high - 1 - (n - low) : n]!
      if (isSelected(row.account) && isBeyond(row, cursor, downwards)) found.push(row)
    }
    return cutPage(found, paging, (row) => cursorOf(row, profile))
  })
  const node = (row: BalanceLine) => ({
    timestamp: row.time.toString(),
    balance: row.balance.toString(),
    partyId: row.account.party,
    assetId: row.account.asset,
    marketId: row.account.market,
    accountType: row.account.type,
  })
  return ok({ balances: edgesOf(page, (row) => cursorOf(row, profile), node) })
})

const yearNanos = 365n * 86_400n * 1_000_000_000n
const epoch2020 = 1_577_836_800_000_000_000n

const checkRange = Effect.fnUntraced(function* (ask: {
  readonly start: bigint | undefined
  readonly end: bigint | undefined
  readonly profile: Profile
  readonly hasCursor: boolean
}) {
  const rule = ask.profile.dateRange
  if (rule === undefined) return
  const kind = rule.status === 500 ? "Internal" : "InvalidArgument"
  const invalid = (inner: string) =>
    refuseRequest(nodeError(kind, { code: 10_000, message: "invalid date range", inner }))
  const { start, end } = ask
  if (start === undefined && end === undefined) return ask.hasCursor ? undefined : yield* invalid(rule.missing)
  for (const bound of [start, end]) {
    if (bound !== undefined && bound < epoch2020) return yield* invalid("date range start must be after 2020-01-01")
  }
  if (start !== undefined && end !== undefined && start > end) {
    return yield* invalid("date range start must be before end")
  }
  const now = BigInt(yield* Clock.currentTimeMillis) * 1_000_000n
  if ((end ?? now) - (start ?? epoch2020) > yearNanos) return yield* invalid("date range is too long")
})

/** Index of the first row at or after a time: rows are ordered by it. */
const firstAtOrAfter = (rows: ReadonlyArray<BalanceLine>, time: bigint): number => {
  let low = 0
  let high = rows.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (rows[middle]!.time < time) low = middle + 1
    else high = middle
  }
  return low
}

/** Position of a cursor. Without an account it is behind all rows of its block, as the network's own cursors are. */
interface Place {
  readonly time: bigint
  readonly account: string | undefined
}

const isBeyond = (row: BalanceLine, place: Place | undefined, downwards: boolean): boolean => {
  if (place === undefined) return true
  if (row.time !== place.time) return downwards ? row.time < place.time : row.time > place.time
  if (place.account === undefined) return false
  return downwards ? row.account.id <= place.account : row.account.id >= place.account
}

const cursorOf = ({ time, account }: BalanceLine, profile: Profile): string =>
  toCursor({
    vega_time: formatTime(time),
    AccountID: profile.lossyCursor ? null : account.id,
    PartyID: account.party,
    AssetID: account.asset,
    MarketID: account.market,
    Type: accountTypeNumbers[account.type],
  })

/** A cursor of another listing has no time: it selects nothing, yet the page loses its first row. */
const readCursor = (paging: Paging): Effect.Effect<Place | undefined, RefusedRequest> => {
  if (paging.cursor === undefined) return Effect.undefined
  let value: unknown
  try {
    value = JSON.parse(paging.cursor.decoded)
  } catch {
    value = undefined
  }
  const inner = "parsing cursor: parsing cursor: invalid character in cursor"
  if (typeof value !== "object" || value === null) {
    return Effect.fail(refuseRequest(nodeError("Internal", { code: 90_004, message: "failed to get balances", inner })))
  }
  const time: unknown = Reflect.get(value, "vega_time")
  const account: unknown = Reflect.get(value, "AccountID")
  const parsed = typeof time === "string" ? parseTime(time) : undefined
  return Effect.succeed(
    parsed === undefined ? undefined : { time: parsed, account: typeof account === "string" ? account : undefined },
  )
}
