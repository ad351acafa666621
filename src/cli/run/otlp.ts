import { Duration, Effect, Layer, Redacted } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse, HttpMiddleware } from "effect/http"
import { OtlpSerialization, OtlpTracer } from "effect/observability"
import { logEvent } from "../../telemetry/Logging.ts"
import { paymentSpan } from "../../telemetry/Tracing.ts"

interface TracingOptions {
  /** Where spans are posted to, by OTLP over HTTP in JSON. */
  readonly url: string
  readonly headers: Readonly<Record<string, Redacted.Redacted>>
  readonly treasury: string
  readonly version: string
}

/** If the collector does not accept a batch in this time, tracing is off for a minute. */
const takenMillisMax = 5_000
/** Concurrent batches; one more also switches tracing off for a minute. */
const underWayMax = 4
const batchMax = 2_000

/**
 * Sends all spans to a collector. One that refuses, hangs or is away delays nothing: what it does not take at once is
 * dropped, with all spans of the next minute, so that at most 10,000 spans are held.
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

/** Bounds each request. Its failures are defects: the exporter repeats all others, and holds their spans meanwhile. */
const clientLayer = (headers: TracingOptions["headers"]) =>
  Layer.effect(
    HttpClient.HttpClient,
    Effect.map(HttpClient.HttpClient, (real) => {
      let underWay = 0
      const exchange = (request: HttpClientRequest.HttpClientRequest) => {
        const secret = Object.entries(headers).map(([name, value]) => [name, Redacted.value(value)] as const)
        const asked = HttpClientRequest.setHeaders(request, Object.fromEntries(secret))
        // The scope ends with the head of the answer: nobody reads a body.
        return Effect.scoped(Effect.map(HttpClient.withScope(real).execute(asked), ({ status }) => status)).pipe(
          Effect.mapError(({ message }) => message),
          Effect.timeoutOrElse({
            duration: takenMillisMax,
            orElse: () => Effect.fail(`no answer within ${takenMillisMax / 1_000} s`),
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

/** Statements are two fifths of all spans, and one of them tells little. */
const isStatement = ({ name }: { readonly name: string }): boolean => name === "sqlite"

/** Leaves statements out, and gives the root of a payment's tree the id that all its spans have as their parent. */
const serializationLayer = Layer.effect(
  OtlpSerialization.OtlpSerialization,
  Effect.map(OtlpSerialization.OtlpSerialization, (json) => {
    type Data = OtlpTracer.TraceData
    type Span = Data["resourceSpans"][number]["scopeSpans"][number]["spans"][number]
    const rooted = (span: Span): Span =>
      span.name === paymentSpan && span.parentSpanId !== undefined
        ? { ...span, spanId: span.parentSpanId, parentSpanId: undefined }
        : span
    const traces = ({ resourceSpans }: Data) =>
      json.traces({
        resourceSpans: resourceSpans.map((resource) => ({
          ...resource,
          scopeSpans: resource.scopeSpans.map((scope) => ({
            ...scope,
            spans: scope.spans.filter((span) => !isStatement(span)).map(rooted),
          })),
        })),
      })
    return OtlpSerialization.OtlpSerialization.of({ ...json, traces })
  }),
).pipe(Layer.provide(OtlpSerialization.layerJson))
