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
 * Follows JSON over chunks of bytes without parsing it, and says at the first byte that shows it what is too much.
 * Text that is no JSON at all may pass, and fails to parse later. What stands in strings is skipped by searching for
 * their end: that is most of an answer.
 */
export const jsonMeter = () => {
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
