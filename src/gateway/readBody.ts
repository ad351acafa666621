import { Effect, Stream } from "effect"
import type { HttpClientError, HttpClientResponse } from "effect/http"
import type { GatewayReason } from "./GatewayError.ts"

/** Deepest nesting of an answer that is parsed; the agreed forms have less than ten levels. */
export const jsonDepthMax = 64

const quote = 0x22
const backslash = 0x5c

/**
 * Follows the nesting of JSON over chunks of bytes without parsing it. Answers the deepest level so far; text that is
 * no JSON at all gives some number, and fails to parse later. What stands in strings is skipped by searching for their
 * end: that is most of an answer.
 */
const depthMeter = () => {
  let depth = 0
  let deepest = 0
  let inString = false
  /** Backslashes at the end of what was seen of a string: an odd number hides the quote behind it. */
  let slashes = 0
  const skip = (bytes: Buffer, from: number): number => {
    const found = bytes.indexOf(quote, from)
    const end = found < 0 ? bytes.length : found
    let before = end
    while (before > from && bytes[before - 1] === backslash) before--
    slashes = end - before + (before === from ? slashes : 0)
    if (found < 0) return end
    inString = slashes % 2 === 1
    slashes = 0
    return end + 1
  }
  return (chunk: Uint8Array): number => {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
    for (let i = 0; i < bytes.length; ) {
      if (inString) {
        i = skip(bytes, i)
        continue
      }
      const byte = bytes[i++]
      if (byte === quote) inString = true
      else if (byte === 0x5b || byte === 0x7b) {
        if (++depth > deepest) deepest = depth
      } else if (byte === 0x5d || byte === 0x7d) depth--
    }
    return deepest
  }
}

/**
 * Reads an answer to its end, within bounds: an encoded answer, one larger than `bytesMax` and one nested deeper than
 * jsonDepthMax are given up at the first byte that shows it, and the connection with them.
 */
export const readBody = (
  response: HttpClientResponse.HttpClientResponse,
  bytesMax: number,
): Effect.Effect<Uint8Array, GatewayReason | HttpClientError.HttpClientError> => {
  const encoding = response.headers["content-encoding"]
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    return Effect.fail({ _tag: "Unreadable", detail: "the answer is encoded, which was not asked for" })
  }
  const tooLarge: GatewayReason = { _tag: "TooLarge", detail: `the answer has more than ${bytesMax} bytes` }
  const announced = Number(response.headers["content-length"] ?? 0)
  if (announced > bytesMax) return Effect.fail(tooLarge)
  return Effect.suspend(() => {
    const chunks: Array<Uint8Array> = []
    const depth = depthMeter()
    let size = 0
    const take = (chunk: Uint8Array): Effect.Effect<void, GatewayReason> => {
      size += chunk.length
      if (size > bytesMax) return Effect.fail(tooLarge)
      if (depth(chunk) > jsonDepthMax) return Effect.fail(tooDeep)
      chunks.push(chunk)
      return Effect.void
    }
    return Effect.map(Stream.runForEach(response.stream, take), () => Buffer.concat(chunks, size))
  })
}

const tooDeep: GatewayReason = { _tag: "Unreadable", detail: `nested deeper than ${jsonDepthMax} levels` }
