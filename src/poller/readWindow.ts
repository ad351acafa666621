import { Effect } from "effect"
import { accountTypeNumbers, type BalanceChange } from "../domain/Balance.ts"
import type { GatewayError } from "../gateway/GatewayError.ts"
import type { AccountFilter } from "../gateway/readRows.ts"
import type { Page } from "../gateway/schema/Numbers.ts"
import { walkAssets } from "../gateway/walkPages.ts"
import {
  aligned,
  askWindow,
  blockNanos,
  finalAt,
  isAhead,
  isWatched,
  newestOf,
  pageRowsMax,
  type Reader,
  type WindowAnswer,
  type WindowQuery,
} from "./askWindow.ts"

type Found = { readonly rows: ReadonlyArray<BalanceChange> } | { readonly detail: string }

const accountTypes = Object.keys(accountTypeNumbers).slice(1)

/**
 * Every row of the block at `query.from`, which does not fit one page: in larger pages, then party by party, asset by
 * asset, type by type. The parts together must contain the rows of the page before them, and more.
 */
const readBlock = (reader: Reader, query: WindowQuery, page: Page<BalanceChange>): Effect.Effect<Found, GatewayError> =>
  inParts(reader, query, { partyIds: query.parties }, page)

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

/** A part from a gateway that has not reached the block proves nothing. */
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

/** More than the halvings of a whole year into microseconds. */
const cutsMax = 64

/**
 * Reads one time window without cursors, which lose rows on real networks. A window that does not fit a page is read
 * again as a narrower one; nothing depends on the order of rows. The answer's own mark proves that every row below it
 * was available.
 */
export const readWindow = Effect.fnUntraced(function* (reader: Reader, query: WindowQuery) {
  const { from } = query
  let end = query.end
  let cut: "no" | "narrowed" = "no"
  for (let cuts = 0; cuts < cutsMax; cuts++) {
    const page = yield* askWindow(reader, { partyIds: query.parties }, { from, end, rows: query.pageRows })
    const { mark } = page
    const newest = newestOf(page, query.now)
    if (isAhead(newest, query.now)) return { _tag: "Ahead", mark: newest } as const
    const final = finalAt(page, query.now)
    const until = end === undefined || final < end ? final : end
    if (until <= from) return { _tag: "Nothing", mark, unsettled: watchedOf(query, page) } as const
    if (page.rows.some(({ node }) => node.timestamp < from || (end !== undefined && node.timestamp >= end))) {
      return { _tag: "Unwindowed" } as const
    }
    if (!page.pageInfo.hasNextPage) return rowsOf(query, page, { until, final, cut })
    if (until - from <= blockNanos) return yield* wholeBlock(reader, query, page, final)
    end = narrower(page, from, until, cut === "no")
    cut = "narrowed"
  }
  return { _tag: "Overflow", at: from, detail: "no window is short enough" } as const
}) satisfies (reader: Reader, query: WindowQuery) => Effect.Effect<WindowAnswer, GatewayError>

const watchedOf = ({ parties }: WindowQuery, { rows }: Page<BalanceChange>): ReadonlyArray<BalanceChange> =>
  rows.map(({ node }) => node).filter(isWatched(parties))

/** Rows at `until` itself may still be missing some of their block: they come with the next window. */
const rowsOf = (
  query: WindowQuery,
  page: Page<BalanceChange>,
  bounds: { readonly until: bigint; readonly final: bigint; readonly cut: "no" | "narrowed" | "block" },
): WindowAnswer => {
  const { mark } = page
  const watched = watchedOf(query, page)
  return {
    _tag: "Rows",
    rows: watched.filter((row) => row.timestamp < bounds.until),
    unsettled: watched.filter((row) => row.timestamp >= bounds.until),
    until: bounds.until,
    height: mark !== undefined && mark.timestamp === bounds.until ? mark.height - 1n : 0n,
    more: bounds.until < bounds.final,
    cut: bounds.cut,
    mark,
  }
}

const wholeBlock = Effect.fnUntraced(function* (
  reader: Reader,
  query: WindowQuery,
  page: Page<BalanceChange>,
  final: bigint,
) {
  const found = yield* readBlock(reader, query, page)
  if ("detail" in found) return { _tag: "Overflow", at: query.from, detail: found.detail } as const
  const until = query.from + blockNanos
  const rows = found.rows.map((node) => ({ cursor: "", node }))
  return rowsOf(query, { ...page, rows }, { until, final, cut: "block" })
})

/**
 * The end of a window that holds fewer rows. Where the rows came in order, the last of them is a good guess; else, and
 * where that was tried, half of the time.
 */
const narrower = (page: Page<BalanceChange>, from: bigint, until: bigint, guess: boolean): bigint => {
  const times = page.rows.map(({ node }) => node.timestamp)
  const last = times.at(-1) ?? from
  const isOrdered = times.every((at, i) => i === 0 || times[i - 1]! <= at)
  if (guess && isOrdered && last > from && last < until) return last
  if (guess && isOrdered && times.length > 0 && last === from) return from + blockNanos
  const half = from + aligned((until - from) / 2n)
  return half > from ? half : from + blockNanos
}
