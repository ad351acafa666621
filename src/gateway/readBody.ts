import { MaxBytesError } from "@effect/platform-node/NodeStream"
import { ByteSize, Effect } from "effect"
import { type HttpClientError, type HttpClientResponse, HttpIncomingMessage } from "effect/http"
import type { GatewayReason } from "./GatewayError.ts"

/** A whole answer. */
export interface Body {
  /** Undefined where the bytes are no UTF-8. */
  readonly text: string | undefined
  readonly size: number
}

/** Decodes UTF-8; undefined if the bytes are not UTF-8. */
const decode = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

const isTooLarge = ({ reason }: HttpClientError.HttpClientError): boolean =>
  reason._tag === "DecodeError" && reason.cause instanceof MaxBytesError

/**
 * Reads a whole answer. Fails where it is encoded, has more than `bytesMax` bytes, which closes the connection, or
 * exceeds the bounds of complaintAbout.
 */
export const readBody = (
  response: HttpClientResponse.HttpClientResponse,
  bytesMax: number,
): Effect.Effect<Body, GatewayReason | HttpClientError.HttpClientError> => {
  const encoding = response.headers["content-encoding"]
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    return Effect.fail({ _tag: "Unreadable", detail: "the answer is encoded, which was not asked for" })
  }
  const tooLarge: GatewayReason = { _tag: "TooLarge", detail: `the answer has more than ${bytesMax} bytes` }
  const announced = Number(response.headers["content-length"] ?? 0)
  if (announced > bytesMax) return Effect.fail(tooLarge)
  // Not as a stream, whose fibers cost more than the rest of a request.
  return response.arrayBuffer.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(bytesMax)),
    Effect.catchIf(isTooLarge, () => Effect.fail(tooLarge)),
    Effect.flatMap((buffer): Effect.Effect<Body, GatewayReason> => {
      const bytes = Buffer.from(buffer)
      const complaint = complaintAbout(bytes)
      return complaint === undefined
        ? Effect.succeed({ text: decode(bytes), size: bytes.length })
        : Effect.fail({ _tag: "Unreadable", detail: `the answer ${complaint}` })
    }),
  )
}

/** Deepest nesting of an answer that is parsed; the agreed forms have less than ten levels. */
export const jsonDepthMax = 64
/** Most keys of one object; the agreed forms have less than fifty. Many more make the parser slow. */
const jsonKeysMax = 256
/** Most values of an answer, objects and lists with their members: a page of 5000 rows has less than 60,000. */
const jsonValuesMax = 80_000
/** Longest string, in bytes; the agreed ones have less than a thousand. */
export const jsonStringMax = 1024 * 1024

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c

/** End of the string that begins at `from`, behind its quote; the end of all bytes where it has none. */
const endOfString = (bytes: Buffer, from: number): number => {
  for (let at = from; ; at++) {
    at = bytes.indexOf(quote, at)
    if (at < 0) return bytes.length
    let before = at
    while (before > from && bytes[before - 1] === backslash) before--
    // An odd number of backslashes escapes the quote.
    if ((at - before) % 2 === 0) return at
  }
}

/**
 * Follows JSON without parsing it, and names what is too large; undefined: nothing is. Text that is not JSON at all may
 * pass, and fails to parse later. Strings, which are most of an answer, are skipped by searching for their end.
 */
const complaintAbout = (bytes: Buffer): string | undefined => {
  let depth = 0
  let values = 0
  /** By depth: the keys of the open object; of a list, minus infinity. */
  const keys = new Float64Array(jsonDepthMax + 1)
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === quote) {
      const end = endOfString(bytes, i + 1)
      if (end - i - 1 > jsonStringMax) return `has more than ${jsonStringMax} bytes in one string`
      i = end
    } else if (byte === comma) {
      values++
      if (++keys[depth]! >= jsonKeysMax) return `has more than ${jsonKeysMax} keys in one object`
    } else if (byte === 0x5b || byte === 0x7b) {
      values++
      if (++depth > jsonDepthMax) return `is nested deeper than ${jsonDepthMax} levels`
      keys[depth] = byte === 0x7b ? 0 : Number.NEGATIVE_INFINITY
    } else if ((byte === 0x5d || byte === 0x7d) && depth > 0) depth--
  }
  return values > jsonValuesMax ? `has more than ${jsonValuesMax} values` : undefined
}

/** An escape of U+0000 or of half a surrogate pair, which most answers have none of. */
const escaped = /\\u(?:0000|[dD][89a-fA-F])/

/**
 * True if a text of the answer is invalid Unicode, or has U+0000. Bytes cannot contain such text (readBody), escapes
 * can: protobuf's JSON has only UTF-8, and a store that keeps UTF-8 would make two different texts equal. PostgreSQL
 * refuses U+0000: one such name would halt a treasury. Keys outside of the schema do not count.
 */
export const hasBrokenText = (text: string, json: unknown): boolean => escaped.test(text) && isBroken(json)

const isBroken = (value: unknown): boolean => {
  if (typeof value === "string") return !value.isWellFormed() || value.includes("\0")
  return typeof value === "object" && value !== null && Object.values(value).some(isBroken)
}
