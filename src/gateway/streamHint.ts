import { escapeText } from "./escapeText.ts"

/** results: what became of transactions. balances: what accounts hold. */
export type StreamKind = "results" | "balances"

/** Where a stream's rows lie in a message, and which field of a row names the party. */
const shapes = {
  results: { paths: [["transactionResults"]], key: "partyId" },
  balances: {
    paths: [
      ["updates", "accounts"],
      ["snapshot", "accounts"],
    ],
    key: "owner",
  },
} as const

/** A row that tells nothing costs no less than one that does. */
const rowsMax = 1_000

/**
 * Whether a message names one of the keys; or, in escaped words, why the stream cannot go on. A message of another form
 * than expected names nobody: it is no error, since nothing depends on it.
 */
export const concerns = (
  message: string | Uint8Array,
  kind: StreamKind,
  keys: ReadonlySet<string>,
): boolean | string => {
  if (typeof message !== "string") return "a message that is no text"
  let json: unknown
  try {
    json = JSON.parse(message)
  } catch {
    return `a message that is no JSON: ${escapeText(message)}`
  }
  const error = at(json, "error")
  if (error !== undefined && error !== null) {
    const words = at(error, "message")
    return `the gateway ends it: ${escapeText(typeof words === "string" ? words : "no reason given")}`
  }
  const { paths, key } = shapes[kind]
  const result = at(json, "result")
  return paths.some((path) => {
    const rows = path.reduce(at, result)
    return Array.isArray(rows) && rows.slice(0, rowsMax).some((row) => isOneOf(keys, at(row, key)))
  })
}

const isOneOf = (keys: ReadonlySet<string>, value: unknown): boolean => typeof value === "string" && keys.has(value)

const at = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined
