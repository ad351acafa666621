import { Clock, Context, Effect, Exit, Option, Redacted, Schema, type Scope } from "effect"
import { HttpClient, type HttpClientError, HttpClientRequest, type HttpClientResponse } from "effect/http"
import type { BlockMark } from "../domain/Balance.ts"
import { nanosOf } from "../domain/Time.ts"
import { type HeadKnown, isStrayBlock } from "../rules/saneHead.ts"
import { Metrics } from "../telemetry/Metrics.ts"
import type { GatewayOperation, RequestOutcome } from "../telemetry/metricTable.ts"
import { escapeText, GatewayError, type GatewayReason, wordsOf } from "./GatewayError.ts"
import { GatewayPool, type PooledGateway, type SharedRead, sharedAtOnce } from "./GatewayPool.ts"
import { type Ended, Health } from "./Health.ts"
import {
  type Limiter,
  type LimiterPace,
  makeLimiter,
  type Priority,
  requestsPerSecondUsual,
  type Turn,
  type TurnRequest,
} from "./Limiter.ts"
import { type Body, hasBrokenText, readBody } from "./readBody.ts"
import { reasonOfFailure, reasonOfStatus } from "./reasons.ts"
import { BlockTime, Height } from "./schema/Numbers.ts"

/** One gateway as configured. */
export interface GatewayOptions {
  /** Its name in the configuration: the label of its metrics. */
  readonly name: string
  /** Base address; it may have a path, to which the paths of the operations are appended. */
  readonly url: string
  /** Sent with every request, such as credentials. */
  readonly headers: Readonly<Record<string, Redacted.Redacted>>
  /** From the sending of a request to the last byte of its answer. Default 10 s. */
  readonly requestDeadlineMillis: number
  /** Largest answer that is read. Default 8 MiB: a page of 5000 rows has about 4. */
  readonly bodyBytesMax: number
  /** Upper bound of requests a second; half of the gateway's advertised limit if that is less. Default 10. */
  readonly requestsPerSecond: number
  /** For how long a read may wait for its turn before it fails as RateLimited. Default 10 s. */
  readonly waitMillisMax: number
}

/** The options of a gateway given by name and address only. */
export const gatewayOptions = (
  options: Pick<GatewayOptions, "name" | "url"> & Partial<GatewayOptions>,
): GatewayOptions => ({
  headers: {},
  requestDeadlineMillis: 10_000,
  bodyBytesMax: 8 * 1024 * 1024,
  requestsPerSecond: requestsPerSecondUsual,
  waitMillisMax: 10_000,
  ...options,
})

/** One request: a GET, or a POST where there is a body. */
interface TransportRequest<A> {
  /** Label of the metrics. */
  readonly operation: GatewayOperation
  /** Name in errors, and of the read for the limiter; default: the label. */
  readonly title?: string
  /** Appended to the base address; begins with a slash. */
  readonly path: string
  /** A repeated key sends an array. */
  readonly query?: Query
  /** Sent as JSON. */
  readonly body?: unknown
  /** Schema of the answer. */
  readonly schema: Schema.ConstraintDecoder<A>
  /** Default: RequestPriority. */
  readonly priority?: Priority
  /** Reads of this title that may be in flight together, if treasuries do not share the gateway. Default: 1. */
  readonly atOnce?: number
  /** A turn taken before; without one it waits for its turn. */
  readonly turn?: Turn | undefined
  /** Checked just before it is sent; false: it fails as Unreachable. */
  readonly mayLeave?: Effect.Effect<boolean> | undefined
  /** How a wider request answers it too, if treasuries share the gateway. Default: only an equal request does. */
  readonly joint?: Joint<A>
}

type Query = ReadonlyArray<readonly [string, string]>

/** One request in place of several that differ in their parameters. */
export interface Joint<A, W = unknown> extends SharedRead<W> {
  readonly query: (wide: W) => Query
  /** This caller's part of the answer; undefined: it must send its own request. */
  readonly part: (value: A, wide: W) => A | undefined
}

/** Called when a request is sent, after it waited for its turn. Default: does nothing. */
export const OnSend = Context.Reference<() => void>("cofferer/gateway/OnSend", {
  defaultValue: () => () => {},
})

/** A decoded answer and the block that the gateway names in its headers; undefined where it names none. */
interface Answer<A> {
  readonly value: A
  readonly mark: BlockMark | undefined
  /** The gateway's own time, by its Date header, in Unix nanoseconds; undefined without one. */
  readonly date: bigint | undefined
}

/**
 * The HTTP client of one gateway. A request waits for its turn and is sent once: nothing here repeats it, follows a
 * redirect or uses a proxy. Interrupting it, or passing the deadline after it was sent, closes its connection.
 */
export interface Transport {
  /** Its name in the configuration. */
  readonly gateway: string
  readonly options: GatewayOptions
  readonly request: <A>(request: TransportRequest<A>) => Effect.Effect<Answer<A>, GatewayError>
  /** Its present rate of requests, and whether it has banned us. */
  readonly pace: Effect.Effect<LimiterPace>
  /** Waits for the turn of a write, which goes before all reads. */
  readonly writeTurn: Effect.Effect<Turn, GatewayError>
  /** Reports a height that an answer holds in its body, for the metric. */
  readonly sawHeight: (height: bigint) => Effect.Effect<void>
}

export const makeTransport = (
  options: GatewayOptions,
): Effect.Effect<Transport, never, HttpClient.HttpClient | Metrics> =>
  Effect.gen(function* () {
    const client = HttpClient.withScope(yield* HttpClient.HttpClient)
    const metrics = yield* Metrics
    const pool = Option.getOrUndefined(yield* Effect.serviceOption(GatewayPool))
    const pooled = pool && (yield* pool.of(options))
    const limiter = pooled?.limiter ?? (yield* makeLimiter(options))
    const health = Option.getOrUndefined(yield* Effect.serviceOption(Health))
    const gateway = options.name
    yield* health?.follow(gateway, limiter.pace) ?? Effect.void
    return {
      gateway,
      options,
      pace: limiter.pace,
      writeTurn: limiter.takeTurn.pipe(
        Effect.tapCause((cause) => {
          const exit = Exit.failCause(cause)
          const done = { gateway, operation: "submit", exit, elapsedMillis: undefined, mark: undefined } as const
          return Effect.sync(() => record(metrics, done))
        }),
        Effect.mapError((reason) => new GatewayError({ gateway, operation: "submit", reason })),
      ),
      sawHeight: Effect.fnUntraced(function* (height) {
        metrics.gatewayHeight.set({ gateway }, Number(height))
        yield* health?.noteHeight(gateway, height) ?? Effect.void
      }),
      request: Effect.fn("Transport.request")(function* <A>(request: TransportRequest<A>) {
        const title = request.title ?? request.operation
        const { priority } = request
        const atOnce = pooled === undefined ? request.atOnce : sharedAtOnce
        const ask = { read: request.body === undefined ? title : undefined, priority, atOnce }
        const onSend = yield* OnSend
        let sentAt: number | undefined
        const clock = yield* Clock.Clock
        const leaves = () => {
          sentAt = clock.currentTimeMillisUnsafe()
          onSend()
        }
        const way = { client, options, limiter }
        const send = Effect.flatMap(request.mayLeave ?? Effect.succeed(true), (may): Outcome<A> => {
          if (!may) return Effect.fail({ _tag: "Unreachable", detail: "not sent: too late, or another process pays" })
          leaves()
          return bounded(way, request)
        })
        const { turn } = request
        const alone = turn === undefined ? limiter.pass(ask, send) : limiter.use(turn, send)
        const isShared = pooled !== undefined && ask.read !== undefined
        const answer = yield* Effect.exit(isShared ? jointly(pooled, { ask, way, leaves, alone }, request) : alone)
        const elapsedMillis = sentAt === undefined ? undefined : (yield* Clock.currentTimeMillis) - sentAt
        const mark = markOf(answer)
        // The caller judges heads, and reports the result.
        const known = request.operation === "height" ? undefined : yield* health?.known ?? Effect.undefined
        const exit =
          known === undefined
            ? answer
            : rejectStrayBlock(answer, mark, { known, now: yield* Clock.currentTimeMillis, askedAt: sentAt })
        const ended = record(metrics, { gateway, operation: request.operation, exit, elapsedMillis, mark })
        if (ended !== undefined) yield* health?.note(gateway, ended) ?? Effect.void
        return yield* Effect.mapError(exit, (reason) => new GatewayError({ gateway, operation: title, reason }))
      }),
    }
  })

type Outcome<A> = Effect.Effect<Answer<A>, GatewayReason>

interface Way {
  readonly client: HttpClient.HttpClient.With<HttpClientError.HttpClientError, Scope.Scope>
  readonly options: GatewayOptions
  readonly limiter: Limiter
}

/** Request, whole answer and decoding under one deadline. */
const bounded = <A>({ client, options, limiter }: Way, request: TransportRequest<A>): Outcome<A> =>
  client.execute(httpRequest(options, request)).pipe(
    Effect.tap((response) => limiter.applyHeaders(response.headers)),
    Effect.flatMap((response) =>
      Effect.flatMap(bodyOf(response, options.bodyBytesMax), (body) => decodeAnswer(response, body, request)),
    ),
    Effect.scoped,
    Effect.catchTag("HttpClientError", (error) => Effect.fail(reasonOfFailure(error))),
    Effect.timeoutOrElse({
      duration: options.requestDeadlineMillis,
      orElse: () => Effect.fail<GatewayReason>({ _tag: "Timeout", afterMillis: options.requestDeadlineMillis }),
    }),
  )

interface Joining<A> {
  readonly ask: TurnRequest
  readonly way: Way
  readonly leaves: () => void
  readonly alone: Outcome<A>
}

/** Joins other treasuries' requests. Sends its own request if the common answer does not contain its part. */
const jointly = <A>(pooled: PooledGateway, { ask, way, leaves, alone }: Joining<A>, request: TransportRequest<A>) => {
  const { joint = sameOf(request) } = request
  const send = (wide: unknown) => bounded(way, { ...request, query: joint.query(wide) })
  return Effect.flatMap(pooled.share(ask, joint, leaves, send), ({ answer, wide }): Outcome<A> => {
    const value = joint.part(answer.value, wide)
    return value === undefined ? alone : Effect.succeed({ ...answer, value })
  })
}

const sameOf = <A>({ path, query = [] }: TransportRequest<A>): Joint<A> => ({
  key: `${path}?${new URLSearchParams(query.map(([name, value]) => [name, value]))}`,
  widen: () => query,
  query: () => query,
  part: (value) => value,
})

/** Reads the body. On an error status an unreadable body counts as missing. */
const bodyOf = (response: HttpClientResponse.HttpClientResponse, bytesMax: number) => {
  const body = readBody(response, bytesMax)
  if (isSuccess(response.status)) return body
  return Effect.catchIf(
    body,
    (error) => error._tag !== "HttpClientError",
    () => Effect.succeed<Body>({ text: undefined, size: 0 }),
  )
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300

const httpRequest = (options: GatewayOptions, request: Pick<TransportRequest<unknown>, "path" | "query" | "body">) => {
  const url = options.url.replace(/\/+$/, "") + request.path
  const extra = Object.fromEntries(
    Object.entries(options.headers).map(([name, value]) => [name, Redacted.value(value)]),
  )
  const base =
    request.body === undefined
      ? HttpClientRequest.get(url)
      : HttpClientRequest.bodyText(HttpClientRequest.post(url), JSON.stringify(request.body), "application/json")
  return base.pipe(
    HttpClientRequest.setUrlParams(request.query ?? []),
    HttpClientRequest.setHeaders({ ...extra, accept: "application/json" }),
  )
}

const decodeHeight = Schema.decodeUnknownExit(Height)
const decodeTime = Schema.decodeUnknownExit(BlockTime)

/** The block headers. A gateway sends 0 for an unknown block; a header that is not a number is an error. */
const blockMark = (
  headers: HttpClientResponse.HttpClientResponse["headers"],
): Exit.Exit<BlockMark | undefined, GatewayReason> => {
  const height = headers["x-block-height"]
  const timestamp = headers["x-block-timestamp"]
  if (height === undefined || timestamp === undefined) return Exit.succeed(undefined)
  const heightExit = decodeHeight(height)
  const timestampExit = decodeTime(timestamp)
  if (Exit.isFailure(heightExit) || Exit.isFailure(timestampExit)) {
    return Exit.fail({ _tag: "Unreadable", detail: escapeText(`block headers: ${height}, ${timestamp}`) })
  }
  return Exit.succeed(
    heightExit.value === 0n || timestampExit.value === 0n
      ? undefined
      : { height: heightExit.value, timestamp: timestampExit.value },
  )
}

/** Whole seconds, as HTTP sends them. A time without a zone would be read by that of this machine. */
const dateOf = (text = ""): bigint | undefined => {
  const millis = text.endsWith(" GMT") ? Date.parse(text) : Number.NaN
  return Number.isNaN(millis) ? undefined : nanosOf(millis)
}

const parseJson = ({ text }: Body): { readonly json: unknown } | undefined => {
  try {
    return text === undefined ? undefined : { json: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** Decodes a complete answer. Ignores its content type: real networks send two at once on errors. */
const decodeAnswer = <A>(
  response: HttpClientResponse.HttpClientResponse,
  body: Body,
  { schema }: TransportRequest<A>,
): Exit.Exit<Answer<A>, GatewayReason> => {
  const { status, headers } = response
  const mark = blockMark(headers)
  const parsed = parseJson(body)
  if (!isSuccess(status)) {
    return Exit.fail(
      reasonOfStatus({ status, headers, body: parsed?.json, mark: Exit.isSuccess(mark) ? mark.value : undefined }),
    )
  }
  if (Exit.isFailure(mark)) return Exit.failCause(mark.cause)
  if (parsed === undefined) {
    const type = escapeText(headers["content-type"] ?? "no content type")
    return Exit.fail({ _tag: "Unreadable", detail: `${body.size} bytes of ${type} that are no JSON` })
  }
  if (hasBrokenText(body.text ?? "", parsed.json)) {
    return Exit.fail({ _tag: "Unreadable", detail: "a text that no store keeps: U+0000 or half of a surrogate pair" })
  }
  const value = Schema.decodeUnknownExit(schema)(parsed.json)
  if (Exit.isSuccess(value))
    return Exit.succeed({ value: value.value, mark: mark.value, date: dateOf(headers["date"]) })
  const issue = value.cause.reasons.map((r) => (r._tag === "Fail" ? r.error.message : r._tag)).join("; ")
  return Exit.fail({ _tag: "Unreadable", detail: escapeText(issue) })
}

/** NotFound and AlreadyKnown are answers of the protocol, so they are "ok". */
const outcomes: Record<GatewayReason["_tag"], RequestOutcome> = {
  Unreachable: "unreachable",
  Timeout: "timeout",
  Ambiguous: "unreadable",
  RateLimited: "rate_limited",
  Banned: "banned",
  AlreadyKnown: "ok",
  NotFound: "ok",
  Rejected: "refused",
  Unreadable: "unreadable",
  TooLarge: "unreadable",
  Unsupported: "refused",
  Doubted: "unreadable",
  BegunAgain: "unreadable",
  OtherChain: "unreadable",
}
const down: ReadonlySet<RequestOutcome> = new Set(["timeout", "unreachable", "unreadable"])

const record = <A>(
  metrics: Metrics["Service"],
  done: {
    readonly gateway: string
    readonly operation: GatewayOperation
    readonly exit: Exit.Exit<Answer<A>, GatewayReason>
    /** Undefined: it was never sent. */
    readonly elapsedMillis: number | undefined
    /** The block that its headers name, accepted or not. */
    readonly mark: BlockMark | undefined
  },
): Ended | undefined => {
  const { gateway, operation, exit, mark } = done
  const ended = endOf(exit, mark)
  // We interrupted the request: it shows nothing about the gateway.
  if (ended === undefined) return undefined
  const { outcome } = ended
  if (mark !== undefined) metrics.gatewayHeight.set({ gateway }, Number(mark.height))
  metrics.gatewayRequests.inc({ gateway, operation, outcome })
  if (done.elapsedMillis === undefined) return undefined
  metrics.gatewayRequestDuration.observe({ gateway, operation }, done.elapsedMillis / 1000)
  metrics.gatewayUp.set({ gateway }, down.has(outcome) ? 0 : 1)
  return ended
}

const endOf = <A>(exit: Exit.Exit<Answer<A>, GatewayReason>, mark: BlockMark | undefined): Ended | undefined => {
  if (Exit.isSuccess(exit)) return { outcome: "ok", detail: "", mark, date: exit.value.date }
  const reason = Option.getOrUndefined(Exit.findErrorOption(exit))
  return reason === undefined ? undefined : { outcome: outcomes[reason._tag], detail: wordsOf(reason), mark }
}

const markOf = <A>(exit: Exit.Exit<Answer<A>, GatewayReason>): BlockMark | undefined => {
  if (Exit.isSuccess(exit)) return exit.value.mark
  const reason = Option.getOrUndefined(Exit.findErrorOption(exit))
  return reason?._tag === "NotFound" ? reason.mark : undefined
}

/** Turns an answer that names a block far from the accepted one into a failure. */
const rejectStrayBlock = <A>(
  exit: Exit.Exit<Answer<A>, GatewayReason>,
  mark: BlockMark | undefined,
  {
    known,
    now,
    askedAt = now,
  }: { readonly known: HeadKnown; readonly now: number; readonly askedAt: number | undefined },
): Exit.Exit<Answer<A>, GatewayReason> => {
  if (mark === undefined || !isStrayBlock(mark.height, known, now, askedAt)) return exit
  const detail = `its headers name block ${mark.height}, which is not near block ${known.accepted?.height ?? known.stray?.height}`
  return Exit.fail({ _tag: "Unreadable", detail })
}
