import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer, ManagedRuntime } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import type { BalanceChange } from "../../../src/domain/Balance.ts"
import { GatewayReader } from "../../../src/gateway/GatewayReader.ts"
import { layerGateways } from "../../../src/gateway/layerGateways.ts"
import { gatewayOptions } from "../../../src/gateway/Transport.ts"
import { Observations } from "../../../src/store/balances/Observations.ts"
import { changesOf, groupRows, type KnownBalance, newsOf } from "../../../src/store/balances/storeRows.ts"
import * as Database from "../../../src/store/database/Database.ts"
import { Metrics } from "../../../src/telemetry/Metrics.ts"
import { type Benchmark, figure, median } from "../Benchmark.ts"
import { type PageBytes, pageBytes } from "./rows.ts"

const rounds = 11
/** Pages of one slice, by their rows: a busy second, and what a poller that catches up asks for. */
const sizes = [1_000, 1_000, 2_500, 2_500, 5_000, 5_000, 5_000]
const rowsPerSlice = sizes.reduce((sum, rows) => sum + rows, 0)

/** Time of this thread's work, whatever else the machine does. */
const cpuMillis = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

interface Slice {
  /** Rows per second of this thread's work. */
  readonly perCpuSecond: number
  readonly perSecond: number
}

const slice = async (work: () => Promise<unknown>): Promise<Slice> => {
  const cpu = cpuMillis()
  const began = performance.now()
  await work()
  return {
    perCpuSecond: (rowsPerSlice * 1_000) / (cpuMillis() - cpu),
    perSecond: (rowsPerSlice * 1_000) / (performance.now() - began),
  }
}

const headBytes = (height: bigint): string =>
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

/** The product's own reader and store; only the socket is missing. */
const productOf = (dir: string, sent: () => PageBytes) => {
  const http = Layer.succeed(
    HttpClient.HttpClient,
    HttpClient.make((request) =>
      Effect.sync(() => {
        const { bytes, height, begun } = sent()
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
  const store = Observations.layer.pipe(Layer.provide(Database.layer({ filename: join(dir, Database.databaseFile) })))
  return ManagedRuntime.make(Layer.merge(reader, store))
}

/** What is known of the accounts: half of them at an older block, so that comparing has both to do. */
const knownOf = (newest: ReadonlyArray<BalanceChange>): ReadonlyArray<KnownBalance> =>
  newest.map((row, id) => ({ id, balance: row.balance - BigInt(id % 2), timestamp: row.timestamp - 1n }))

const run: Benchmark["run"] = async (say) => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-bench-"))
  let sent: PageBytes = pageBytes(0, 1)
  const product = productOf(dir, () => sent)
  let height = 1
  const read = (page: PageBytes) =>
    Effect.flatMap(GatewayReader, (reader) => {
      sent = page
      return reader.balanceChanges({ first: page.rows, startTimestamp: 1n })
    }).pipe(Effect.map(({ rows }) => rows.map(({ node }) => node)))
  const compare = (rows: ReadonlyArray<BalanceChange>) =>
    Effect.sync(() => {
      const { newest } = groupRows(rows)
      const known = knownOf(newest)
      return changesOf(newest, known, newsOf(newest, known))
    })
  const store = (page: PageBytes) =>
    Effect.flatMap(read(page), (rows) =>
      Effect.flatMap(Observations, ({ advance }) => advance(rows, { timestamp: page.begun, height: page.height })),
    )
  const each = (pages: ReadonlyArray<PageBytes>, work: (page: PageBytes) => Effect.Effect<unknown, unknown, never>) =>
    Effect.runPromise(Effect.forEach(pages, work, { discard: true }))
  const utf8 = new TextDecoder("utf-8", { fatal: true })
  const parsed: Array<Slice> = []
  const compared: Array<Slice> = []
  const stored: Array<Slice> = []
  try {
    const services = await product.context()
    say(`${rounds} rounds of ${rowsPerSlice} rows: parsed alone, read and compared, read and stored`)
    for (let round = -2; round < rounds; round++) {
      const pages = sizes.map((rows) => pageBytes(height++, rows))
      const slices = [
        await slice(() => each(pages, ({ bytes }) => Effect.sync(() => JSON.parse(utf8.decode(bytes))))),
        await slice(() =>
          each(pages, (page) => Effect.flatMap(read(page), compare).pipe(Effect.provideContext(services))),
        ),
        await slice(() => each(pages, (page) => store(page).pipe(Effect.provideContext(services)))),
      ] as const
      if (round < 0) continue
      parsed.push(slices[0])
      compared.push(slices[1])
      stored.push(slices[2])
    }
  } finally {
    await product.dispose()
    rmSync(dir, { recursive: true, force: true })
  }
  const clock = (slices: ReadonlyArray<Slice>) => Math.round(median(slices.map((s) => s.perSecond)))
  say(`by the clock: ${clock(parsed)} parsed, ${clock(compared)} compared, ${clock(stored)} stored a second`)
  const work = (slices: ReadonlyArray<Slice>) => slices.map((s) => s.perCpuSecond)
  const against = (slices: ReadonlyArray<Slice>) => slices.map((s, i) => parsed[i]!.perCpuSecond / s.perCpuSecond)
  const rows = { unit: "rows per second of a core", better: "higher" } as const
  const times = { unit: "times JSON.parse", better: "lower" } as const
  return [
    figure("poller rows compared", work(compared), rows),
    figure("poller rows stored", work(stored), rows),
    figure("poller cost of comparing", against(compared), times),
    figure("poller cost of storing", against(stored), times),
  ]
}

/** From the bytes of an answer to rows on disk, by the product's own reader and store. */
export const poller: Benchmark = {
  name: "poller",
  about: "balance rows per second of a core: bytes to rows compared with what is known, and to rows on disk",
  run,
}
