import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { ByteSize, Effect } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { isLoopback } from "../../config/schema/Fields.ts"
import { breakAnswer, hangUp } from "../faults/wire.ts"
import type { Profile } from "../Profiles.ts"
import { type Answer, plainError, refuse } from "./Answer.ts"
import { type Incoming, perform } from "./perform.ts"
import type { Route, World } from "./Route.ts"
import { routesOf } from "./routes.ts"

interface Bucket {
  tokens: number
  atMillis: number
}

interface Caller {
  readonly calls: Bucket
  /** Spent by refused calls alone; when it is empty the caller is banned. */
  readonly refusals: Bucket
  bannedUntilMillis: number
}

/** The data node's limiter: a bucket per caller, a second one for calls over the limit, and a ban behind that. */
export interface RateLimiter {
  readonly rule: NonNullable<Profile["rateLimit"]>
  readonly callers: Map<string, Caller>
}

export const makeRateLimiter = (rule: NonNullable<Profile["rateLimit"]>): RateLimiter => ({ rule, callers: new Map() })

interface Passage {
  readonly headers: Readonly<Record<string, string>>
  /** The answer instead of the real one, where the caller is over the limit. */
  readonly refusal: Answer | undefined
}

/** Counts one call of `address`. */
export const pass = (limiter: RateLimiter, address: string, nowMillis: number): Passage => {
  const caller = callerOf(limiter, address, nowMillis)
  if (caller.bannedUntilMillis > nowMillis) return banned(caller, nowMillis)
  const headers = {
    "RateLimit-Limit": String(limiter.rule.perSecond),
    "RateLimit-Reset": "1",
    "RateLimit-Request-Remote-Addr": address,
  }
  if (spend(limiter, caller.calls, nowMillis)) {
    return {
      headers: { ...headers, "RateLimit-Remaining": String(Math.floor(caller.calls.tokens)) },
      refusal: undefined,
    }
  }
  if (!spend(limiter, caller.refusals, nowMillis)) {
    caller.bannedUntilMillis = nowMillis + limiter.rule.banMillis
    return banned(caller, nowMillis)
  }
  return {
    headers: { ...headers, "RateLimit-Remaining": "0" },
    refusal: plainError("ResourceExhausted", "api request rate limit exceeded", true),
  }
}

const banned = (caller: Caller, nowMillis: number): Passage => ({
  headers: { "RateLimit-Retry-After": String(Math.ceil((caller.bannedUntilMillis - nowMillis) / 1_000)) },
  refusal: plainError("PermissionDenied", "temporarily banned for continuing to request while rate limited", true),
})

const callerOf = (limiter: RateLimiter, address: string, nowMillis: number): Caller => {
  const known = limiter.callers.get(address)
  if (known !== undefined) return known
  const full = (): Bucket => ({ tokens: limiter.rule.burst, atMillis: nowMillis })
  const caller: Caller = { calls: full(), refusals: full(), bannedUntilMillis: 0 }
  limiter.callers.set(address, caller)
  return caller
}

const spend = (limiter: RateLimiter, bucket: Bucket, nowMillis: number): boolean => {
  const refill = ((nowMillis - bucket.atMillis) / 1_000) * limiter.rule.perSecond
  bucket.tokens = Math.min(limiter.rule.burst, bucket.tokens + Math.max(0, refill))
  bucket.atMillis = nowMillis
  if (bucket.tokens < 1) return false
  bucket.tokens -= 1
  return true
}

/** The largest message between the network's gateway and its node. */
const messageMax = ByteSize.mebibytes(4)

/** All paths of the profile; any other path or method is not found. */
export const layerRoutes = (world: World, limiter: RateLimiter | undefined) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      for (const route of routesOf(world.profile)) {
        yield* router.add(route.method, route.path, serve(world, limiter, route))
      }
      yield* router.add("*", "/*", respond(plainError("NotFound", "Not Found", false), {}))
    }),
  )

const serve = (world: World, limiter: RateLimiter | undefined, route: Route) =>
  Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
    const { params } = yield* HttpRouter.RouteContext
    const outcome = yield* perform(world, limiter, route, incomingOf(request, params))
    switch (outcome._tag) {
      case "Answered":
        return respond(outcome.answer, outcome.headers)
      case "HungUp":
        return yield* hangUp(request)
      case "Broken": {
        const { answer, headers } = outcome
        return yield* breakAnswer(request, outcome.kind, {
          status: answer.status,
          headers: { ...(answer.fromNode ? headers : {}), ...answer.headers },
          body: bodyText(answer),
        })
      }
    }
  })

/** The body as text. */
export const bodyText = (answer: Answer): string => (answer.text ? String(answer.body) : JSON.stringify(answer.body))

/** Sends an answer. `headers` are the node's: one that is not its own has none. */
const respond = (answer: Answer, headers: Readonly<Record<string, string>>): HttpServerResponse.HttpServerResponse => {
  const all = { ...(answer.fromNode ? headers : {}), ...answer.headers }
  const contentType = all["content-type"] ?? "application/json"
  return HttpServerResponse.text(bodyText(answer), { status: answer.status, headers: all, contentType })
}

const incomingOf = (request: HttpServerRequest.HttpServerRequest, params: Incoming["params"]): Incoming => ({
  url: request.url,
  params,
  address: NodeHttpServerRequest.toIncomingMessage(request).socket.remoteAddress?.replace(/^::ffff:/, "") ?? "",
  body: request.text.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, messageMax),
    Effect.mapError((error) => {
      const text = `grpc: received message larger than max (more than ${messageMax})`
      return refuse(
        error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge"
          ? plainError("ResourceExhausted", text, false)
          : plainError("InvalidArgument", "unexpected EOF", false),
      )
    }),
  ),
})

/**
 * Serves a network on loopback under this machine's own names alone: a page of the web that was given a name of this
 * machine could otherwise pay with the play money. One that listens elsewhere may have any name there.
 */
export const ownHost =
  (host: string) =>
  <E, R>(app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) => {
      const name = (headers["host"] ?? "").replace(/:[0-9]+$/, "")
      if (!isLoopback(host) || isLoopback(name)) return app
      const words = "asked for under another name; use 127.0.0.1 or localhost"
      return Effect.succeed(respond(plainError("PermissionDenied", words, false), {}))
    })
