import { Effect, Schema } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { InForce } from "../config/ConfigInForce.ts"
import { jsonText, visibleJson } from "../domain/text.ts"
import { explanationOf } from "./explanationOf.ts"

/** JSON with large integers as strings; never cached. */
export const json = (body: unknown, status = 200): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(visibleJson(jsonText(body)), {
    status,
    contentType: "application/json; charset=utf-8",
    headers: { "cache-control": "no-store", "x-content-type-options": "nosniff" },
  })

/** A refusal in the form that every client of this API reads. */
export const refusal = (status: number, error: string, remedy?: string): HttpServerResponse.HttpServerResponse =>
  json(remedy === undefined ? { error } : { error, remedy }, status)

/** The request's path without its query. */
export const pathOf = (request: HttpServerRequest.HttpServerRequest): string => request.url.split("?")[0] ?? "/"

const Name = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))
const ExplainQuery = Schema.Struct({
  name: Name,
  subject: Schema.optional(Name),
  /** Unix milliseconds. */
  at: Schema.optional(Schema.NumberFromString.check(Schema.isInt())),
})

export const explainPath = "/api/v1/explain"

/** The answer to a question why, for the socket and for the page alike. */
export const answerExplain = Effect.fnUntraced(function* (inForce: InForce, query: URLSearchParams) {
  const asked = yield* Schema.decodeUnknownEffect(ExplainQuery)(Object.fromEntries(query)).pipe(Effect.option)
  if (asked._tag === "None") return refusal(400, "the name to explain is missing", "give a name, and a time in digits")
  const found = yield* explanationOf(inForce, asked.value)
  return "problem" in found ? refusal(found.status, found.problem, found.remedy) : json(found)
})
