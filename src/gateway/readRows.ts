import { Effect } from "effect"
import type { Asset } from "../domain/Asset.ts"
import type { BalanceChange } from "../domain/Balance.ts"
import type { GatewayError } from "./GatewayError.ts"
import { AssetsAnswer } from "./schema/Assets.ts"
import {
  AccountsAnswer,
  type BalanceChanges,
  BalanceChangesAnswer,
  type ReportedBalance,
} from "./schema/BalanceChanges.ts"
import { type Page, pageOf } from "./schema/Numbers.ts"
import type { Joint, Transport } from "./Transport.ts"

/** Which part of a listing: forwards by `first` and `after`, backwards by `last` and `before`. Page sizes 1 to 5000. */
export interface Pagination {
  readonly first?: number | undefined
  readonly after?: string | undefined
  readonly last?: number | undefined
  readonly before?: string | undefined
  /** Default of the gateway: true. */
  readonly newestFirst?: boolean | undefined
}

/** Which accounts; an empty list is no filter. Parties and markets: 64 hex characters or "network". */
export interface AccountFilter {
  readonly assetId?: string | undefined
  readonly partyIds?: ReadonlyArray<string>
  readonly marketIds?: ReadonlyArray<string>
  /** Wire names, such as ACCOUNT_TYPE_GENERAL. */
  readonly accountTypes?: ReadonlyArray<string>
}

export interface BalanceChangesQuery extends Pagination, AccountFilter {
  /** Unix nanoseconds, inclusive. Networks from 0.75 on want one, within 365 days. */
  readonly startTimestamp?: bigint | undefined
  /** Unix nanoseconds, exclusive. */
  readonly endTimestamp?: bigint | undefined
}

interface AssetsQuery extends Pagination {
  /** Asks for this asset alone; the error is NotFound where the network does not know it. */
  readonly assetId?: string | undefined
}

interface AccountsQuery extends Pagination, AccountFilter {}

/** Balances and assets, page by page. */
export interface RowReader {
  /** History: the balance of each account after each block that touched it, equal values included. */
  readonly balanceChanges: (query: BalanceChangesQuery) => Effect.Effect<Page<BalanceChange>, GatewayError>
  /** All assets of every status, ordered by id. */
  readonly assets: (query: AssetsQuery) => Effect.Effect<Page<Asset>, GatewayError>
  /** Balances now. */
  readonly accounts: (query: AccountsQuery) => Effect.Effect<Page<ReportedBalance>, GatewayError>
}

export const makeRowReader = (transport: Transport): RowReader => ({
  balanceChanges: Effect.fn("GatewayReader.balanceChanges")(function* (query) {
    const { value, mark, date } = yield* transport.request({
      operation: "balance_changes",
      path: "/api/v2/balance/changes",
      query: changesParameters(query),
      schema: BalanceChangesAnswer,
      ...(isNewest(query) ? { joint: jointChanges(query) } : {}),
    })
    return { ...pageOf(value.balances, mark), date }
  }),
  assets: Effect.fn("GatewayReader.assets")(function* (query) {
    const { value, mark } = yield* transport.request({
      operation: "assets",
      path: "/api/v2/assets",
      query: [...parameter("assetId", query.assetId), ...paginationParameters(query)],
      schema: AssetsAnswer,
    })
    return pageOf(value.assets, mark)
  }),
  accounts: Effect.fn("GatewayReader.accounts")(function* (query) {
    const { value, mark, date } = yield* transport.request({
      operation: "accounts",
      path: "/api/v2/accounts",
      query: [...filterParameters(query), ...paginationParameters(query)],
      schema: AccountsAnswer,
    })
    return { ...pageOf(value.accounts, mark), date }
  }),
})

/** A poller's query for new rows of some parties: several such queries fit into one. */
interface Newest extends BalanceChangesQuery {
  readonly partyIds: ReadonlyArray<string>
  readonly startTimestamp: bigint
}

const newestKeys: ReadonlySet<string> = new Set(["partyIds", "first", "newestFirst", "startTimestamp"])

const isNewest = (query: BalanceChangesQuery): query is Newest =>
  query.startTimestamp !== undefined &&
  (query.partyIds?.length ?? 0) > 0 &&
  query.newestFirst === false &&
  Object.entries(query).every(([key, value]) => value === undefined || newestKeys.has(key))

/** Parties of one request: its line stays below the 8 KiB that proxies take. */
const jointPartiesMax = 64
/** A reader who is further behind asks by itself: its rows would fill the page of all. */
const jointNanosMax = 60_000_000_000n

interface Wide {
  readonly partyIds: ReadonlyArray<string>
  readonly startTimestamp: bigint
}

const jointChanges = (query: Newest): Joint<BalanceChanges> =>
  ({
    key: `balance changes ${query.first}`,
    widen: (wide = query) => {
      const [from, to] = [wide.startTimestamp, query.startTimestamp].toSorted((a, b) => (a < b ? -1 : 1)) as [
        bigint,
        bigint,
      ]
      const partyIds = [...new Set([...wide.partyIds, ...query.partyIds])]
      const isTooWide = wide !== query && (partyIds.length > jointPartiesMax || to - from > jointNanosMax)
      return isTooWide ? undefined : { partyIds, startTimestamp: from }
    },
    query: (wide) => changesParameters({ ...query, ...wide }),
    part: ({ balances }, wide) => {
      if (wide.startTimestamp === query.startTimestamp && wide.partyIds.length === query.partyIds.length) {
        return { balances }
      }
      if (balances.pageInfo.hasNextPage) return undefined
      // Rows older than every query stay: they show the reader that the gateway ignores times.
      const isOwn = ({ node: { party, timestamp } }: { readonly node: BalanceChange }) =>
        query.partyIds.includes(party) && (timestamp >= query.startTimestamp || timestamp < wide.startTimestamp)
      return { balances: { ...balances, edges: balances.edges.filter(isOwn) } }
    },
  }) satisfies Joint<BalanceChanges, Wide> as Joint<BalanceChanges>

const changesParameters = (query: BalanceChangesQuery): Parameters => [
  ...filterParameters(query),
  ...paginationParameters(query),
  ...parameter("dateRange.startTimestamp", query.startTimestamp),
  ...parameter("dateRange.endTimestamp", query.endTimestamp),
]

type Parameters = ReadonlyArray<readonly [string, string]>

const parameter = (key: string, value: string | number | bigint | boolean | undefined): Parameters =>
  value === undefined ? [] : [[key, String(value)]]

/** Arrays are repeated keys: the only form that every version reads. */
const filterParameters = (filter: AccountFilter): Parameters => [
  ...parameter("filter.assetId", filter.assetId),
  ...(filter.partyIds ?? []).map((id) => ["filter.partyIds", id] as const),
  ...(filter.marketIds ?? []).map((id) => ["filter.marketIds", id] as const),
  ...(filter.accountTypes ?? []).map((name) => ["filter.accountTypes", name] as const),
]

/** The page parameters of a listing, as the query of a request. */
export const paginationParameters = (page: Pagination): Parameters => [
  ...parameter("pagination.first", page.first),
  ...parameter("pagination.after", page.after),
  ...parameter("pagination.last", page.last),
  ...parameter("pagination.before", page.before),
  ...parameter("pagination.newestFirst", page.newestFirst),
]
