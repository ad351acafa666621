import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { visibleJson } from "../domain/visible.ts"

const plain = (_: string, value: unknown): unknown => (typeof value === "bigint" ? value.toString() : value)

/** JSON with large integers as strings; never cached. */
export const json = (body: unknown, status = 200): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(visibleJson(JSON.stringify(body, plain)), {
    status,
    contentType: "application/json; charset=utf-8",
    headers: { "cache-control": "no-store", "x-content-type-options": "nosniff" },
  })

/** A refusal in the form that every client of this API reads. */
export const refusal = (status: number, error: string, remedy?: string): HttpServerResponse.HttpServerResponse =>
  json(remedy === undefined ? { error } : { error, remedy }, status)

/** The request's path without its query. */
export const pathOf = (request: HttpServerRequest.HttpServerRequest): string => request.url.split("?")[0] ?? "/"
