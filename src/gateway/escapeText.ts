import { visible } from "../domain/visible.ts"

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
