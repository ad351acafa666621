import { Effect } from "effect"
import type { BalanceChange, BlockMark } from "../domain/Balance.ts"
import type { GatewayError } from "../gateway/GatewayError.ts"
import { lowerMark } from "../gateway/walkPages.ts"
import { isAhead, isWatched, type Reader, settledAt, type WindowAnswer, type WindowQuery } from "./askWindow.ts"

/** Bounds one reading: a gateway decides nothing about our memory. */
const pagesMax = 200
const cursorLengthMax = 1_024

interface Walked {
  readonly rows: ReadonlyArray<BalanceChange>
  readonly pages: number
  readonly mark: BlockMark | undefined
  /** False where it did not come back to where reading is to begin. */
  readonly arrived: boolean
}

/**
 * Reads what is newer than `from`, newest first from the first page, which needs no cursor, until a page reaches behind
 * `from`. Cursors of real networks lose rows where one page ends, so a reading of several pages is made twice with
 * pages of different sizes, whose ends lie elsewhere: what one of them loses, the other has.
 */
export const readByCursor = Effect.fnUntraced(function* (reader: Reader, query: Omit<WindowQuery, "end">) {
  const { from, pageRows, now } = query
  const once = yield* walkBack(reader, query, pageRows)
  const twice =
    once.pages === 1 ? once : yield* walkBack(reader, query, Math.max(1, pageRows - Math.ceil(pageRows / 7)))
  const mark = once === twice ? once.mark : lowerMark(once.mark, twice.mark)
  if (mark !== undefined && isAhead(mark, now)) return { _tag: "Ahead", mark } as const
  const until = mark?.timestamp ?? settledAt(now)
  if (until <= from) return { _tag: "Nothing", mark } as const
  if (!once.arrived || !twice.arrived)
    return { _tag: "Overflow", at: from, detail: "cursors do not lead back" } as const
  const rows = new Map<string, BalanceChange>()
  for (const row of [...once.rows, ...twice.rows]) {
    // The balance is of the key: a gateway that contradicts itself is noticed where rows are stored.
    const key = `${row.timestamp}|${row.asset}|${row.party}|${row.market}|${row.type}|${row.balance}`
    if (row.timestamp >= from && row.timestamp < until) rows.set(key, row)
  }
  const height = mark === undefined ? 0n : mark.height - 1n
  return { _tag: "Rows", rows: [...rows.values()], until, height, more: false, cut: "no", mark } as const
}) satisfies (reader: Reader, query: Omit<WindowQuery, "end">) => Effect.Effect<WindowAnswer, GatewayError>

const walkBack = Effect.fnUntraced(function* (reader: Reader, query: Omit<WindowQuery, "end">, pageRows: number) {
  const rows: Array<BalanceChange> = []
  const seen = new Set<string>()
  const wanted = isWatched(query.parties)
  let mark: BlockMark | undefined
  let after: string | undefined
  for (let pages = 1; pages <= pagesMax; pages++) {
    const page = yield* reader.balanceChanges({
      partyIds: query.parties,
      first: pageRows,
      newestFirst: true,
      startTimestamp: query.from,
      ...(after === undefined ? {} : { after }),
    })
    mark = pages === 1 ? page.mark : lowerMark(mark, page.mark)
    for (const { node } of page.rows) if (wanted(node)) rows.push(node)
    const behind = page.rows.some(({ node }) => node.timestamp < query.from)
    if (behind || !page.pageInfo.hasNextPage) return { rows, pages, mark, arrived: true }
    after = page.pageInfo.endCursor
    const leadsOn = after !== "" && after.length <= cursorLengthMax && !seen.has(after) && page.rows.length > 0
    if (!leadsOn) return { rows, pages, mark, arrived: false }
    seen.add(after)
  }
  return { rows, pages: pagesMax, mark, arrived: false }
}) satisfies (...args: never) => Effect.Effect<Walked, GatewayError>
