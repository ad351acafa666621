import { Effect } from "effect"
import { HttpClientError, type HttpClientRequest, HttpClientResponse } from "effect/http"
import type { FaultKind } from "../../src/sandbox/Faults.ts"
import type { PerformedRequest } from "../../src/sandbox/http/perform.ts"
import { outgoingOf } from "../../src/sandbox/http/Server.ts"
import type { NotConnected } from "../../src/sockets/client.ts"

/** An answer as a client reads it. */
export interface Told {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What comes back on the way: an answer, perhaps broken by a fault, or undefined where the connection ended. */
export interface Arrived {
  readonly told: Told | undefined
  readonly broken?: FaultKind
}

export const arrivedOf = (outcome: PerformedRequest): Arrived => {
  if (outcome._tag === "HungUp") return { told: undefined }
  const { answer, headers } = outcome
  const contentType = answer.text ? "text/plain" : "application/json"
  const sent = outgoingOf(answer, headers)
  const told = { ...sent, headers: { "content-type": contentType, ...sent.headers } }
  return outcome._tag === "Broken" ? { told, broken: outcome.kind } : { told }
}

type Response = Effect.Effect<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError>

/** The answer as it reaches the client, broken where a fault breaks it. */
export const arrive = (
  request: HttpClientRequest.HttpClientRequest,
  { told, broken }: Arrived,
  hear: (text: string) => void = () => {},
): Response => {
  if (told === undefined) {
    hear("<- hung up")
    return lost(request)
  }
  if (broken === undefined) {
    hear(`<- ${told.status} ${told.body}`)
    return Effect.succeed(responseOf(request, told))
  }
  hear(`<- ${broken} ${told.body}`)
  switch (broken) {
    case "accept_drop_answer":
      return Effect.never
    case "html_body":
      return Effect.succeed(responseOf(request, { ...told, status: 200, body: "<html>Please come back later.</html>" }))
    case "endless_body":
      return Effect.succeed(
        responseOf(request, { ...told, headers: { ...told.headers, "content-length": "99999999" } }),
      )
    case "gzip_bomb":
      return Effect.succeed(responseOf(request, { ...told, headers: { ...told.headers, "content-encoding": "gzip" } }))
    case "wrong_content_length":
      return Effect.succeed(responseOf(request, { ...told, body: told.body.slice(0, -10) }))
    default:
      return lost(request)
  }
}

/** The connection ended under the request: unless it was refused, the request may have arrived. */
export const lost = (request: HttpClientRequest.HttpClientRequest, isRefused = false): Response => {
  const cause: NotConnected = isRefused
    ? Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED", notConnected: true as const })
    : Object.assign(new Error("socket hang up"), { code: "ECONNRESET" })
  return Effect.fail(
    new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request, cause }) }),
  )
}

/** A response whose body is there at once: the platform's own would leave virtual time to read it. */
const responseOf = (
  request: HttpClientRequest.HttpClientRequest,
  told: Told,
): HttpClientResponse.HttpClientResponse => {
  // No more of a response than its head is read; the platform's is slow to make, and its headers too.
  const web = { status: told.status, headers: Object.entries(told.headers) } as unknown
  const head = HttpClientResponse.fromWeb(request, web as Parameters<typeof HttpClientResponse.fromWeb>[1])
  const bytes = new TextEncoder().encode(told.body)
  return Object.create(head, { arrayBuffer: { get: () => Effect.succeed(bytes.buffer) } })
}
