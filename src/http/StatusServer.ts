import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Schema, type Scope } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { isWritten } from "../alerts/AlertLoop.ts"
import { ConfigInForce } from "../config/ConfigInForce.ts"
import { type Address, isLoopback } from "../config/schema/Fields.ts"
import { daemonFile } from "../config/yaml/readSources.ts"
import { boundedServer } from "../sockets/boundedServer.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { Metrics, toOpenMetrics } from "../telemetry/Metrics.ts"
import { type Access, makeAccess, tokenFile, toPage } from "./access/access.ts"
import { pageFile, statusPage } from "./access/pages.ts"
import { exposeMetrics } from "./exposeMetrics.ts"
import { answerExplain, explainPath, json, pathOf, refusal } from "./respond.ts"
import { readView } from "./StatusView.ts"

interface StatusServerOptions {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** free: if the port is taken, any free port is used. */
  readonly portBusy: "error" | "free"
  /** Holds the read token, and the address for health.sh. */
  readonly dataDir: string
  /** Second address for metrics and probes, without a token; undefined: none. */
  readonly metrics?: Address | undefined
  /** True for a process of several treasuries: its own file sets the addresses. */
  readonly isOfMany?: boolean
}

/**
 * Upper bound of the connections to the page, and of those to the socket of the command line. With gateways and files a
 * process stays below 256 descriptors, and below 512 with an embedded network.
 */
export const connectionsMax = 64

/** File of the data directory with host and port of the page, and its path if it is one of many. */
export const addressFile = "page-address"

/** An address could not be opened. */
export class ListenError extends Schema.TaggedError<ListenError>()("ListenError", {
  name: Schema.String,
  address: Schema.String,
  setting: Schema.String,
  busy: Schema.Boolean,
  cause: Schema.Defect(),
}) {
  override get message() {
    const why = this.busy ? "is taken by another process; stop it or" : `cannot be opened: ${this.cause};`
    return `${this.name} ${this.address} ${why} set ${this.setting}`
  }
}

/** The setting of an address, as an error names it. */
export const addressSetting = (key: string, isOfMany: boolean): string =>
  isOfMany ? `${key} in ${daemonFile}` : `daemon.${key}`

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse
type Answer = (request: Request) => Effect.Effect<Response>

/** Answers to requests, the same at every address; `Surface` decides who may read them. */
export interface SurfaceAnswers<R> {
  /** For everybody; undefined: no probe has this path. */
  readonly probe: (path: string) => Effect.Effect<Response | undefined, never, R>
  /** For authorized readers. */
  readonly page: (request: Request, reader: "program" | "browser") => Effect.Effect<Response, never, R>
  /** In the text form of Prometheus. */
  readonly metrics: Effect.Effect<string, never, R>
  /** For all other paths at the address of the metrics. */
  readonly other: Response
}

/** Serves answers for as long as the scope lasts. */
export interface Surface {
  readonly serve: <R>(answers: SurfaceAnswers<R>) => Effect.Effect<Served, ListenError, R | Scope.Scope>
}

interface Served {
  readonly url: string
  /** Logs the address. Call it once the answers are ready. */
  readonly announce: Effect.Effect<void>
}

/** Serves page, metrics and probes: reading only. */
export const serveStatus = (surface: Surface) => surface.serve(statusAnswers)

/** Answers of another surface for a part of the path, with the request relative to that part; undefined: none. */
export type Mounted = (
  request: Request,
) => { readonly answers: SurfaceAnswers<never>; readonly request: Request } | undefined

/** Serves the page at its address, and metrics and probes at theirs. Serving again uses the same port. */
export const ownAddress = (given: StatusServerOptions, mounted: Mounted = () => undefined): Surface => {
  let options = given
  return {
    serve: Effect.fnUntraced(function* <R>(needing: SurfaceAnswers<R>) {
      const answers = yield* withServices(needing)
      const { host, dataDir, metrics, isOfMany = false } = options
      const names = { name: "the page's address", setting: addressSetting("listen", isOfMany) }
      const access = makeAccess(options)
      const url = yield* serve(names, options, options.portBusy, (request: Request) => {
        const part = mounted(request)
        return part === undefined ? answered(access, answers, request) : answered(access, part.answers, part.request)
      })
      options = { ...options, port: Number(new URL(url).port) }
      yield* noteAddress(dataDir, url)
      if (metrics !== undefined) {
        const names = { name: "the metrics' address", setting: addressSetting("metrics", isOfMany) }
        const at = yield* serve(names, metrics, options.portBusy, (request) => metricsAnswered(answers, request))
        yield* logEvent("metrics listening", { urls: [at] })
      }
      const token = isLoopback(host) ? undefined : tokenFile(dataDir)
      return { url, announce: logEvent("page listening", { urls: [url], tokenFile: token }) }
    }),
  }
}

/** Provides the answers with the services that they need. */
export const withServices = <R>(answers: SurfaceAnswers<R>): Effect.Effect<SurfaceAnswers<never>, never, R> =>
  Effect.map(Effect.context<R>(), (context) => ({
    probe: (path) => Effect.provideContext(answers.probe(path), context),
    page: (request, reader) => Effect.provideContext(answers.page(request, reader), context),
    metrics: Effect.provideContext(answers.metrics, context),
    other: answers.other,
  }))

const answered = Effect.fn("Status.answer")(function* (
  access: Access,
  answers: SurfaceAnswers<never>,
  request: Request,
) {
  const path = pathOf(request)
  const signed = access.sign(request)
  if (signed !== undefined) return yield* signed
  const open = isReading(request) ? (pageFile(path) ?? (yield* answers.probe(path))) : onlyReads
  if (open !== undefined) return open
  const reader = yield* access.check(request)
  if (typeof reader !== "string") return reader
  if (path === "/login") return toPage({})
  return path === "/metrics" ? metricsResponse(request, yield* answers.metrics) : yield* answers.page(request, reader)
})

const metricsAnswered = Effect.fn("Status.metrics")(function* (answers: SurfaceAnswers<never>, request: Request) {
  if (!isReading(request)) return onlyReads
  const path = pathOf(request)
  const probe = yield* answers.probe(path)
  if (probe !== undefined) return probe
  return path === "/metrics" ? metricsResponse(request, yield* answers.metrics) : answers.other
})

const serve = Effect.fnUntraced(function* (
  names: AddressNames,
  { host, port }: Address,
  portBusy: StatusServerOptions["portBusy"],
  answer: Answer,
) {
  const server = yield* open(names, host, port).pipe(
    Effect.catchIf(
      (error) => error.busy && portBusy === "free",
      () => open(names, host, 0),
    ),
  )
  yield* server.serve(Effect.interruptible(Effect.flatMap(HttpServerRequest.HttpServerRequest, answer)))
  const actual = server.address._tag === "UnixPathAddress" ? port : server.address.port
  return `http://${host.includes(":") ? `[${host}]` : host}:${actual}`
})

/**
 * Writes the address for health.sh, which reads no configuration, and for `status`. An equal one is not written again:
 * on a full disk a write would only empty the file.
 */
export const noteAddress = (dataDir: string, url: string) =>
  Effect.try(() => {
    const { hostname, port, pathname } = new URL(
      url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:"),
    )
    const file = join(dataDir, addressFile)
    const path = pathname === "/" ? "" : ` ${pathname}`
    const address = `${hostname.replace(/^\[|\]$/g, "")} ${port}${path}\n`
    if (existsSync(file) && readFileSync(file, "utf8") === address) return
    writeFileSync(file, address, { mode: 0o600 })
  }).pipe(Effect.catch((error) => logEvent("page address not written", { reason: String(error.cause) })))

type AddressNames = Pick<ListenError, "name" | "setting">

const open = (names: AddressNames, host: string, port: number) =>
  NodeHttpServer.make(() => boundedServer(connectionsMax), { host, port, gracefulShutdownTimeout: "500 millis" }).pipe(
    Effect.mapError(({ cause }) => {
      const busy = cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE"
      return new ListenError({ ...names, address: `${host}:${port}`, busy, cause })
    }),
  )

export const nothingHere = refusal(404, "there is nothing here", "see /")

const isReading = ({ method }: Request): boolean => method === "GET" || method === "HEAD"
const onlyReads = refusal(405, "this address only reads")

export const live = HttpServerResponse.text("ok\n")

/** The answers of a treasury that runs. */
const statusAnswers: SurfaceAnswers<StatusNeeds> = {
  probe: Effect.fnUntraced(function* (path: string) {
    if (path === "/livez") return live
    if (path !== "/readyz") return undefined
    // Only a state in which this process is useless to its callers counts: that it is halted, or that its data are old,
    // or that no gateway answers, must be visible on the page.
    if (yield* Effect.orElseSucceed(isWritten, () => false)) return json({})
    return json({ store: "it took none of the daemon's own writes in the last three minutes" }, 503)
  }),
  page: (request, reader) =>
    statusPart(request, reader).pipe(
      Effect.catchTag("StoreError", (error) => Effect.succeed(refusal(503, error.message))),
    ),
  metrics: Effect.flatMap(ConfigInForce, ({ now }) => exposeMetrics(now().treasury)),
  other: nothingHere,
}

type StatusNeeds =
  | Effect.Services<ReturnType<typeof statusPart>>
  | Effect.Services<typeof isWritten>
  | Effect.Services<ReturnType<typeof exposeMetrics>>

const statusPart = Effect.fnUntraced(function* (request: Request, reader: "program" | "browser") {
  switch (pathOf(request)) {
    case "/":
      return statusPage(reader)
    case "/api/v1/status":
      return json(yield* readView())
    case explainPath: {
      const query = new URLSearchParams(request.url.split("?")[1] ?? "")
      return yield* answerExplain((yield* ConfigInForce).now(), query)
    }
    default:
      return nothingHere
  }
})

/** Metrics in the requested format: Prometheus or OpenMetrics. */
const metricsResponse = ({ headers }: Request, text: string) =>
  /\bapplication\/openmetrics-text\b/.test(headers["accept"] ?? "")
    ? HttpServerResponse.text(toOpenMetrics(text), {
        contentType: "application/openmetrics-text; version=1.0.0; charset=utf-8",
      })
    : HttpServerResponse.text(text, { contentType: "text/plain; version=0.0.4; charset=utf-8" })

/** Probes and metrics while the store takes no writes; `reason` answers all else. */
export const outageAnswers = (treasury: string, reason: string, remedy: string): SurfaceAnswers<Metrics> => {
  const refused = refusal(503, reason, remedy)
  const metrics = Effect.flatMap(Metrics, ({ text }) => Effect.promise(text))
  return refusingAnswers(refused, metrics, json({ treasury, store: reason, remedy }, 503))
}

/** Answers of a treasury that cannot be read: it is alive, not ready, and refuses all else. */
export const refusingAnswers = <R>(
  refused: Response,
  metrics: SurfaceAnswers<R>["metrics"],
  unready = refused,
): SurfaceAnswers<R> => ({
  probe: (path) => Effect.succeed(path === "/livez" ? live : path === "/readyz" ? unready : undefined),
  page: () => Effect.succeed(refused),
  metrics,
  other: refused,
})
