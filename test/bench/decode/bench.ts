import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Worker } from "node:worker_threads"
import { Effect, ManagedRuntime } from "effect"
import { request } from "undici"
import { GatewayReader } from "../../../src/gateway/GatewayReader.ts"
import { live, openTransport } from "../../gateway/GatewayServer.ts"
import { corpus } from "../../gateway/hostile/corpus.ts"
import { judge } from "../../gateway/hostile/judge.ts"
import { threadCpuMicros } from "../../support/threadCpu.ts"
import { alternate, type Benchmark, besidePeers, type Figure, figure, median } from "../Benchmark.ts"
import { makeProduct, parseAll, rowsPerSlice } from "../poller/product.ts"

const rounds = 3

/** Pages of balance rows: bytes to checked rows, beside JSON.parse alone. */
const rowsDecoded = async (): Promise<ReadonlyArray<Figure>> => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-bench-"))
  const product = makeProduct(dir)
  try {
    const shared = { name: "", batch: rowsPerSlice, prepare: product.prepare }
    const variants = [
      { ...shared, work: () => product.each(parseAll) },
      { ...shared, work: () => product.each(product.read) },
    ]
    const [parsed = [], decoded = []] = await alternate(variants, { rounds: 11, sliceMillis: 1 })
    return [
      figure("decode rows", decoded, { unit: "rows per second of processor time", better: "higher" }),
      figure(
        "decode cost of rows",
        decoded.map((rate, round) => parsed[round]! / rate),
        { unit: "times JSON.parse", better: "lower" },
      ),
    ]
  } finally {
    await product.dispose()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** The newest block, asked for over HTTP, checked, counted and paced, beside a request by undici alone. */
const headsAsked = async (url: string): Promise<ReadonlyArray<Figure>> => {
  const runtime = ManagedRuntime.make(live)
  const { head } = GatewayReader.make(await runtime.runPromise(Effect.scoped(openTransport(url))))
  const times = async (count: number, work: () => Promise<unknown>) => {
    for (let n = 0; n < count; n++) await work()
  }
  const variants = [
    {
      name: "decode heads over HTTP",
      batch: 32,
      work: (_: number, count: number) => times(count, () => runtime.runPromise(head)),
    },
    {
      name: "undici",
      batch: 32,
      work: (_: number, count: number) =>
        times(count, async () => (await request(`${url}/blockchain/height`)).body.json()),
    },
  ] as const
  try {
    return await besidePeers(variants, { unit: "per second", prefix: "decode heads" })
  } finally {
    await runtime.dispose()
  }
}

/** The longest turn of the event loop by its processor time, with the worst of all bad answers, over real HTTP. */
const worstAnswer = async (url: string, say: (text: string) => void): Promise<Figure> => {
  let longest = 0
  let last = threadCpuMicros()
  const tick = () => {
    const now = threadCpuMicros()
    longest = Math.max(longest, now - last)
    last = now
    ticking = setImmediate(tick)
  }
  let ticking = setImmediate(tick)
  const turn = Effect.callback<void>((resume) => {
    setImmediate(() => setImmediate(() => resume(Effect.void)))
  })
  const cases = Object.entries(corpus).flatMap(([family, all]) =>
    all.map((bad, number) => ({ bad, url: `${url}/${family}/${number}`, millis: [] as Array<number> })),
  )
  const program = Effect.gen(function* () {
    // The first round is for the compilers.
    for (let round = 0; round <= rounds; round++) {
      for (const one of cases) {
        yield* turn
        longest = 0
        const problem = yield* judge(one.bad, one.url)
        yield* turn
        if (problem !== undefined) say(`wrong: ${problem}`)
        if (round > 0) one.millis.push(longest / 1_000)
      }
    }
  })
  await Effect.runPromise(Effect.provide(Effect.scoped(program), live))
  clearImmediate(ticking)
  const [worst] = cases.sort((a, b) => median(b.millis) - median(a.millis))
  say(`${cases.length} bad answers; the slowest is ${worst?.bad.ask}: ${worst?.bad.name}`)
  return figure("decode worst answer", worst?.millis ?? [], { unit: "ms in one turn", better: "lower" })
}

export const decode: Benchmark = {
  name: "decode",
  about: "answers of a gateway: rows and heads, and how long the worst of all bad answers holds the event loop",
  limits:
    "Unlike JSON.parse alone, decoding checks each field and converts texts to integers. Unlike undici alone, a " +
    "request waits for its turn, has a deadline and a largest body, and is counted and decoded.",
  run: async (say) => {
    const rows = await rowsDecoded()
    const server = new Worker(new URL("server.ts", import.meta.url))
    try {
      const [url] = await once(server, "message")
      return [...rows, ...(await headsAsked(url)), await worstAnswer(url, say)]
    } finally {
      await server.terminate()
    }
  },
}
