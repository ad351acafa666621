import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { ByteSize, Clock, Effect } from "effect"
import { HttpIncomingMessage, HttpRouter, type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Fault } from "../Faults.ts"
import { toMicros } from "../Time.ts"
import { accounts } from "./Accounts.ts"
import { type Answer, nodeError, plainError, refuse } from "./Answer.ts"
import { asset, assets } from "./Assets.ts"
import { balanceChanges } from "./BalanceChanges.ts"
import { controls } from "./Control.ts"
import { parameter, parameters } from "./Parameters.ts"
import { parseQuery } from "./Query.ts"
import { pass, type RateLimiter } from "./RateLimiter.ts"
import type { Ask, Route, World } from "./Route.ts"
import { coreTime, epoch, health, height, info, nodeTime, statistics } from "./Status.ts"
import { submit } from "./Submit.ts"
import { transfer, transfers } from "./Transfers.ts"

const routes: ReadonlyArray<Route> = [
  submit,
  balanceChanges,
  assets,
  asset,
  height,
  statistics,
  accounts,
  transfers,
  transfer,
  parameters,
  parameter,
  coreTime,
  nodeTime,
  info,
  epoch,
  health,
  ...controls,
]

/** The largest message between the network's gateway and its node. */
const messageMax = ByteSize.mebibytes(4)
/** How long an answer is withheld before the connection ends. */
const silence = "30 seconds"

/** All paths of the profile, with the network's answers to unknown paths and wrong methods. */
export const layerRoutes = (world: World, limiter: RateLimiter | undefined) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const served = routes.filter((route) => route.specified || world.profile.surface === "full")
      for (const route of served) {
        yield* router.add(route.method, route.path, serve(world, limiter, route))
      }
      const patterns = served.map(({ path }) => new RegExp(`^${path.replace(/:[a-z]+/g, "[^/]+")}$`))
      yield* router.add("*", "/*", (request) => {
        const path = request.url.split("?")[0]!
        const known = patterns.some((pattern) => pattern.test(path))
        return Effect.succeed(
          respond(
            known
              ? plainError("Unimplemented", "Method Not Allowed", false)
              : plainError("NotFound", "Not Found", false),
            {},
          ),
        )
      })
    }),
  )

const serve = (world: World, limiter: RateLimiter | undefined, route: Route) =>
  Effect.fnUntraced(
    function* (request: HttpServerRequest.HttpServerRequest) {
      const nowMillis = yield* Clock.currentTimeMillis
      const limited = route.operation !== undefined && route.operation !== "health" && limiter !== undefined
      const passage = limited ? pass(limiter, addressOf(request), nowMillis) : { headers: {}, refusal: undefined }
      const headers = { ...passage.headers, ...(yield* blockHeaders(world, route)) }
      if (passage.refusal !== undefined) return respond(passage.refusal, headers)
      const fault = route.operation === undefined ? undefined : yield* world.node.faultFor(route.operation)
      const instead = fault === undefined ? undefined : yield* strikeBefore(world, request, fault)
      if (instead !== undefined) return respond(instead, headers)
      const { params } = yield* HttpRouter.RouteContext
      const answer = yield* route
        .answer(world, askOf(request, params))
        .pipe(Effect.catchTag("Refusal", (refusal) => Effect.succeed<Answer>(refusal.answer)))
      if (fault?.kind === "accept_drop_answer" && (answer.accepted ?? answer.status === 200)) {
        if (yield* world.node.spendFault(fault)) return yield* withhold(request)
      }
      return respond(answer, headers)
    },
    Effect.catchTag("SandboxError", () =>
      Effect.succeed(respond(plainError("Unavailable", "the ledger is out of order", false), {})),
    ),
  )

const askOf = (request: HttpServerRequest.HttpServerRequest, params: Ask["params"]): Ask => ({
  query: parseQuery(request.url),
  params,
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

/** The block that the node began last, as it stood before the operation looked at anything. */
const blockHeaders = (world: World, route: Route) =>
  route.operation === undefined || !world.profile.blockHeaders
    ? Effect.succeed({})
    : world.node.read(({ height, time }) => ({
        "X-Block-Height": String(height),
        "X-Block-Timestamp": String(toMicros(time)),
      }))

const respond = (answer: Answer, headers: Readonly<Record<string, string>>) => {
  const all = { ...(answer.fromNode ? headers : {}), ...answer.headers }
  return answer.text
    ? HttpServerResponse.text(String(answer.body), { status: answer.status, headers: all })
    : HttpServerResponse.jsonUnsafe(answer.body, { status: answer.status, headers: all })
}

const addressOf = (request: HttpServerRequest.HttpServerRequest): string =>
  NodeHttpServerRequest.toIncomingMessage(request).socket.remoteAddress?.replace(/^::ffff:/, "") ?? ""

/** What happens to a request before it has any effect; undefined where it goes on. */
const strikeBefore = Effect.fnUntraced(function* (
  world: World,
  request: HttpServerRequest.HttpServerRequest,
  fault: Fault,
) {
  if (fault.kind === "accept_drop_answer" || !(yield* world.node.spendFault(fault))) return undefined
  switch (fault.kind) {
    case "drop_before":
      return yield* hangUp(request)
    case "delay":
      yield* Effect.sleep(fault.delayMillis ?? 0)
      return undefined
    case "http_status":
      return faultAnswer(fault)
  }
})

const faultAnswer = (fault: Fault): Answer => {
  switch (fault.status) {
    case 403:
      return {
        ...plainError("PermissionDenied", "temporarily banned for continuing to request while rate limited", true),
        headers: { "RateLimit-Retry-After": "600" },
      }
    case 429:
      return plainError("ResourceExhausted", "api request rate limit exceeded", true)
    case 500:
      return nodeError("Internal", { code: 10_000, message: "internal error", inner: "" })
    case 502:
      return {
        status: 502,
        body: "<html><h1>502 Bad Gateway</h1></html>",
        text: true,
        headers: { "content-type": "text/html" },
        fromNode: false,
      }
    case 504:
      return plainError("DeadlineExceeded", "context deadline exceeded", false)
    default:
      return plainError("Unavailable", 'connection error: desc = "transport: error while dialing"', false)
  }
}

/** Ends the connection without an answer. */
const hangUp = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<never> =>
  Effect.suspend(() => {
    NodeHttpServerRequest.toIncomingMessage(request).socket.destroy()
    return Effect.never
  })

/** Leaves the caller without an answer until it gives up, then ends the connection. */
const withhold = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<never> =>
  Effect.sleep(silence).pipe(
    Effect.andThen(hangUp(request)),
    Effect.onInterrupt(() =>
      Effect.sync(() => {
        NodeHttpServerRequest.toIncomingMessage(request).socket.destroy()
      }),
    ),
  )
