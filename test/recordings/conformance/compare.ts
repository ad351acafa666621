/** One place in which two answers differ. */
export interface Difference {
  /** Keys joined by dots; "[]" for any element of a list. */
  readonly path: string
  readonly recorded: string
  readonly sandbox: string
}

/** Values that are a network's own: another run of the same network would have others. */
const own: ReadonlySet<string> = new Set([
  // times
  "timestamp",
  "createdTimestamp",
  "creditedTimestamp",
  "withdrawnTimestamp",
  "createdAt",
  "startTime",
  "expiryTime",
  "ref",
  "genesisTime",
  "currentTime",
  "vegaTime",
  "uptime",
  "epochStartTime",
  "epochExpiryTime",
  // hashes and heights
  "hash",
  "blockHash",
  "height",
  "blockHeight",
  "block",
  "firstBlock",
  // cursors
  "cursor",
  "startCursor",
  "endCursor",
])

/** Counters of /statistics: how busy the recorded machine was. */
const counters: ReadonlySet<string> = new Set([
  "backlogLength",
  "txPerBlock",
  "averageTxBytes",
  "averageOrdersPerBlock",
  "blockDuration",
  "eventCount",
  "eventsPerSecond",
  "tradesPerSecond",
  "ordersPerSecond",
])

const isOwn = (path: string, recorded: unknown, sandbox: unknown): boolean => {
  const key = path.slice(path.lastIndexOf(".") + 1)
  const counter = path.startsWith("statistics.") && counters.has(key)
  return (own.has(key) || counter) && typeof recorded === typeof sandbox && (recorded === "") === (sandbox === "")
}

const show = (value: unknown): string => (value === undefined ? "nothing" : (JSON.stringify(value) ?? "nothing"))

/** All differences of two bodies but those in values that are a network's own. The order of keys counts, too. */
export const differences = (recorded: unknown, sandbox: unknown, path = ""): ReadonlyArray<Difference> => {
  if (Object.is(recorded, sandbox) || isOwn(path, recorded, sandbox)) return []
  const here = [{ path, recorded: show(recorded), sandbox: show(sandbox) }]
  if (typeof recorded !== "object" || typeof sandbox !== "object" || recorded === null || sandbox === null) return here
  if (Array.isArray(recorded) !== Array.isArray(sandbox)) return here
  if (Array.isArray(recorded) && Array.isArray(sandbox)) {
    if (recorded.length !== sandbox.length) {
      return [{ path, recorded: `${recorded.length} rows`, sandbox: `${sandbox.length} rows` }]
    }
    return recorded.flatMap((value: unknown, n) => differences(value, sandbox[n], `${path}[]`))
  }
  const keys = [Object.keys(recorded), Object.keys(sandbox)].map((names) => names.join())
  const order = [...new Set([...Object.keys(recorded), ...Object.keys(sandbox)])]
  const inside = order.flatMap((key) =>
    differences(Reflect.get(recorded, key), Reflect.get(sandbox, key), path === "" ? key : `${path}.${key}`),
  )
  return inside.length === 0 && keys[0] !== keys[1] ? [{ path, recorded: keys[0]!, sandbox: keys[1]! }] : inside
}
