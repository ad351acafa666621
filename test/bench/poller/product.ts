import { join } from "node:path"
import { Effect, Layer, ManagedRuntime } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { GatewayReader } from "../../../src/gateway/GatewayReader.ts"
import { layerGateways } from "../../../src/gateway/quorumGateway.ts"
import { gatewayOptions } from "../../../src/gateway/Transport.ts"
import { Observations } from "../../../src/store/balances/Observations.ts"
import * as Database from "../../../src/store/database/Database.ts"
import { Settings } from "../../../src/store/database/Settings.ts"
import { Journal } from "../../../src/store/journal/Journal.ts"
import { Metrics } from "../../../src/telemetry/Metrics.ts"
import { type PageBytes, pageBytes } from "./rows.ts"

/** Rows of the pages of one slice: a busy second, and what a poller that catches up asks for. */
const sizes = [1_000, 1_000, 2_500, 2_500, 5_000, 5_000, 5_000]
export const rowsPerSlice = sizes.reduce((sum, rows) => sum + rows, 0)

/** The answer of a gateway that tells its newest block. */
export const headBytes = (height: bigint): string =>
  JSON.stringify({
    height: String(height),
    hash: "AB".repeat(32),
    chainId: "bench",
    spamPowHashFunction: "sha3_24_rounds",
    spamPowDifficulty: 15,
    spamPowNumberOfPastBlocks: 100,
    spamPowNumberOfTxPerBlock: 2,
    spamPowIncreasingDifficulty: true,
  })

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** The bytes of a page as JSON, and no more. */
export const parseAll = ({ bytes }: PageBytes) => Effect.sync(() => JSON.parse(utf8.decode(bytes)))

/** The product's own reader and store, with its files in a folder; only the socket is missing. */
export const makeProduct = (dir: string) => {
  let sent = pageBytes(0, 1)
  let height = 1
  let pages: ReadonlyArray<PageBytes> = []
  const http = Layer.succeed(
    HttpClient.HttpClient,
    HttpClient.make((request) =>
      Effect.sync(() => {
        const { bytes, height, begun } = sent
        const headers = { "x-block-height": String(height), "x-block-timestamp": String(begun) }
        // Rows count between two heads of their chain.
        const body = request.url.endsWith("/blockchain/height") ? headBytes(height) : bytes
        return HttpClientResponse.fromWeb(request, new Response(body, { headers }))
      }),
    ),
  )
  const metrics = Metrics.layer({
    treasury: "bench",
    mode: "observe",
    gateways: ["node"],
    rules: [],
    payers: [],
    receivers: [],
    version: "",
    revision: "",
  })
  const options = gatewayOptions({ name: "node", url: "http://node", requestsPerSecond: 1_000_000 })
  const reader = layerGateways({ chainId: "bench", gateways: [options], quorum: 1 }).pipe(
    Layer.provide(http),
    Layer.provide(metrics),
  )
  const store = Observations.layerNoDeps.pipe(
    Layer.provide(Journal.layer("bench")),
    Layer.provide(Settings.layer),
    Layer.provide(Database.layer({ filename: join(dir, Database.databaseFile) })),
  )
  const runtime = ManagedRuntime.make(Layer.merge(reader, store))
  return {
    /** From the bytes of an answer to checked rows. */
    read: (page: PageBytes) =>
      Effect.flatMap(GatewayReader, (reader) => {
        sent = page
        return reader.balanceChanges({ first: page.rows, startTimestamp: 1n })
      }).pipe(Effect.map(({ rows }) => rows.map(({ node }) => node))),
    /** Makes the pages of the next blocks. */
    prepare: () => {
      pages = sizes.map((rows) => pageBytes(height++, rows))
    },
    /** Does the work with each of these pages, one after the other. */
    each: (work: (page: PageBytes) => Effect.Effect<unknown, unknown, GatewayReader | Observations>) =>
      runtime.runPromise(Effect.forEach(pages, work, { discard: true })),
    dispose: () => runtime.dispose(),
  }
}
