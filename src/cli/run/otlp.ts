import { Duration, Effect, Layer, Redacted } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse, HttpMiddleware } from "effect/http"
import { OtlpSerialization, OtlpTracer } from "effect/observability"
import { logEvent } from "../../telemetry/Logging.ts"
import { paymentSpan } from "../../telemetry/Tracing.ts"

interface TracingOptions {
  /** Address that takes spans, as OTLP over HTTP in JSON. */
  readonly url: string
  readonly headers: Readonly<Record<string, Redacted.Redacted>>
  readonly treasury: string
  readonly version: string
}

/** If the collector does not accept a batch in this time, tracing is off for a minute. */
const acceptMillisMax = 5_000
/** Concurrent batches; one more also switches tracing off for a minute. */
const underWayMax = 4
const batchMax = 2_000

/**
 * Sends spans to a collector. A collector that refuses, hangs or is away delays nothing: spans that it does not accept
 * at once are dropped, with all of the next minute, so that at most 10,000 are in memory.
 */
export const collectorLayer = ({ url, headers, treasury, version }: TracingOptions) =>
  Layer.merge(
    OtlpTracer.layer({
      url,
      resource: { serviceName: "cofferer", serviceVersion: version, attributes: { treasury } },
      maxBatchSize: batchMax,
      exportInterval: Duration.seconds(2),
      shutdownTimeout: Duration.seconds(1),
    }).pipe(Layer.provide(Layer.merge(clientLayer(headers), serializationLayer))),
    // Spans of HTTP would hold headers and addresses.
    Layer.merge(
      Layer.succeed(HttpClient.TracerDisabledWhen, () => true),
      Layer.succeed(HttpMiddleware.TracerDisabledWhen, () => true),
    ),
  )

/** HTTP client of the exporter. A failure becomes a defect: the exporter would retry an error, and keep its spans. */
const clientLayer = (headers: TracingOptions["headers"]) =>
  Layer.effect(
    HttpClient.HttpClient,
    Effect.map(HttpClient.HttpClient, (real) => {
      let underWay = 0
      const exchange = (request: HttpClientRequest.HttpClientRequest) => {
        const secret = Object.entries(headers).map(([name, value]) => [name, Redacted.value(value)] as const)
        const authorized = HttpClientRequest.setHeaders(request, Object.fromEntries(secret))
        // The scope ends with the head of the answer: the body is not read.
        return Effect.scoped(Effect.map(HttpClient.withScope(real).execute(authorized), ({ status }) => status)).pipe(
          Effect.mapError(({ message }) => message),
          Effect.timeoutOrElse({
            duration: acceptMillisMax,
            orElse: () => Effect.fail(`no answer within ${acceptMillisMax / 1_000} s`),
          }),
          Effect.filterOrFail(
            (status) => status >= 200 && status < 300,
            (status) => `the collector answered with ${status}`,
          ),
        )
      }
      return HttpClient.make((request) =>
        Effect.suspend(() => {
          if (underWay >= underWayMax) return Effect.fail(`${underWay} batches are on their way already`)
          underWay++
          return Effect.ensuring(
            exchange(request),
            Effect.sync(() => underWay--),
          )
        }).pipe(
          Effect.map((status) => HttpClientResponse.fromWeb(request, new Response(null, { status }))),
          Effect.tapError((reason) =>
            logEvent("spans not delivered", { reason, remedy: "they are dropped for a minute" }),
          ),
          Effect.catch((reason) => Effect.die(new Error(reason))),
        ),
      )
    }),
  )

/** Names of the spans of SQL statements: two fifths of all spans, which show little beyond their transaction's span. */
const statements: ReadonlySet<string> = new Set(["sqlite", "postgresql"])

/**
 * Leaves SQL statements out, and makes each payment's span the root of its trace: it gets the id that all its spans,
 * also those of an earlier process, have as their parent.
 */
const serializationLayer = Layer.effect(
  OtlpSerialization.OtlpSerialization,
  Effect.map(OtlpSerialization.OtlpSerialization, (json) => {
    type Data = OtlpTracer.TraceData
    type Span = Data["resourceSpans"][number]["scopeSpans"][number]["spans"][number]
    const asRoot = (span: Span): Span =>
      span.name === paymentSpan && span.parentSpanId !== undefined
        ? { ...span, spanId: span.parentSpanId, parentSpanId: undefined }
        : span
    const traces = ({ resourceSpans }: Data) =>
      json.traces({
        resourceSpans: resourceSpans.map((resource) => ({
          ...resource,
          scopeSpans: resource.scopeSpans.map((scope) => ({
            ...scope,
            spans: scope.spans.filter(({ name }) => !statements.has(name)).map(asRoot),
          })),
        })),
      })
    return OtlpSerialization.OtlpSerialization.of({ ...json, traces })
  }),
).pipe(Layer.provide(OtlpSerialization.layerJson))
