import { Effect } from "effect"
import { accountTypeNumbers } from "../domain/AccountType.ts"
import type { BalanceChange } from "../domain/Balance.ts"
import type { GatewayError } from "../gateway/GatewayError.ts"
import type { AccountFilter } from "../gateway/GatewayReader.ts"
import type { Page } from "../gateway/schema/Paging.ts"
import { walkAssets } from "../gateway/walkAssets.ts"
import { askWindow, blockNanos, isWatched, type Reader, type WindowQuery } from "./askWindow.ts"
import { pageRowsMax } from "./Pace.ts"

type Found = { readonly rows: ReadonlyArray<BalanceChange> } | { readonly detail: string }

const accountTypes = Object.keys(accountTypeNumbers).slice(1)

/**
 * Every row of the block at `query.from`, of which one page is not enough: in larger pages, then party by party, asset
 * by asset, type by type. The parts together must hold what the page before them did, and more.
 */
export const readBlock = (
  reader: Reader,
  query: WindowQuery,
  page: Page<BalanceChange>,
): Effect.Effect<Found, GatewayError> => inParts(reader, query, { partyIds: query.parties }, page)

const inParts = Effect.fnUntraced(function* (
  reader: Reader,
  query: WindowQuery,
  filter: AccountFilter,
  first: Page<BalanceChange>,
): Effect.fn.Return<Found, GatewayError> {
  const larger = query.pageRows < pageRowsMax ? yield* part(reader, query, filter, pageRowsMax) : undefined
  const whole = larger ?? first
  if (!whole.pageInfo.hasNextPage) return asFound(query, whole)
  const filters = yield* smaller(reader, filter)
  if (filters === undefined) return { detail: `${wordsOf(filter)} has more rows in one block than a page holds` }
  const rows = new Map<string, BalanceChange>()
  for (const each of filters) {
    // A type that this gateway's version does not know is refused, and has no rows there.
    const page = yield* part(reader, query, each, query.pageRows)
    if (page === undefined) continue
    const found = page.pageInfo.hasNextPage ? yield* inParts(reader, query, each, page) : asFound(query, page)
    if ("detail" in found) return found
    for (const row of found.rows) rows.set(keyOf(row), row)
  }
  const seen = whole.rows.map(({ node }) => node).filter(isWatched(query.parties))
  const isShort = seen.length === whole.rows.length && rows.size <= seen.length
  if (isShort || seen.some((row) => !rows.has(keyOf(row)))) {
    return { detail: `${wordsOf(filter)} has more rows in one block than its parts show` }
  }
  return { rows: [...rows.values()] }
})

/** Undefined where the gateway refuses the question. */
const part = (reader: Reader, query: WindowQuery, filter: AccountFilter, rows: number) =>
  askWindow(reader, filter, { from: query.from, end: query.from + blockNanos, rows }).pipe(
    Effect.catchReason("GatewayError", "Rejected", () => Effect.undefined),
    Effect.catchReason("GatewayError", "TooLarge", () => Effect.undefined),
  )

/** A part that a gateway answered which is behind the block proves nothing. */
const asFound = ({ from, parties }: WindowQuery, { rows, mark }: Page<BalanceChange>): Found =>
  mark !== undefined && mark.timestamp < from + blockNanos
    ? { detail: "the gateway went backwards while one block was read" }
    : { rows: rows.map(({ node }) => node).filter(isWatched(parties)) }

/** The same rows in smaller parts: by party, then by asset, then by type; undefined where there are none smaller. */
const smaller = Effect.fnUntraced(function* (reader: Reader, filter: AccountFilter) {
  if ((filter.partyIds?.length ?? 0) > 1) return filter.partyIds!.map((party) => ({ ...filter, partyIds: [party] }))
  if (filter.assetId === undefined) {
    const { rows, complete } = yield* walkAssets(reader)
    return complete ? rows.map(({ id }) => ({ ...filter, assetId: id })) : undefined
  }
  if (filter.accountTypes === undefined) return accountTypes.map((type) => ({ ...filter, accountTypes: [type] }))
  return undefined
})

const wordsOf = ({ partyIds, assetId, accountTypes: types }: AccountFilter): string => {
  const party = partyIds?.length === 1 ? `party ${partyIds[0]!.slice(0, 8)}` : "all that is watched"
  return [party, ...(assetId === undefined ? [] : [`asset ${assetId.slice(0, 8)}`]), ...(types ?? [])].join(", ")
}

const keyOf = (row: BalanceChange): string => `${row.asset}|${row.party}|${row.market}|${row.type}`
