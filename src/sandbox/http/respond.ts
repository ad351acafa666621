import { gzipSync } from "node:zlib"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Answer } from "./Answer.ts"

type Headers = Readonly<Record<string, string>>

/** Any origin may read, and sees every header. */
const corsOf = (request: HttpServerRequest.HttpServerRequest): Headers => {
  const { origin } = request.headers
  return origin === undefined
    ? {}
    : { "access-control-allow-origin": origin, "access-control-expose-headers": "*", vary: "Origin" }
}

/** Whether a browser asks whether it may ask: it says with which method. The path plays no part in it. */
export const isPreflight = (request: HttpServerRequest.HttpServerRequest): boolean =>
  request.method === "OPTIONS" && request.headers["access-control-request-method"] !== undefined

/** The answer to such a question: whatever it is. */
export const preflight = (request: HttpServerRequest.HttpServerRequest): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.empty({
    status: 204,
    headers: {
      ...corsOf(request),
      "access-control-allow-methods": "HEAD, GET, POST, PUT, PATCH, DELETE",
      "access-control-allow-headers": request.headers["access-control-request-headers"] ?? "*",
      "access-control-max-age": "7200",
    },
  })

/** The body as text: compact, or indented for whoever puts "pretty" into the query. */
export const bodyText = (answer: Answer, url: string): string => {
  if (answer.text) return String(answer.body)
  const query = new URLSearchParams(url.split("?")[1] ?? "")
  return query.has("pretty") ? JSON.stringify(answer.body, null, 2) : JSON.stringify(answer.body)
}

/** Sends an answer, packed if the client takes it so. `headers` are the node's: one that is not its own has none. */
export const respond = (
  request: HttpServerRequest.HttpServerRequest,
  answer: Answer,
  headers: Headers,
): HttpServerResponse.HttpServerResponse => {
  const all = { ...corsOf(request), ...(answer.fromNode ? headers : {}), ...answer.headers }
  const contentType = all["content-type"] ?? (answer.text ? "text/plain; charset=utf-8" : "application/json")
  const text = bodyText(answer, request.url)
  const { status } = answer
  if (!/\bgzip\b/.test(request.headers["accept-encoding"] ?? "")) {
    return HttpServerResponse.text(text, { status, headers: all, contentType })
  }
  const packed = gzipSync(text, { level: 1 })
  return HttpServerResponse.uint8Array(packed, { status, headers: { ...all, "content-encoding": "gzip" }, contentType })
}
