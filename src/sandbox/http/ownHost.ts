import { Effect } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import { isLoopback } from "../../config/Fields.ts"
import { plainError } from "./Answer.ts"
import { respond } from "./respond.ts"

/**
 * Serves a network on loopback under this machine's own names alone: a page of the web that was given a name of this
 * machine could otherwise pay with the play money, and read all. One that listens elsewhere may have any name there.
 */
export const ownHost =
  (host: string) =>
  <E, R>(app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const name = (request.headers["host"] ?? "").replace(/:[0-9]+$/, "")
      if (!isLoopback(host) || isLoopback(name)) return yield* app
      const refused = plainError("PermissionDenied", "asked for under another name; use 127.0.0.1 or localhost", false)
      return respond(request, refused, {})
    })
