import { Effect } from "effect"
import type { BlockMark } from "../domain/Balance.ts"
import type { GatewayError } from "./GatewayError.ts"
import type { RowReader } from "./readRows.ts"
import type { Page } from "./schema/Numbers.ts"

/** Rows per request, and pages of one walk at most: a gateway decides neither. */
export const pageSize = 1000
/** Longest range of one request, in nanoseconds: networks refuse ranges beyond 365 days. */
export const reachNanos = 364n * 86_400_000_000_000n
export const walkPagesMax = 200
const cursorLengthMax = 1024

/** All rows of a listing. */
export interface Walk<A> {
  readonly rows: ReadonlyArray<A>
  /** False where the bound was reached, or the cursors led nowhere: rows may be missing then. */
  readonly complete: boolean
  /** The lowest block that any page names; undefined where one names none. */
  readonly mark: BlockMark | undefined
  /** The earliest time that any page has of its gateway, Unix nanoseconds; undefined where none has one. */
  readonly date?: bigint | undefined
  /** Where another walk goes on behind the last row read; undefined where no row was. */
  readonly cursor: string | undefined
}

/**
 * Reads page after page by cursor, from the beginning or behind `from`, until there is no next one. A cursor that comes
 * again, is empty or absurdly long, and a page without rows that promises more, end the walk as incomplete: no gateway
 * can keep it going.
 */
export const walkPages = <A>(
  fetchPage: (after: string | undefined) => Effect.Effect<Page<A>, GatewayError>,
  pagesMax: number = walkPagesMax,
  from?: string,
): Effect.Effect<Walk<A>, GatewayError> =>
  Effect.gen(function* () {
    const rows: Array<A> = []
    const seen = new Set<string>()
    let mark: BlockMark | undefined
    let date: bigint | undefined
    let after = from
    for (let count = 1; ; count++) {
      const page = yield* fetchPage(after)
      for (const row of page.rows) rows.push(row.node)
      mark = count === 1 ? page.mark : lowerMark(mark, page.mark)
      if (page.date !== undefined && (date === undefined || page.date < date)) date = page.date
      const cursor = page.pageInfo.endCursor
      const leadsOn = cursor !== "" && cursor.length <= cursorLengthMax && !seen.has(cursor) && page.rows.length > 0
      const reached = leadsOn ? cursor : after
      if (!page.pageInfo.hasNextPage) return { rows, complete: true, mark, date, cursor: reached }
      if (!leadsOn || count >= pagesMax) return { rows, complete: false, mark, date, cursor: reached }
      seen.add(cursor)
      after = cursor
    }
  })

/** The lower of two marks; undefined where one is: then nothing is known. */
export const lowerMark = (a: BlockMark | undefined, b: BlockMark | undefined): BlockMark | undefined =>
  a === undefined || b === undefined ? undefined : a.height <= b.height ? a : b

/** The whole listing of assets, oldest id first: their cursors are exact. */
export const walkAssets = (reader: Pick<RowReader, "assets">) =>
  walkPages((after) => reader.assets({ first: pageSize, newestFirst: false, after }))
