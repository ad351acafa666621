/**
 * Characters that could end a log line, colour a terminal, turn the writing direction or hide: controls, format
 * characters, line and paragraph separators, lone surrogates.
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** Longest text of a gateway that is kept, in UTF-16 code units. */
export const textLengthMax = 256

/**
 * A gateway's words in a form that is safe in logs, messages and the store: unsafe characters written as \u{…}, at most
 * 256 characters. The input may have any length.
 */
export const escapeText = (text: string): string => {
  // The cut comes first as well: escaping megabytes to keep 256 characters would block the loop.
  const head = text.slice(0, textLengthMax + 1)
  const escaped = head.replace(unsafe, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`)
  if (escaped.length <= textLengthMax) return escaped
  return `${escaped.slice(0, textLengthMax - 1).replace(/[\ud800-\udbff]$/, "")}…`
}
