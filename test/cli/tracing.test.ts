import { rmSync, writeFileSync } from "node:fs"
import { createServer, type IncomingHttpHeaders, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted } from "effect"
import { it as plainIt } from "vitest"
import { collectorLayer } from "../../src/cli/run/otlp.ts"
import { layerHttp } from "../../src/sockets/client.ts"
import { it } from "../support/it.ts"
import { startStepped, steppedSandbox } from "../support/SteppedDaemon.ts"
import { tempDir } from "../support/tempDir.ts"
import { inTime, waitUntil } from "../support/until.ts"

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly links: ReadonlyArray<{ readonly traceId: string; readonly spanId: string }>
  readonly attributes: ReadonlyArray<{ readonly key: string; readonly value: { readonly stringValue?: string } }>
}

interface Posted {
  readonly resourceSpans: ReadonlyArray<{ readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<Span> }> }>
}

/** A collector with what it got. `answer` does with each request what it wants. */
const startCollector = async (answer: (end: (status: number) => void) => void) => {
  const bodies: Array<string> = []
  const headers: Array<IncomingHttpHeaders> = []
  const server: Server = createServer((request, response) => {
    headers.push(request.headers)
    let body = ""
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString()
    })
    request.on("end", () => {
      bodies.push(body)
      answer((status) => response.writeHead(status).end("{}"))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const spans = (): ReadonlyArray<Span> =>
    bodies.flatMap((body) =>
      (JSON.parse(body) as Posted).resourceSpans.flatMap(({ scopeSpans }) =>
        scopeSpans.flatMap((scope) => scope.spans),
      ),
    )
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    bodies,
    headers,
    spans,
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

const secret = "collector-secret-8f1d"

describe("traces of a daemon", () => {
  plainIt("show each payment as one tree, and each round as another", async () => {
    const dir = tempDir("tracing")
    const collector = await startCollector((end) => end(200))
    writeFileSync(join(dir, "token"), secret)
    const file = join(dir, "treasury.yaml")
    const tracing = `{ url: "${collector.url}", headers: { X-Token: { file: token } } }`
    writeFileSync(file, `${steppedSandbox()}\ndaemon: { tracing: ${tracing} }\n`)
    const daemon = startStepped(file, join(dir, "data"))
    const { intent } = await daemon.payFirst()
    await daemon.stop()
    collector.stop()
    const spans = collector.spans()
    const root = spans.find(({ name }) => name === "payment")
    assert.isDefined(root)
    assert.isUndefined(root.parentSpanId)
    const told = Object.fromEntries(root.attributes.map(({ key, value }) => [key, value.stringValue]))
    assert.include(told, { rule: "keep-hot-funded", amount: "16,210.00 USDT", outcome: "confirmed", to: "hot" })
    assert.isDefined(intent)
    const treeOf = (of: Span): ReadonlyArray<Span> => {
      const tree = spans.filter(({ traceId }) => traceId === of.traceId)
      const ids = new Set(tree.map(({ spanId }) => spanId))
      for (const { name, parentSpanId } of tree) {
        assert.strictEqual(parentSpanId === undefined, name === of.name, `${name} is the root`)
        if (parentSpanId !== undefined) assert.isTrue(ids.has(parentSpanId), `${name} hangs on a span`)
      }
      return tree
    }
    const tree = treeOf(root)
    const steps = ["payment.observe", "payment.decide", "Submitter.sign", "Submitter.solve", "Submitter.post"]
    const ends = [...steps, "Confirm.confirmed"].map((step) => {
      const found = tree.find(({ name }) => name === step)
      assert.isDefined(found, step)
      return BigInt(found.endTimeUnixNano)
    })
    assert.deepStrictEqual(
      ends,
      [...ends].sort((a, b) => (a < b ? -1 : 1)),
      "in their order",
    )
    const round = spans.find(({ name, links }) => name === "Engine.decide" && links.length > 0)
    assert.isDefined(round)
    assert.isUndefined(round.parentSpanId)
    const idsOf = ({ traceId, spanId }: Pick<Span, "traceId" | "spanId">) => ({ traceId, spanId })
    assert.deepStrictEqual(round.links.map(idsOf), [idsOf(root)])
    assert.deepStrictEqual(tree.find(({ name }) => name === "payment.decide")?.links.map(idsOf), [idsOf(round)])
    for (const step of ["Engine.snapshot", "Engine.load", "Engine.keep"]) {
      assert.isTrue(
        treeOf(round).some(({ name }) => name === step),
        step,
      )
    }
    assert.isFalse(spans.some(({ attributes }) => JSON.stringify(attributes).includes("SELECT")))
    assert.isTrue(collector.headers.every((headers) => headers["x-token"] === secret))
    assert.notInclude(collector.bodies.join(), secret)
    rmSync(dir, { recursive: true, force: true })
  })
})

describe("spans of SQL statements", () => {
  it.live("are not exported, whatever the database", function* () {
    const collector = yield* Effect.promise(() => startCollector((end) => end(200)))
    const tracing = collectorLayer({ url: collector.url, headers: {}, treasury: "t", version: "0" })
    const statements = Effect.forEach(["sqlite", "postgresql"], (name) => Effect.withSpan(Effect.void, name))
    const work = Effect.andThen(statements, Effect.withSpan(Effect.void, "step"))
    yield* Effect.provide(work, tracing.pipe(Layer.provide(layerHttp)))
    assert.deepStrictEqual(
      collector.spans().map(({ name }) => name),
      ["step"],
    )
    collector.stop()
  })
})

describe("a collector that does not answer", () => {
  const many = 20_000

  it.live("delays nothing, and gets no more than four batches", function* () {
    const collector = yield* Effect.promise(() => startCollector(() => {}))
    const lines: Array<string> = []
    const logger = Logger.layer([Logger.make(({ message }) => void lines.push(JSON.stringify(message)))])
    const headers = { "x-token": Redacted.make(secret) }
    const tracing = collectorLayer({ url: collector.url, headers, treasury: "t", version: "0" })
    const work = Effect.gen(function* () {
      for (let i = 0; i < many; i++) yield* Effect.withSpan(Effect.yieldNow, "step")
      yield* waitUntil("the refusal", () => lines.length > 0)
    })
    const layer = tracing.pipe(Layer.provide(layerHttp), Layer.provideMerge(logger))
    yield* Effect.promise(() => inTime("the work", Effect.runPromise(Effect.provide(work, layer))))
    assert.isAtMost(collector.headers.length, 4)
    assert.match(lines[0]!, /spans not delivered.*(4 batches are on their way|no answer within 5 s)/)
    assert.notInclude(lines.join(), secret)
    collector.stop()
  })

  it.live("is logged where it refuses, by its status alone", function* () {
    const collector = yield* Effect.promise(() => startCollector((end) => end(503)))
    const lines: Array<string> = []
    const logger = Logger.layer([Logger.make(({ message }) => void lines.push(JSON.stringify(message)))])
    const tracing = collectorLayer({ url: collector.url, headers: {}, treasury: "t", version: "0" })
    const work = Effect.andThen(
      Effect.replicateEffect(Effect.withSpan(Effect.void, "step"), 2_000),
      waitUntil("the refusal", () => lines.length > 0),
    )
    yield* Effect.provide(work, tracing.pipe(Layer.provide(layerHttp), Layer.provideMerge(logger)))
    assert.include(lines[0], "the collector answered with 503")
    assert.strictEqual(collector.headers.length, 1, "nothing is repeated")
    collector.stop()
  })
})
