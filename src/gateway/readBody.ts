import { Effect, Stream } from "effect"
import type { HttpClientError, HttpClientResponse } from "effect/http"
import type { GatewayReason } from "./GatewayError.ts"
import { jsonMeter } from "./jsonMeter.ts"

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
