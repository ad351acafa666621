import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { ByteSize, Effect } from "effect"
import { HttpIncomingMessage, HttpServerRequest, HttpServerResponse } from "effect/http"
import { isLoopback } from "../../config/schema/Fields.ts"
import { breakAnswer, hangUp, type Outgoing } from "../faults/wire.ts"
import { type HttpAnswer, invalidArgument, plainError, refuseRequest, type World } from "./Answer.ts"
import type { RateLimiter } from "./RateLimiter.ts"
import { answerRequest } from "./routes.ts"

/** The largest message between the network's gateway and its node. */
const messageMax = ByteSize.mebibytes(4)

/**
 * Answers requests. A network on loopback answers only to this machine's own names, and to no page of another site: a
 * page in a browser here could otherwise make blocks and faults. A network that listens elsewhere answers to any name.
 */
export const serveNetwork = (world: World, limiter: RateLimiter | undefined, host: string) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
    const { host: name = "", origin } = request.headers
    const isOwn = isLoopback(name.replace(/:[0-9]+$/, "")) && (origin ?? `http://${name}`) === `http://${name}`
    if (!isLoopback(host) || isOwn) return answered(world, limiter, request)
    const words = "asked for under another name, or by another site; use 127.0.0.1 or localhost"
    return Effect.succeed(respond(outgoingOf(plainError("PermissionDenied", words), {})))
    // Withheld answers end with the server.
  }).pipe(Effect.interruptible)

const answered = Effect.fnUntraced(function* (
  world: World,
  limiter: RateLimiter | undefined,
  request: HttpServerRequest.HttpServerRequest,
) {
  const { method, url } = request
  const address = NodeHttpServerRequest.toIncomingMessage(request).socket.remoteAddress?.replace(/^::ffff:/, "") ?? ""
  const outcome = yield* answerRequest(world, limiter, { method, url, address, body: bodyOf(request) })
  if (outcome._tag === "HungUp") return yield* hangUp(request)
  const outgoing = outgoingOf(outcome.answer, outcome.headers)
  return outcome._tag === "Answered" ? respond(outgoing) : yield* breakAnswer(request, outcome.kind, outgoing)
})

/** The answer as sent. Headers of the node stand only in the node's own answers. */
export const outgoingOf = (answer: HttpAnswer, nodeHeaders: Readonly<Record<string, string>>): Outgoing => ({
  status: answer.status,
  headers: { ...(answer.fromNode ? nodeHeaders : {}), ...answer.headers },
  body: answer.text ? String(answer.body) : JSON.stringify(answer.body),
})

const respond = ({ status, headers, body }: Outgoing): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(body, { status, headers, contentType: headers["content-type"] ?? "application/json" })

const bodyOf = (request: HttpServerRequest.HttpServerRequest) =>
  request.text.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, messageMax),
    Effect.mapError(({ reason }) => {
      const text = `grpc: received message larger than max (more than ${messageMax})`
      return reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"
        ? refuseRequest(plainError("ResourceExhausted", text))
        : invalidArgument("unexpected EOF")
    }),
  )
