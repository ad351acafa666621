import { Effect } from "effect"
import type { BalanceChange } from "../domain/Balance.ts"
import type { GatewayError } from "../gateway/GatewayError.ts"
import type { Page } from "../gateway/schema/Paging.ts"
import {
  aligned,
  askWindow,
  blockNanos,
  isAhead,
  isWatched,
  type Reader,
  settledAt,
  type WindowAnswer,
  type WindowQuery,
} from "./askWindow.ts"
import { readBlock } from "./readBlock.ts"

/** More than the halvings of a whole year into microseconds. */
const cutsMax = 64

/**
 * Reads one time window without cursors, which lose rows on real networks. What does not fit a page is asked for again
 * in a narrower window; nothing rests on the order of rows. The answer's own mark proves that every row below it was
 * there to be read.
 */
export const readWindow = Effect.fnUntraced(function* (reader: Reader, query: WindowQuery) {
  const { from } = query
  let end = query.end
  let cut: "no" | "narrowed" = "no"
  for (let cuts = 0; cuts < cutsMax; cuts++) {
    const page = yield* askWindow(reader, { partyIds: query.parties }, { from, end, rows: query.pageRows })
    const { mark } = page
    if (mark !== undefined && isAhead(mark, query.now)) return { _tag: "Ahead", mark } as const
    const final = mark?.timestamp ?? settledAt(query.now)
    const until = end === undefined || final < end ? final : end
    if (until <= from) return { _tag: "Nothing", mark } as const
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

/** Rows at `until` itself may still be missing some of their block: they come with the next window. */
const rowsOf = (
  query: WindowQuery,
  { rows, mark }: Page<BalanceChange>,
  bounds: { readonly until: bigint; readonly final: bigint; readonly cut: "no" | "narrowed" | "block" },
): WindowAnswer => ({
  _tag: "Rows",
  rows: rows
    .map(({ node }) => node)
    .filter((row) => row.timestamp < bounds.until)
    .filter(isWatched(query.parties)),
  until: bounds.until,
  height: mark !== undefined && mark.timestamp === bounds.until ? mark.height - 1n : 0n,
  more: bounds.until < bounds.final,
  cut: bounds.cut,
  mark,
})

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
