import { Effect, Stream } from "effect"
import type { HttpClientError, HttpClientResponse } from "effect/http"
import type { GatewayReason } from "./GatewayError.ts"

/** Deepest nesting of an answer that is parsed; the agreed forms have less than ten levels. */
export const jsonDepthMax = 64

/**
 * Follows the nesting of JSON over chunks of bytes without parsing it. Answers the deepest level so far; text that is
 * no JSON at all gives some number, and fails to parse later.
 */
const depthMeter = () => {
  let depth = 0
  let deepest = 0
  let inString = false
  let escaped = false
  return (chunk: Uint8Array): number => {
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i]
      if (inString) {
        if (escaped) escaped = false
        else if (byte === 0x5c) escaped = true
        else if (byte === 0x22) inString = false
      } else if (byte === 0x22) inString = true
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
