import type { Effect, Scope } from "effect"
import type { BalanceChange } from "../../src/domain/Balance.ts"
import { type GatewayServer, startGateway } from "../gateway/GatewayServer.ts"

/** A data node's history, as a test or a recording writes it, and how the node answers. */
export interface History {
  /** Of the whole ledger, in order of time. */
  rows: ReadonlyArray<BalanceChange>
  /** The block begun: rows at its time and later are not there yet. */
  begun: { readonly height: bigint; readonly timestamp: bigint }
  /** Whether the node names blocks in headers. Default true. */
  hasHeaders: boolean
  /** Whole seconds of the Date header, Unix nanoseconds; undefined: no such header. */
  date: (() => bigint) | undefined
  /** The node's own clock, Unix nanoseconds: windows without an end are measured by it. */
  now: () => bigint
  /** Rows before it are forgotten; balances are not. */
  keptFrom: bigint
  /** Rows at once, at most; more are refused where `refusesMore`, else cut. */
  pageMax: number
  refusesMore: boolean
  /** Whether cursors lose rows as those of real nodes do. */
  lossy: boolean
  /** Refuses what asks by time alone, and ignores times. */
  knowsTimes: boolean
  /** Whether a row can be read now, where rows come late. */
  isVisible: (row: BalanceChange) => boolean
  /** What an operation shows of rows that can be read: other ones where the node lies. */
  shows: (operation: "changes" | "accounts", rows: ReadonlyArray<BalanceChange>) => ReadonlyArray<BalanceChange>
  /** False: no operation that tells balances now. */
  hasAccounts: boolean
  /** The nodes of the asset listing. */
  assets: ReadonlyArray<unknown>
  /** Requests for balance changes, in their order. */
  readonly asked: Array<URLSearchParams>
  /** Looked at before each answer. */
  onRequest: () => void
}

const yearNanos = 365n * 86_400_000_000_000n

export const newHistory = (rows: ReadonlyArray<BalanceChange> = []): History => ({
  rows,
  begun: { height: 1n, timestamp: 0n },
  hasHeaders: true,
  date: undefined,
  now: () => BigInt(Date.now()) * 1_000_000n,
  keptFrom: 0n,
  pageMax: 5_000,
  refusesMore: true,
  lossy: true,
  knowsTimes: true,
  isVisible: () => true,
  shows: (_, rows) => rows,
  hasAccounts: true,
  assets: [],
  asked: [],
  onRequest: () => {},
})

/** Serves a history over HTTP, which may change between requests. */
export const serveHistory = (history: History): Effect.Effect<GatewayServer, never, Scope.Scope> =>
  startGateway((response, { url }) => {
    if (url.pathname === headPath) return void response.end(JSON.stringify(headOf("test")))
    history.onRequest()
    const block = {
      "x-block-height": String(history.begun.height),
      "x-block-timestamp": String(history.begun.timestamp),
    }
    const date = history.date && { date: new Date(Number(history.date() / 1_000_000n)).toUTCString() }
    const headers = { ...(history.hasHeaders ? block : {}), ...date }
    // Its clock may be one of another year.
    response.sendDate = false
    const answer = answerOf(history, url)
    response.writeHead(answer.status, { "content-type": "application/json", ...headers })
    response.end(JSON.stringify(answer.body))
  })

export const headPath = "/blockchain/height"

/** What a node answers that names its chain, for servers that play no more of it. */
export const headOf = (chainId: string) => ({
  height: "1",
  hash: "0".repeat(64),
  spamPowHashFunction: "sha3_24_rounds",
  spamPowDifficulty: 1,
  spamPowNumberOfPastBlocks: 100,
  spamPowNumberOfTxPerBlock: 2,
  chainId,
})

interface Answer {
  readonly status: number
  readonly body: unknown
}

const answerOf = (history: History, url: URL): Answer => {
  const { pathname, searchParams: query } = url
  if (pathname === "/api/v2/balance/changes") return balances(history, query)
  if (pathname === "/api/v2/accounts" && history.hasAccounts) return accounts(history, query)
  if (pathname === "/api/v2/assets") {
    return listing("assets", history.assets, query, history)
  }
  return refusal(501, 12, "Method Not Allowed")
}

const refusal = (status: number, code: number, message: string, detail?: string, inner = ""): Answer => ({
  status,
  body: { code, message, details: detail === undefined ? [] : [{ code: 10000, message: detail, inner }] },
})

const seen = ({ rows, begun, isVisible }: History): ReadonlyArray<BalanceChange> =>
  rows.filter((row) => row.timestamp < begun.timestamp && isVisible(row))

const matches = (query: URLSearchParams) => {
  const of = (key: string) => new Set(query.getAll(`filter.${key}`))
  const [parties, markets, types, asset] = [of("partyIds"), of("marketIds"), of("accountTypes"), of("assetId")]
  const fits = (wanted: ReadonlySet<string>, value: string) => wanted.size === 0 || wanted.has(value)
  return (row: Omit<BalanceChange, "timestamp" | "balance">) =>
    fits(parties, row.party) && fits(markets, row.market) && fits(types, row.type) && fits(asset, row.asset)
}

/** What is wrong with a page or a range, in the node's own words. */
const problemOf = (history: History, query: URLSearchParams): Answer | undefined => {
  const first = query.get("pagination.first")
  if (first !== null && (Number(first) < 1 || (history.refusesMore && Number(first) > history.pageMax))) {
    return refusal(400, 3, "InvalidArgument error", "invalid pagination", "pagination limit must be in range 0-5000")
  }
  if (!history.knowsTimes || query.has("pagination.after")) return undefined
  const range = (inner: string) => refusal(500, 13, "Internal error", "invalid date range", inner)
  const [start, end] = [query.get("dateRange.startTimestamp"), query.get("dateRange.endTimestamp")]
  if (start === null) return range("date range is required")
  const until = end === null ? history.now() : BigInt(end)
  if (end !== null && BigInt(start) > BigInt(end)) return range("date range start must be before end")
  return until - BigInt(start) > yearNanos ? range("date range is too long") : undefined
}

const balances = (history: History, query: URLSearchParams): Answer => {
  history.asked.push(query)
  const problem = problemOf(history, query)
  if (problem !== undefined) return problem
  const from = BigInt(query.get("dateRange.startTimestamp") ?? "0")
  const to = BigInt(query.get("dateRange.endTimestamp") ?? String(2n ** 62n))
  const fits = matches(query)
  const found = history
    .shows("changes", seen(history))
    .filter(
      (row) =>
        row.timestamp >= history.keptFrom &&
        (!history.knowsTimes || (row.timestamp >= from && row.timestamp < to)) &&
        fits(row),
    )
  const newestFirst = query.get("pagination.newestFirst") !== "false"
  const ordered = newestFirst ? [...found].reverse() : found
  const after = query.get("pagination.after")
  const size = Math.min(Number(query.get("pagination.first") ?? "1000"), history.pageMax)
  const { page, next } = after === null ? firstPage(ordered, size) : behind(history, ordered, size, after, newestFirst)
  return connection(
    "balances",
    page.map((row) => ({
      cursor: Buffer.from(`${row.timestamp}|${ordered.indexOf(row)}`).toString("base64"),
      node: {
        timestamp: String(row.timestamp),
        balance: String(row.balance),
        partyId: row.party,
        assetId: row.asset,
        marketId: row.market,
        accountType: row.type,
      },
    })),
    next,
  )
}

const firstPage = (rows: ReadonlyArray<BalanceChange>, size: number) => ({
  page: rows.slice(0, size),
  next: rows.length > size,
})

/** Real nodes pass over all rows of the cursor's time, and take the first row that they then find for the cursor's. */
const behind = (
  history: History,
  rows: ReadonlyArray<BalanceChange>,
  size: number,
  cursor: string,
  newestFirst: boolean,
) => {
  const [time = "0", place = "0"] = Buffer.from(cursor, "base64").toString().split("|")
  if (!history.lossy) return firstPage(rows.slice(Number(place) + 1), size)
  const at = BigInt(time)
  const rest = rows.filter(({ timestamp }) => (newestFirst ? timestamp < at : timestamp > at)).slice(0, size + 2)
  const kept = rest.length > size ? rest.slice(1) : rest
  return { page: kept.slice(0, size), next: kept.length > size }
}

const accounts = (history: History, query: URLSearchParams): Answer => {
  const latest = new Map<string, BalanceChange>()
  for (const row of history.shows("accounts", seen(history)))
    latest.set(`${row.asset}${row.party}${row.market}${row.type}`, row)
  const nodes = [...latest.values()].filter(matches(query)).map((row) => ({
    owner: row.party,
    balance: String(row.balance),
    asset: row.asset,
    marketId: row.market,
    type: row.type,
  }))
  return listing("accounts", nodes, query, history)
}

/** A listing whose cursors are places in it. */
const listing = (name: string, nodes: ReadonlyArray<unknown>, query: URLSearchParams, history: History): Answer => {
  const from = Number(query.get("pagination.after") ?? "-1") + 1
  const size = Math.min(Number(query.get("pagination.first") ?? "1000"), history.pageMax)
  const page = nodes.slice(from, from + size).map((node, i) => ({ node, cursor: String(from + i) }))
  return connection(name, page, from + size < nodes.length)
}

const connection = (name: string, edges: ReadonlyArray<{ readonly cursor: string }>, hasNextPage: boolean): Answer => {
  const [startCursor, endCursor] = [edges[0]?.cursor ?? "", edges.at(-1)?.cursor ?? ""]
  const pageInfo = { hasNextPage, hasPreviousPage: false, startCursor, endCursor }
  return { status: 200, body: { [name]: { edges, pageInfo } } }
}
