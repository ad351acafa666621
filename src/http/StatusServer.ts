import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Context, Effect, Layer, Schema } from "effect"
import { HttpRouter, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { isWritten } from "../alerts/AlertLoop.ts"
import { ConfigInForce } from "../config/ConfigInForce.ts"
import type { Address } from "../config/schema/Fields.ts"
import { boundedServer } from "../listen/boundedServer.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { Metrics, toOpenMetrics } from "../telemetry/Metrics.ts"
import { makeAccess, toPage } from "./access/access.ts"
import { pageFile, statusPage } from "./access/pages.ts"
import { exposeMetrics } from "./exposeMetrics.ts"
import { answerExplain, explainPath, json, pathOf, refusal } from "./respond.ts"
import { readView } from "./StatusView.ts"

/**
 * Reasons against readiness, by part; empty: ready. Only states in which this process is useless to its callers count:
 * halted, stale and an unreachable gateway must be visible on the page, so they do not.
 */
const unreadyReasons = Effect.map(
  Effect.orElseSucceed(isWritten, () => false),
  (isTaken) => (isTaken ? {} : { store: "it took none of the daemon's own writes in the last three minutes" }),
)

export interface StatusServerOptions {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** free: where the port is taken, another one serves. */
  readonly portBusy: "error" | "free"
  /** Holds the read token, and the address for health.sh. */
  readonly dataDir: string
  /** Where metrics and probes are served as well, without a token; undefined: nowhere. */
  readonly metrics?: Address | undefined
}

/**
 * Connections that the page holds at once, and the socket of the command line as many: with what gateways and files
 * need, a process stays below 256 descriptors, and below 512 with an embedded network.
 */
export const connectionsMax = 64

/** File of the data directory with host and port of the page, for programs of this host. */
const addressFile = "page-address"

/** The page could not be served. */
export class ListenError extends Schema.TaggedError<ListenError>()("ListenError", {
  address: Schema.String,
  busy: Schema.Boolean,
  cause: Schema.Defect(),
}) {
  override get message() {
    const why = this.busy
      ? "is taken by another process; stop it or set daemon.listen"
      : `cannot be opened: ${this.cause}`
    return `the page's address ${this.address} ${why}`
  }
}

/** Page, metrics and probes over HTTP: reading only. */
export class StatusServer extends Context.Service<StatusServer, { readonly url: string }>()(
  "cofferer/status/StatusServer",
) {
  static readonly layer = (options: StatusServerOptions) => Layer.effect(StatusServer, make(options))
}

const make = (options: StatusServerOptions) => listen(options, pageAnswer(options), metricsAnswer)

type Answer<R> = (
  request: HttpServerRequest.HttpServerRequest,
) => Effect.Effect<HttpServerResponse.HttpServerResponse, never, R>

/** Serves the page at its address, and metrics and probes at theirs. */
const listen = Effect.fnUntraced(function* <R, M>(options: StatusServerOptions, page: Answer<R>, metrics: Answer<M>) {
  const url = yield* serve(options, options, page)
  yield* noteAddress(options.dataDir, url)
  if (options.metrics !== undefined) {
    const at = yield* serve(options.metrics, options, metrics)
    yield* logEvent("metrics listening", { urls: [at] })
  }
  return StatusServer.of({ url })
})

const serve = Effect.fnUntraced(function* <R>(
  { host, port }: Address,
  { portBusy }: StatusServerOptions,
  answer: Answer<R>,
) {
  const bound = open(host, port)
  const server = yield* portBusy === "error"
    ? bound
    : bound.pipe(
        Effect.catchIf(
          (error) => error.busy,
          () => open(host, 0),
        ),
      )
  const context = yield* Effect.context<R>()
  const routes = HttpRouter.use((router) =>
    router.add("*", "/*", (request) => Effect.provideContext(answer(request), context)),
  )
  yield* server.serve(yield* HttpRouter.toHttpEffect(routes))
  const actual = server.address._tag === "UnixPathAddress" ? port : server.address.port
  return `http://${host.includes(":") ? `[${host}]` : host}:${actual}`
})

/**
 * Writes the address for health.sh, which reads no configuration. One that stands there stays: on a full disk a write
 * would only empty the file.
 */
const noteAddress = (dataDir: string, url: string) =>
  Effect.try(() => {
    const { hostname, port } = new URL(url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:"))
    const file = join(dataDir, addressFile)
    const address = `${hostname.replace(/^\[|\]$/g, "")} ${port}\n`
    if (existsSync(file) && readFileSync(file, "utf8") === address) return
    writeFileSync(file, address, { mode: 0o600 })
  }).pipe(Effect.catch((error) => logEvent("page address not written", { reason: String(error.cause) })))

const open = (host: string, port: number) =>
  NodeHttpServer.make(() => boundedServer(connectionsMax), { host, port, gracefulShutdownTimeout: "500 millis" }).pipe(
    Effect.mapError(({ cause }) => {
      const busy = cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE"
      return new ListenError({ address: `${host}:${port}`, busy, cause })
    }),
  )

const nothingHere = refusal(404, "there is nothing here", "see /")

const pageAnswer = (options: StatusServerOptions) => {
  const access = makeAccess(options)
  return Effect.fn("Status.answer")(function* (request: HttpServerRequest.HttpServerRequest) {
    const path = pathOf(request)
    const signed = access.sign(request)
    if (signed !== undefined) return yield* signed
    const open = isReading(request) ? (pageFile(path) ?? (yield* probe(path))) : onlyReads
    if (open !== undefined) return open
    const reader = yield* access.check(request)
    if (typeof reader !== "string") return reader
    switch (path) {
      case "/":
        return statusPage(reader)
      case "/login":
        return toPage({})
      case "/metrics":
        return yield* metricsNow(request)
      case "/api/v1/status":
        return yield* readView().pipe(
          Effect.map((value) => json(value)),
          Effect.catchTag("StoreError", (error) => Effect.succeed(refusal(503, error.message))),
        )
      case explainPath: {
        const query = new URLSearchParams(request.url.split("?")[1] ?? "")
        const inForce = (yield* ConfigInForce).now()
        return yield* answerExplain(inForce, query).pipe(
          Effect.catchTag("StoreError", (error) => Effect.succeed(refusal(503, error.message))),
        )
      }
      default:
        return nothingHere
    }
  })
}

const isReading = ({ method }: HttpServerRequest.HttpServerRequest): boolean => method === "GET" || method === "HEAD"
const onlyReads = refusal(405, "this address only reads")

/** The answer of a probe; undefined for any other path. */
const probe = Effect.fnUntraced(function* (path: string) {
  if (path === "/livez") return live
  if (path !== "/readyz") return undefined
  const reasons = yield* unreadyReasons
  return json(reasons, Object.keys(reasons).length === 0 ? 200 : 503)
})

const live = HttpServerResponse.text("ok\n")

const metricsAnswer = Effect.fn("Status.metrics")(function* (request: HttpServerRequest.HttpServerRequest) {
  if (!isReading(request)) return onlyReads
  const path = pathOf(request)
  return (yield* probe(path)) ?? (path === "/metrics" ? yield* metricsNow(request) : nothingHere)
})

const metricsNow = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
  return metricsResponse(request, yield* exposeMetrics((yield* ConfigInForce).now().treasury))
})

/** In the form that is asked for: of Prometheus, or OpenMetrics. */
const metricsResponse = ({ headers }: HttpServerRequest.HttpServerRequest, text: string) =>
  /\bapplication\/openmetrics-text\b/.test(headers["accept"] ?? "")
    ? HttpServerResponse.text(toOpenMetrics(text), {
        contentType: "application/openmetrics-text; version=1.0.0; charset=utf-8",
      })
    : HttpServerResponse.text(text, { contentType: "text/plain; version=0.0.4; charset=utf-8" })

/** Probes and metrics at their addresses while the store takes no writes; `reason` answers all else. */
export const outageServer = (options: StatusServerOptions, reason: string) => {
  const refused = refusal(503, reason, "the daemon goes on by itself once its store takes writes")
  const access = makeAccess(options)
  const metrics = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
    const path = pathOf(request)
    if (path === "/livez") return live
    if (path === "/readyz") return json({ store: reason }, 503)
    if (path !== "/metrics" || !isReading(request)) return refused
    return metricsResponse(request, yield* Effect.promise((yield* Metrics).text))
  })
  const page = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
    const signed = access.sign(request)
    if (signed !== undefined) return yield* signed
    const isOpen = ["/livez", "/readyz"].includes(pathOf(request))
    const reader = isOpen ? "program" : yield* access.check(request)
    return typeof reader === "string" ? yield* metrics(request) : reader
  })
  return listen(options, page, metrics)
}
