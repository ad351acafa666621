import { Exit, Schema } from "effect"
import type { HttpClientError } from "effect/http"
import type { BlockMark } from "../domain/Balance.ts"
import type { NotConnected } from "../sockets/client.ts"
import { escapeText, type GatewayReason, textLengthMax } from "./GatewayError.ts"
import { StatusBody } from "./schema/ChainHead.ts"

/** Codes whose meaning operators need not look up. */
const meanings: Readonly<Record<string, string>> = {
  ENOTFOUND: "host name not found",
  EAI_AGAIN: "no answer of the name server",
  ECONNREFUSED: "connection refused",
  CERT_HAS_EXPIRED: "TLS certificate expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "TLS certificate of another host",
}

const text = (cause: unknown, key: string): string | undefined => {
  const value = typeof cause === "object" && cause !== null ? Reflect.get(cause, key) : undefined
  return typeof value === "string" ? value : undefined
}

const isNotConnected = (cause: unknown): boolean =>
  typeof cause === "object" && cause !== null && (cause as NotConnected).notConnected === true

/**
 * The condition behind a failure of the transport: Unreachable where certainly nothing was sent, Ambiguous where the
 * request, or a part of it, may have arrived.
 */
export const reasonOfFailure = (error: HttpClientError.HttpClientError): GatewayReason => {
  const { reason } = error
  const cause = "cause" in reason ? reason.cause : undefined
  const code = text(cause, "code")
  const words = [meanings[code ?? ""] ?? code, text(cause, "message") ?? reason._tag].filter(
    (w) => w !== undefined && w !== "",
  )
  const detail = escapeText([...new Set(words)].join(": "))
  const unsent = reason._tag === "InvalidUrlError" || reason._tag === "EncodeError" || isNotConnected(cause)
  return { _tag: unsent ? "Unreachable" : "Ambiguous", detail }
}

/** An answer without success, as it came. */
interface Refusal {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The parsed body, or undefined where it is not JSON. */
  readonly body: unknown
  readonly mark: BlockMark | undefined
}

const decodeStatus = Schema.decodeUnknownExit(StatusBody)

/** Words of a real network by which an answer of class 500 is the caller's mistake, or no mistake at all. */
const knownBytes = "tx already exists in cache"
const callerErrors = ["invalid date range", "invalid pagination", "unknown transfer direction"]
const tooLarge = ["message larger than max", "Tx too large"]
const banned = "temporarily banned"
const detailsMax = 16
/** The code inside a status body that goes with 404. */
const grpcNotFound = 5

/**
 * The condition behind an HTTP status. Real networks answer 500 to a repeated transaction and to a wrong date range,
 * and 429 to a request that is too large, so the words of the body count as much as the number.
 */
export const reasonOfStatus = (refusal: Refusal): GatewayReason => {
  const { status } = refusal
  const exit = decodeStatus(withFewDetails(refusal.body))
  const body = Exit.isSuccess(exit) ? exit.value : undefined
  const words =
    body === undefined ? "" : [body.message, ...body.details.flatMap((d) => [d.message, d.inner])].join(": ")
  // The cut comes first: looking for the end of megabytes of colons would take minutes.
  const detail = escapeText(`${status} ${words.slice(0, textLengthMax).replace(/(: )+$/, "")}`.trim())
  const says = (text: string): boolean => words.includes(text)

  if (tooLarge.some(says) || status === 413) return { _tag: "TooLarge", detail }
  if (status === 429) return { _tag: "RateLimited", ...retryAfter(refusal) }
  if (status === 403 && (says(banned) || refusal.headers["ratelimit-retry-after"] !== undefined)) {
    return { _tag: "Banned", ...retryAfter(refusal) }
  }
  if (status === 404) {
    // Only a status body of the gateway itself shows that it looked: a proxy's 404 is no evidence of absence.
    return body?.code !== grpcNotFound || (body.message === "Not Found" && body.details.length === 0)
      ? { _tag: "Unsupported", detail }
      : { _tag: "NotFound", detail, ...(refusal.mark === undefined ? {} : { mark: refusal.mark }) }
  }
  if (status === 405 || status === 501) return { _tag: "Unsupported", detail }
  if (says(knownBytes)) return { _tag: "AlreadyKnown", detail }
  if (status >= 500 || status === 408) {
    return { _tag: callerErrors.some(says) ? "Rejected" : "Ambiguous", detail }
  }
  if (status >= 400) return { _tag: "Rejected", detail }
  return { _tag: "Unreadable", detail: status >= 300 ? `${status}: redirects are not followed` : detail }
}

/** Words beyond the first few are never looked at. */
const withFewDetails = (body: unknown): unknown => {
  if (typeof body !== "object" || body === null || !("details" in body) || !Array.isArray(body.details)) return body
  return { ...body, details: body.details.slice(0, detailsMax) }
}

/** Seconds in either header, at most a day; absent where there is none that makes sense. */
const retryAfter = ({ headers }: Refusal): { readonly retryAfterMillis?: number } => {
  const text = headers["ratelimit-retry-after"] ?? headers["retry-after"]
  if (text === undefined || !/^[0-9]{1,5}$/.test(text)) return {}
  return { retryAfterMillis: Math.min(Number(text), 86_400) * 1000 }
}
