/** An escape of half a surrogate pair, which most answers have none of. */
const escaped = /\\u[dD][89a-fA-F]/

/**
 * Whether a text of the answer is no Unicode. Bytes can hold none such (readBody), escapes can: protobuf's JSON has
 * only UTF-8, and a store that keeps UTF-8 would make one text of two that differ. Keys that nobody asked for do not
 * count.
 */
export const hasBrokenText = (text: string, json: unknown): boolean => escaped.test(text) && isBroken(json)

const isBroken = (value: unknown): boolean => {
  if (typeof value === "string") return !value.isWellFormed()
  return typeof value === "object" && value !== null && Object.values(value).some(isBroken)
}
