import { Effect } from "effect"
import { bool, int32, nodeError, type Query, type RefusedRequest, refuseRequest, scalar } from "./Answer.ts"

/** The requested part of a listing. */
export interface Paging {
  /** Rows per page. */
  readonly limit: number
  /** Towards the end of the requested order (first, after), or towards its start (last, before). */
  readonly forward: boolean
  readonly newestFirst: boolean
  /** As given, and what it encodes. */
  readonly cursor: { readonly text: string; readonly decoded: string } | undefined
}

const limitDefault = 1_000
const limitMax = 5_000

const invalid = (inner: string): RefusedRequest =>
  refuseRequest(nodeError("InvalidArgument", { code: 10_028, message: "invalid pagination", inner }))

export const readPaging = Effect.fnUntraced(function* (query: Query) {
  const first = yield* int32(query, "pagination.first")
  const last = yield* int32(query, "pagination.last")
  const after = yield* scalar(query, "pagination.after")
  const before = yield* scalar(query, "pagination.before")
  const newestFirst = (yield* bool(query, "pagination.newest_first")) ?? true
  if (after !== undefined && before !== undefined) {
    return yield* invalid("cannot set both a before and after cursor")
  }
  const forward = first !== undefined || (last === undefined && before === undefined)
  const limit = (forward ? first : last) ?? limitDefault
  if (limit <= 0 || limit > limitMax) return yield* invalid("pagination limit must be in range 0-5000")
  const text = forward ? after : before
  if (text === undefined) return { limit, forward, newestFirst, cursor: undefined }
  const name = forward ? "after" : "before"
  if (text === "") return yield* invalid(`failed to decode ${name} cursor: cursor is empty`)
  const bad = badBase64(text)
  if (bad !== undefined) {
    const why = `failed to decode cursor: illegal base64 data at input byte ${bad}`
    return yield* invalid(`failed to decode ${name} cursor: ${why}`)
  }
  return { limit, forward, newestFirst, cursor: { text, decoded: Buffer.from(text, "base64").toString("utf8") } }
})

/** Where standard padded base64 goes wrong; undefined where it does not. */
const badBase64 = (text: string): number | undefined => {
  const stray = /[^A-Za-z0-9+/]/.exec(text.replace(/={1,2}$/, ""))
  if (stray !== null) return stray.index
  return text.length % 4 === 0 ? undefined : text.length - (text.length % 4)
}

/** Rows to fetch for a page: one more to look ahead, and with a cursor one more for the row that it names. */
export const fetchCount = (paging: Paging): number => paging.limit + (paging.cursor === undefined ? 1 : 2)

/**
 * Cuts a page out of fetched rows (in the direction of reading, from the cursor on). With a cursor the first row is
 * taken for the cursor's own and dropped, whether it is that or not: the network's habit, and with cursors that name
 * no account its defect.
 */
export const cutPage = <Row>(fetched: ReadonlyArray<Row>, paging: Paging, cursorOf: (row: Row) => string) => {
  const { limit, cursor, forward } = paging
  let rows = fetched
  let behind = false
  let ahead = false
  if (cursor === undefined) ahead = fetched.length > limit
  else if (fetched.length > limit || (fetched.length > 0 && cursorOf(fetched[0]!) === cursor.text)) {
    behind = true
    ahead = fetched.length === limit + 2
    rows = fetched.slice(1)
  }
  rows = rows.slice(0, limit)
  if (!forward) rows = [...rows].reverse()
  const first = rows[0]
  const last = rows[rows.length - 1]
  return {
    rows,
    pageInfo: {
      hasNextPage: forward ? ahead : behind,
      hasPreviousPage: forward ? behind : ahead,
      startCursor: first === undefined ? "" : cursorOf(first),
      endCursor: last === undefined ? "" : cursorOf(last),
    },
  }
}

/** The order of rows that lie in memory, by a complete key. */
export interface Listing<Row> {
  readonly keyOf: (row: Row) => string
  readonly cursorOf: (row: Row) => string
  /** The key that a cursor holds; undefined: it holds none. */
  readonly keyOfCursor: (decoded: string) => string | undefined
}

/** Rows in the order of a text, which their cursors hold under a name. */
export const byText = <Row>(name: string, textOf: (row: Row) => string): Listing<Row> => ({
  keyOf: textOf,
  cursorOf: (row) => toCursor({ [name]: textOf(row) }),
  keyOfCursor: (decoded) => cursorField(decoded, name),
})

/** The requested page of rows in memory, as it goes out. */
export const listedPage = <Row>(
  rows: Iterable<Row>,
  paging: Paging,
  { keyOf, cursorOf, keyOfCursor }: Listing<Row>,
  nodeOf: (row: Row) => unknown,
) => {
  const downwards = paging.newestFirst === paging.forward
  const wanted = paging.cursor === undefined ? undefined : keyOfCursor(paging.cursor.decoded)
  const ordered = Array.from(rows, (row) => ({ row, key: keyOf(row) }))
    .filter(({ key }) => wanted === undefined || (downwards ? key <= wanted : key >= wanted))
    .sort((a, b) => (a.key < b.key === downwards ? 1 : -1))
  const fetched = ordered.slice(0, fetchCount(paging)).map(({ row }) => row)
  return edgesOf(cutPage(fetched, paging, cursorOf), cursorOf, nodeOf)
}

export const toCursor = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64")

/** One field of a cursor that is a JSON object. */
export const cursorField = (decoded: string, field: string): string | undefined => {
  try {
    const value: unknown = JSON.parse(decoded)
    const found: unknown = typeof value === "object" && value !== null ? Reflect.get(value, field) : undefined
    return typeof found === "string" ? found : undefined
  } catch {
    return undefined
  }
}

type Page<Row> = ReturnType<typeof cutPage<Row>>

/** The shape in which every listing goes out. */
export const edgesOf = <Row>(page: Page<Row>, cursorOf: (row: Row) => string, nodeOf: (row: Row) => unknown) => ({
  edges: page.rows.map((row) => ({ node: nodeOf(row), cursor: cursorOf(row) })),
  pageInfo: page.pageInfo,
})
