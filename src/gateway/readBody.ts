import { Effect, Stream } from "effect"
import type { HttpClientError, HttpClientResponse } from "effect/http"
import type { GatewayReason } from "./GatewayError.ts"

/** A whole answer. */
export interface Body {
  /** Undefined where the bytes are no UTF-8. */
  readonly text: string | undefined
  readonly size: number
}

/** Decodes chunk by chunk, so that a large answer does not hold everything else up at its end. */
const makeDecoder = () => {
  const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
  let text: string | undefined = ""
  const decode = (chunk?: Uint8Array): string | undefined => {
    try {
      if (text !== undefined) text += chunk === undefined ? utf8.decode() : utf8.decode(chunk, { stream: true })
    } catch {
      text = undefined
    }
    return text
  }
  return decode
}

/**
 * Reads an answer to its end, within bounds: an encoded answer, one larger than `bytesMax` and one beyond the bounds of
 * jsonMeter are given up where they show it, and the connection with them.
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
  return Effect.suspend(() => {
    const decode = makeDecoder()
    const meter = jsonMeter()
    let size = 0
    const take = (chunk: Uint8Array): Effect.Effect<void, GatewayReason> => {
      size += chunk.length
      if (size > bytesMax) return Effect.fail(tooLarge)
      const complaint = meter(chunk)
      if (complaint !== undefined) return Effect.fail({ _tag: "Unreadable", detail: `the answer ${complaint}` })
      decode(chunk)
      return Effect.void
    }
    return Effect.map(Stream.runForEach(response.stream, take), () => ({ text: decode(), size }))
  })
}

/** Deepest nesting of an answer that is parsed; the agreed forms have less than ten levels. */
export const jsonDepthMax = 64
/** Most keys of one object; the agreed forms have less than fifty. Many more make the parser slow. */
const jsonKeysMax = 256
/** Most values of an answer, objects and lists with their members: a page of 5000 rows has less than 60,000. */
const jsonValuesMax = 80_000
/** Longest string, in bytes; the agreed ones have less than a thousand. */
const jsonStringMax = 1024 * 1024

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c

/**
 * Follows JSON over chunks of bytes without parsing it, and reports at once what is too large. Text that is not JSON at
 * all may pass, and fails to parse later. Strings, which are most of an answer, are skipped by searching for their end.
 */
const jsonMeter = () => {
  let depth = 0
  let values = 0
  /** By depth: the keys of the open object; of a list, minus infinity. */
  const keys = new Float64Array(jsonDepthMax + 1)
  let inString = false
  let length = 0
  /** Backslashes at the end of what was seen of a string: an odd number hides the quote behind it. */
  let slashes = 0
  const skip = (bytes: Buffer, from: number): number => {
    const found = bytes.indexOf(quote, from)
    const end = found < 0 ? bytes.length : found
    let before = end
    while (before > from && bytes[before - 1] === backslash) before--
    slashes = end - before + (before === from ? slashes : 0)
    length += end - from
    if (found < 0) return end
    inString = slashes % 2 === 1
    slashes = 0
    return end + 1
  }
  return (chunk: Uint8Array): string | undefined => {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
    for (let i = 0; i < bytes.length; ) {
      if (inString) {
        i = skip(bytes, i)
        if (length > jsonStringMax) return `has more than ${jsonStringMax} bytes in one string`
        continue
      }
      const byte = bytes[i++]
      if (byte === quote) {
        inString = true
        length = 0
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
}

/** An escape of half a surrogate pair, which most answers have none of. */
const escaped = /\\u[dD][89a-fA-F]/

/**
 * True if a text of the answer is invalid Unicode. Bytes cannot contain such text (readBody), escapes can: protobuf's
 * JSON has only UTF-8, and a store that keeps UTF-8 would make two different texts equal. Keys outside of the schema do
 * not count.
 */
export const hasBrokenText = (text: string, json: unknown): boolean => escaped.test(text) && isBroken(json)

const isBroken = (value: unknown): boolean => {
  if (typeof value === "string") return !value.isWellFormed()
  return typeof value === "object" && value !== null && Object.values(value).some(isBroken)
}
