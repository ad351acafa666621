import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { ByteSize, Effect } from "effect"
import { HttpIncomingMessage, HttpServerRequest, HttpServerResponse } from "effect/http"
import { isLoopback } from "../../config/schema/Fields.ts"
import { breakAnswer, hangUp } from "../faults/wire.ts"
import { type HttpAnswer, plainError, refuseRequest, type World } from "./Answer.ts"
import type { RateLimiter } from "./RateLimiter.ts"
import { answerRequest } from "./routes.ts"

/** The largest message between the network's gateway and its node. */
const messageMax = ByteSize.mebibytes(4)

/**
 * Serves a network on loopback under this machine's own names alone, and to no page of another site: one in a browser
 * here could otherwise make blocks and faults. One that listens elsewhere may have any name there.
 */
export const serveNetwork = (world: World, limiter: RateLimiter | undefined, host: string) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
    const { host: asked = "", origin } = request.headers
    const isOwn = isLoopback(asked.replace(/:[0-9]+$/, "")) && (origin ?? `http://${asked}`) === `http://${asked}`
    if (!isLoopback(host) || isOwn) return answered(world, limiter, request)
    const words = "asked for under another name, or by another site; use 127.0.0.1 or localhost"
    return Effect.succeed(respond(plainError("PermissionDenied", words, false), {}))
    // The end of the server ends answers that are withheld.
  }).pipe(Effect.interruptible)

const answered = Effect.fnUntraced(function* (
  world: World,
  limiter: RateLimiter | undefined,
  request: HttpServerRequest.HttpServerRequest,
) {
  const { method, url } = request
  const address = NodeHttpServerRequest.toIncomingMessage(request).socket.remoteAddress?.replace(/^::ffff:/, "") ?? ""
  const outcome = yield* answerRequest(world, limiter, { method, url, address, body: bodyOf(request) })
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

const bodyOf = (request: HttpServerRequest.HttpServerRequest) =>
  request.text.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, messageMax),
    Effect.mapError((error) => {
      const text = `grpc: received message larger than max (more than ${messageMax})`
      return refuseRequest(
        error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge"
          ? plainError("ResourceExhausted", text, false)
          : plainError("InvalidArgument", "unexpected EOF", false),
      )
    }),
  )
