import type { HttpClientError } from "effect/http"
import { escapeText } from "./escapeText.ts"
import type { GatewayReason } from "./GatewayError.ts"

/** Errors that can only come before the first byte of a request is written. */
const beforeSending = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EAI_FAIL",
  "EAI_NODATA",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_INVALID_ARG",
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "CERT_REVOKED",
  "CERT_UNTRUSTED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "ERR_SSL_WRONG_VERSION_NUMBER",
])

const text = (cause: unknown, key: string): string | undefined => {
  const value = typeof cause === "object" && cause !== null ? Reflect.get(cause, key) : undefined
  return typeof value === "string" ? value : undefined
}

/** Whether nothing was sent. Several addresses of a host fail together, each with an error of its own. */
const isBeforeSending = (cause: unknown): boolean => {
  if (cause instanceof AggregateError) return cause.errors.length > 0 && cause.errors.every(isBeforeSending)
  const syscall = text(cause, "syscall")
  return syscall === "connect" || syscall === "getaddrinfo" || beforeSending.has(text(cause, "code") ?? "")
}

/**
 * The condition behind a failure of the transport: Unreachable where certainly nothing was sent, Ambiguous where the
 * request, or a part of it, may have arrived.
 */
export const reasonOfFailure = (error: HttpClientError.HttpClientError): GatewayReason => {
  const { reason } = error
  const cause = "cause" in reason ? reason.cause : undefined
  const words = [text(cause, "code"), text(cause, "message") ?? reason._tag].filter((w) => w !== undefined && w !== "")
  const detail = escapeText([...new Set(words)].join(": "))
  const unsent = reason._tag === "InvalidUrlError" || reason._tag === "EncodeError" || isBeforeSending(cause)
  return { _tag: unsent ? "Unreachable" : "Ambiguous", detail }
}
