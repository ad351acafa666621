import { Effect, Schema } from "effect"
import { visible } from "../domain/text.ts"
import { logEvent } from "../telemetry/Logging.ts"
import type { FailureEvent } from "../telemetry/logEvents.ts"

/** Longest text of a gateway that is kept, in UTF-16 code units. */
export const textLengthMax = 256

/**
 * A gateway's words in a form that is safe in logs, messages and the store: unsafe characters written as \u{…}, at most
 * 256 characters. The input may have any length.
 */
export const escapeText = (text: string): string => {
  // The cut comes first as well: escaping megabytes to keep 256 characters would block the loop.
  const escaped = visible(text.slice(0, textLengthMax + 1))
  if (escaped.length <= textLengthMax) return escaped
  return `${escaped.slice(0, textLengthMax - 1).replace(/[\ud800-\udbff]$/, "")}…`
}

const detail = Schema.String
const retryAfterMillis = Schema.optionalKey(Schema.Finite)
const BlockMark = Schema.Struct({ height: Schema.BigInt, timestamp: Schema.BigInt })

/** Why a request to a gateway gave no value. A closed list: above this folder no HTTP status is known. */
export const GatewayReason = Schema.TaggedUnion({
  /** No connection came about: nothing was sent. */
  Unreachable: { detail },
  /** The deadline passed before the answer was complete. */
  Timeout: { afterMillis: Schema.Finite },
  /** Sent, and no usable answer: a server-side failure, or the connection broke. */
  Ambiguous: { detail },
  /** Too many requests; not processed. The wait, where one is known; words where our own limiter did not send it. */
  RateLimited: { retryAfterMillis, detail: Schema.optionalKey(detail) },
  /** Shut out for a while; not processed. */
  Banned: { retryAfterMillis },
  /** The node has these exact bytes already: pending, executed or recently executed. */
  AlreadyKnown: { detail },
  /** The gateway searched and found nothing. `mark`: the block up to which it searched, if it names one. */
  NotFound: { detail, mark: Schema.optionalKey(BlockMark) },
  /** The gateway refuses this request as the caller's mistake; it was not processed. */
  Rejected: { detail },
  /** There was an answer, and it is not of the agreed form. */
  Unreadable: { detail },
  /** The answer, or the request, exceeds what may be sent at once. */
  TooLarge: { detail },
  /** The gateway has no such operation. */
  Unsupported: { detail },
  /** It names a newest block that the chain cannot have come to. */
  Doubted: { detail },
  /** Its chain begins again below a block that was known: the network was reset, or the node is another one. */
  BegunAgain: { detail, chainId: Schema.String },
  /** The gateway is on another chain than the treasury: none of its answers is about our money. */
  OtherChain: { detail, chainId: Schema.String },
})
export type GatewayReason = typeof GatewayReason.Type

const retryable: ReadonlySet<GatewayReason["_tag"]> = new Set([
  "Unreachable",
  "Timeout",
  "Ambiguous",
  "RateLimited",
  "Banned",
  "Unreadable",
  "OtherChain",
])
const unsent: ReadonlySet<GatewayReason["_tag"]> = new Set([
  "Unreachable",
  "RateLimited",
  "Banned",
  "Rejected",
  "Unsupported",
  "Doubted",
  "BegunAgain",
])

const phrases: Readonly<Record<GatewayReason["_tag"], string>> = {
  Unreachable: "unreachable",
  Timeout: "timed out",
  Ambiguous: "no usable answer",
  RateLimited: "too many requests",
  Banned: "banned",
  AlreadyKnown: "already known",
  NotFound: "not found",
  Rejected: "rejected",
  Unreadable: "unreadable answer",
  TooLarge: "too large",
  Unsupported: "not supported",
  Doubted: "implausible block",
  BegunAgain: "the chain began again",
  OtherChain: "another chain",
}

/** The reason in words. */
export const wordsOf = (reason: GatewayReason): string => {
  const words = detailOf(reason)
  return words === "" ? phrases[reason._tag] : `${phrases[reason._tag]}: ${words}`
}

const detailOf = (reason: GatewayReason): string => {
  if ("detail" in reason && reason.detail !== undefined) return reason.detail
  if ("afterMillis" in reason) return `no complete answer within ${reason.afterMillis} ms`
  return "retryAfterMillis" in reason ? `for ${reason.retryAfterMillis} ms` : ""
}

/** A request to one gateway failed. Details are escaped and at most 256 characters long. */
export class GatewayError extends Schema.TaggedError<GatewayError>()("GatewayError", {
  /** Name of the gateway in the configuration. */
  gateway: Schema.String,
  operation: Schema.String,
  reason: GatewayReason,
}) {
  /** True if the same unchanged request may succeed later. */
  get isRetryable(): boolean {
    return retryable.has(this.reason._tag)
  }

  /**
   * For a submission: true if the transaction may have reached the network. False only if the gateway cannot have taken
   * it, or says that it did not; a gateway may lie, so false is no proof that the bytes are dead.
   */
  get mayHaveArrived(): boolean {
    return !unsent.has(this.reason._tag)
  }

  override get message(): string {
    return `gateway ${this.gateway}, ${this.operation}: ${wordsOf(this.reason)}`
  }
}

/** The answer; undefined if the gateway has no such operation. */
export const ifSupported = <A, R>(
  request: Effect.Effect<A, GatewayError, R>,
): Effect.Effect<A | undefined, GatewayError, R> =>
  Effect.catchReason(request, "GatewayError", "Unsupported", () => Effect.undefined)

/** The error of an answer from another chain; who the gateway is may be "quorum". */
export const otherChain = (gateway: string, named: string, ours: string): GatewayError => {
  const chainId = escapeText(named)
  const detail = `on chain ${chainId}, this treasury on ${ours}`
  return new GatewayError({ gateway, operation: "height", reason: { _tag: "OtherChain", detail, chainId } })
}

/** Logs that a request got no usable answer. An unfitting head is reported in one place, and pages if it lasts. */
export const warnOf = (what: FailureEvent, error: GatewayError, fields: { readonly remedy?: string } = {}) =>
  logEvent(
    what,
    { reason: error.message, gateway: error.gateway, ...fields },
    error.reason._tag === "Doubted" ? { severity: "debug" } : {},
  )
