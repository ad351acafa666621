/**
 * Characters that could end a log line, colour a terminal, turn the writing direction or hide: controls, format
 * characters, line and paragraph separators, lone surrogates.
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** A text in which such characters are written as \u{…}: what people see of it is all that it holds. */
export const visible = (text: string): string =>
  text.replace(unsafe, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`)
