import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Context, Effect, Layer, Schema } from "effect"
import { HttpRouter, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { ConfigInForce } from "../config/ConfigInForce.ts"
import { isLoopback } from "../config/schema/Fields.ts"
import { readUtf8 } from "../config/yaml/readBytes.ts"
import { boundedServer } from "../listen/boundedServer.ts"
import { Settings } from "../store/database/Settings.ts"
import { Metrics, toOpenMetrics } from "../telemetry/Metrics.ts"
import { exposeMetrics } from "./exposeMetrics.ts"
import { type PageFile, readPageFiles } from "./pageFiles.ts"
import { answerExplain, explainPath, json, pathOf, refusal } from "./respond.ts"
import { StatusView } from "./StatusView.ts"

/** Only content of this server may run, load or be requested; nobody may frame the page. */
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'"

/**
 * Reasons against readiness, by part; empty: ready. Only states in which this process is useless to its callers count:
 * halted, stale and an unreachable gateway must be visible on the page, so they do not.
 */
const unreadyReasons = Effect.gen(function* () {
  const settings = yield* Settings
  const store = yield* settings.set("readyz", "1").pipe(
    Effect.as(undefined),
    Effect.catchTag("StoreError", (error) => Effect.succeed(error.message)),
  )
  return store === undefined ? {} : { store }
})

export interface StatusServerOptions {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** free: where the port is taken, another one serves. */
  readonly portBusy: "error" | "free"
  /** Holds the read token of a listener that is not on loopback. */
  readonly dataDir: string
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

const make = (options: StatusServerOptions) => listen(options, routes(options))

/** Serves the routes at the page's address. */
const listen = Effect.fnUntraced(function* <E, R>(options: StatusServerOptions, served: Layer.Layer<never, E, R>) {
  const { host, port, portBusy } = options
  const bound = open(host, port)
  const server = yield* portBusy === "error"
    ? bound
    : bound.pipe(
        Effect.catchIf(
          (error) => error.busy,
          () => open(host, 0),
        ),
      )
  const app = yield* HttpRouter.toHttpEffect(served)
  yield* server.serve(app)
  const actual = server.address._tag === "UnixPathAddress" ? port : server.address.port
  yield* noteAddress(options.dataDir, host, actual)
  return StatusServer.of({ url: `http://${host.includes(":") ? `[${host}]` : host}:${actual}` })
})

const anyHosts: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" }

/**
 * Writes the address for health.sh, which reads no configuration. One that stands there stays: on a full disk a write
 * would only empty the file.
 */
const noteAddress = (dataDir: string, host: string, port: number) =>
  Effect.try(() => {
    const file = join(dataDir, addressFile)
    const address = `${anyHosts[host] ?? host} ${port}\n`
    if (existsSync(file) && readFileSync(file, "utf8") === address) return
    writeFileSync(file, address, { mode: 0o600 })
  }).pipe(
    Effect.catch((error) =>
      Effect.logWarning("the address of the page could not be written for health.sh", { reason: String(error.cause) }),
    ),
  )

const open = (host: string, port: number) =>
  NodeHttpServer.make(() => boundedServer(connectionsMax), { host, port, gracefulShutdownTimeout: "500 millis" }).pipe(
    Effect.mapError(({ cause }) => {
      const busy = cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE"
      return new ListenError({ address: `${host}:${port}`, busy, cause })
    }),
  )

const routes = (options: StatusServerOptions) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const guard = guardOf(options)
      const view = yield* StatusView
      const context = yield* Effect.context<ContextOf<typeof answer>>()
      yield* router.add(
        "*",
        "/*",
        Effect.fnUntraced(function* (request) {
          const refused = yield* guard(request)
          if (refused !== undefined) return refused
          const file = pageFile(pathOf(request))
          if (file !== undefined) return pageResponse(file)
          return yield* answer(view, request).pipe(Effect.provideContext(context))
        }),
      )
    }),
  )

type ContextOf<F> = F extends (...args: never) => Effect.Effect<unknown, unknown, infer R> ? R : never

const answer = Effect.fn("Status.answer")(function* (
  view: StatusView["Service"],
  request: HttpServerRequest.HttpServerRequest,
) {
  switch (pathOf(request)) {
    case "/livez":
      return HttpServerResponse.text("ok\n")
    case "/readyz": {
      const reasons = yield* unreadyReasons
      return json(reasons, Object.keys(reasons).length === 0 ? 200 : 503)
    }
    case "/metrics":
      return metricsResponse(request, yield* exposeMetrics((yield* ConfigInForce).now().treasury))
    case "/api/v1/status":
      return yield* view.view.pipe(
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
      return refusal(404, "there is nothing here", "see /")
  }
})

/** In the form that is asked for: of Prometheus, or OpenMetrics. */
const metricsResponse = ({ headers }: HttpServerRequest.HttpServerRequest, text: string) =>
  /\bapplication\/openmetrics-text\b/.test(headers["accept"] ?? "")
    ? HttpServerResponse.text(toOpenMetrics(text), {
        contentType: "application/openmetrics-text; version=1.0.0; charset=utf-8",
      })
    : HttpServerResponse.text(text, { contentType: "text/plain; version=0.0.4; charset=utf-8" })

let pageFiles: ReadonlyMap<string, PageFile> | undefined

/** Read at the first request: to strip its types costs 60 ms and 25 MB, which a daemon without readers never needs. */
const pageFile = (path: string): PageFile | undefined => {
  if (path !== "/" && !path.startsWith("/page/")) return undefined
  pageFiles ??= readPageFiles()
  return pageFiles.get(path)
}

const pageResponse = ({ type, body }: PageFile) =>
  HttpServerResponse.text(body, {
    contentType: type,
    headers: {
      "content-security-policy": contentSecurityPolicy,
      "cache-control": "no-cache",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    },
  })

/**
 * Requests refused before anything is read: other methods, foreign host names, and readers without the token. Its 256
 * random bits cannot be guessed in any number of tries.
 */
const guardOf = (options: StatusServerOptions) => {
  const loopback = isLoopback(options.host)
  const token = loopback ? undefined : readToken(options.dataDir)
  return Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
    if (request.method !== "GET" && request.method !== "HEAD") return refusal(405, "this address only reads")
    const path = pathOf(request)
    if (path === "/livez" || path === "/readyz") return undefined
    if (token === undefined) {
      // A page of the web that was given a name of this machine must not read it.
      const name = (request.headers["host"] ?? "").replace(/:[0-9]+$/, "")
      return isLoopback(name) ? undefined : refusal(403, "asked for under another name", "use 127.0.0.1 or localhost")
    }
    const given = /^Bearer (.+)$/.exec(request.headers["authorization"] ?? "")?.[1]
    if (given !== undefined && timingSafeEqual(digest(given), digest(token))) return undefined
    return refusal(401, "a read token is needed", "send Authorization: Bearer with the content of read-token")
  })
}

/** Equal lengths for the comparison in constant time. */
const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

const tokenBytesMax = 1_000

const readToken = (dataDir: string): string => {
  const file = join(dataDir, "read-token")
  if (!existsSync(file)) writeFileSync(file, `${randomBytes(32).toString("hex")}\n`, { mode: 0o600, flag: "wx" })
  const text = readUtf8(file, tokenBytesMax)
  if (typeof text !== "string") throw new Error(`${file} ${text.problem}`)
  return text.trim()
}

/** Probes and metrics at the page's address while the store takes no writes; `reason` answers all else. */
export const outageServer = (options: StatusServerOptions, reason: string) =>
  listen(options, outageRoutes(options, reason))

const outageRoutes = (options: StatusServerOptions, reason: string) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const { text } = yield* Metrics
      const refused = refusal(503, reason, "the daemon goes on by itself once its store takes writes")
      // A token that was never written cannot be written now either: then nobody may read.
      const guard = yield* Effect.orElseSucceed(
        Effect.try(() => guardOf(options)),
        () => () => Effect.succeed(refused),
      )
      yield* router.add(
        "*",
        "/*",
        Effect.fnUntraced(function* (request) {
          const path = pathOf(request)
          if (path === "/livez") return HttpServerResponse.text("ok\n")
          if (path === "/readyz") return json({ store: reason }, 503)
          const no = yield* guard(request)
          if (no !== undefined || path !== "/metrics") return no ?? refused
          return metricsResponse(request, yield* Effect.promise(text))
        }),
      )
    }),
  )
