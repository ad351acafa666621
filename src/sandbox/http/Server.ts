import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { ByteSize, Effect } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { isLoopback } from "../../config/schema/Fields.ts"
import { breakAnswer, hangUp } from "../faults/wire.ts"
import { type HttpAnswer, plainError, type Route, refuseRequest, type World } from "./Answer.ts"
import { type Incoming, perform } from "./perform.ts"
import type { RateLimiter } from "./RateLimiter.ts"
import { routesOf } from "./routes.ts"

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
          body: answerText(answer),
        })
      }
    }
  })

/** The body as text. */
export const answerText = (answer: HttpAnswer): string =>
  answer.text ? String(answer.body) : JSON.stringify(answer.body)

/** Sends an answer. `headers` are the node's: one that is not its own has none. */
const respond = (
  answer: HttpAnswer,
  headers: Readonly<Record<string, string>>,
): HttpServerResponse.HttpServerResponse => {
  const all = { ...(answer.fromNode ? headers : {}), ...answer.headers }
  const contentType = all["content-type"] ?? "application/json"
  return HttpServerResponse.text(answerText(answer), { status: answer.status, headers: all, contentType })
}

const incomingOf = (request: HttpServerRequest.HttpServerRequest, params: Incoming["params"]): Incoming => ({
  url: request.url,
  params,
  address: NodeHttpServerRequest.toIncomingMessage(request).socket.remoteAddress?.replace(/^::ffff:/, "") ?? "",
  body: request.text.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, messageMax),
    Effect.mapError((error) => {
      const text = `grpc: received message larger than max (more than ${messageMax})`
      return refuseRequest(
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
