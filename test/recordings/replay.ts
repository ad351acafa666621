import { Effect, Schema } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import type { GatewayError } from "../../src/gateway/GatewayError.ts"
import { GatewayReader } from "../../src/gateway/GatewayReader.ts"
import { SubmissionAnswer } from "../../src/gateway/GatewayWriter.ts"
import type { BalanceChangesQuery, Pagination } from "../../src/gateway/readRows.ts"
import { AssetRow } from "../../src/gateway/schema/Assets.ts"
import { TransfersAnswer } from "../../src/gateway/schema/Transfers.ts"
import { gatewayOptions, makeTransport, type Transport } from "../../src/gateway/Transport.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import type { Recorded } from "../support/Recordings.ts"

export const metricsLayer = Metrics.layer({
  treasury: "test",
  mode: "observe",
  gateways: ["recorded"],
  rules: [],
  receivers: [],
  version: "0",
  revision: "0",
})

/** What the adapter gives for a recorded answer, and the address that it asked. */
export interface Replay {
  readonly value: Effect.Effect<unknown, GatewayError>
  readonly asked: ReadonlyArray<URL>
}

/** Which operation of the adapter a recorded request belongs to; undefined for requests that it never makes. */
export const operationOf = ({ method, path }: Pick<Recorded, "method" | "path">): string | undefined => {
  const bare = path.split("?")[0]!
  if (method === "POST") return bare === "/transaction" || bare === "/transaction/raw" ? "submit" : undefined
  if (bare === "/api/v2/balance/changes") return "balances"
  if (bare === "/api/v2/assets") return "assets"
  if (bare.startsWith("/api/v2/asset/")) return "asset"
  if (bare === "/api/v2/accounts") return "accounts"
  if (bare === "/blockchain/height") return "height"
  if (bare.startsWith("/api/v2/transfer/")) return "transfer"
  if (bare === "/api/v2/transfers") return "transfers"
  if (bare === "/api/v2/network/parameters") return "parameters"
  // Two answers to requests that no gateway has: what an operation that is missing looks like.
  if (bare === "/api/v2/none" || bare === "/transaction") return "missing"
  return undefined
}

const paginationOf = (query: URLSearchParams): Pagination => ({
  ...(query.has("pagination.first") ? { first: Number(query.get("pagination.first")) } : {}),
  ...(query.has("pagination.after") ? { after: query.get("pagination.after")! } : {}),
  ...(query.has("pagination.last") ? { last: Number(query.get("pagination.last")) } : {}),
  ...(query.has("pagination.before") ? { before: query.get("pagination.before")! } : {}),
  ...(query.has("pagination.newestFirst") ? { newestFirst: query.get("pagination.newestFirst") === "true" } : {}),
})

const queryOf = (query: URLSearchParams): BalanceChangesQuery => ({
  ...paginationOf(query),
  ...(query.has("filter.assetId") ? { assetId: query.get("filter.assetId")! } : {}),
  partyIds: query.getAll("filter.partyIds"),
  marketIds: query.getAll("filter.marketIds"),
  accountTypes: query.getAll("filter.accountTypes"),
  ...(query.has("dateRange.startTimestamp") ? { startTimestamp: BigInt(query.get("dateRange.startTimestamp")!) } : {}),
  ...(query.has("dateRange.endTimestamp") ? { endTimestamp: BigInt(query.get("dateRange.endTimestamp")!) } : {}),
})

/** Makes the recorded request again through the adapter, over an HTTP client that answers what was recorded. */
export const replay = (
  metrics: Metrics["Service"],
  recorded: Pick<Recorded, "method" | "path" | "status" | "headers" | "text">,
): Replay => {
  const asked: Array<URL> = []
  const http = HttpClient.make((request, url) => {
    asked.push(url)
    const { text, status, headers } = recorded
    return Effect.succeed(HttpClientResponse.fromWeb(request, new Response(text, { status, headers })))
  })
  const [path, search] = [recorded.path.split("?")[0]!, new URLSearchParams(recorded.path.split("?")[1] ?? "")]
  const ask = (transport: Transport): Effect.Effect<unknown, GatewayError> => {
    const reader = GatewayReader.make(transport)
    const id = path.split("/").at(-1)!
    switch (operationOf(recorded)) {
      case "balances":
        return reader.balanceChanges(queryOf(search))
      case "assets":
        return reader.assets({
          ...paginationOf(search),
          ...(search.has("assetId") ? { assetId: search.get("assetId")! } : {}),
        })
      case "asset":
        return transport.request({ operation: "assets", path, schema: Schema.Struct({ asset: AssetRow }) })
      case "accounts":
        return reader.accounts(queryOf(search))
      case "height":
        return GatewayReader.make(transport).head
      case "transfer":
        return GatewayReader.make(transport).transfer(id)
      case "transfers":
        return transport.request({ operation: "transfer", path, query: [...search], schema: TransfersAnswer })
      case "parameters":
        return GatewayReader.make(transport).parameters
      case "submit":
        // GatewayWriter posts to /transaction alone; both answers have one form.
        return transport.request({ operation: "submit", path, body: {}, schema: SubmissionAnswer })
      default:
        return transport.request({ operation: "height", path, schema: Schema.Unknown })
    }
  }
  const value = makeTransport(gatewayOptions({ name: "recorded", url: "http://recorded" })).pipe(
    Effect.flatMap(ask),
    Effect.provideService(HttpClient.HttpClient, http),
    Effect.provideService(Metrics, metrics),
  )
  return { value, asked }
}
