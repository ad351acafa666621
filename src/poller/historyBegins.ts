import { Effect } from "effect"
import type { AccountFilter } from "../gateway/GatewayReader.ts"
import { aligned, type Reader } from "./askWindow.ts"

/** How far one question may reach: networks refuse ranges beyond 365 days. */
export const reachNanos = 364n * 86_400_000_000_000n

interface HistoryQuery {
  /** Asked for where the gateway tells nothing of everybody. */
  readonly parties: ReadonlyArray<string>
  readonly at: bigint
}

/**
 * Whether the gateway still has rows of before a time, or says nothing about it. Networks forget whole days, the oldest
 * first, and answer a window of which they forgot rows as if none had been there: so a row from before proves that
 * nothing after it is missing, and silence about everybody's rows, told twice, that something may be.
 */
export const reachesBehind = Effect.fnUntraced(function* (reader: Reader, { parties, at }: HistoryQuery) {
  const from = at > reachNanos ? at - reachNanos : 0n
  for (let asked = 0; asked < 2; asked++) {
    const { rows, mark } = yield* ask(reader, parties, { startTimestamp: from, endTimestamp: at, newestFirst: true })
    // What is there proves it; what was not asked for comes from a gateway that knows no times.
    if (rows.length > 0) return true
    // A gateway that is behind us says nothing about what others have.
    if (mark !== undefined && mark.timestamp < at) return true
  }
  return false
})

/** The block time of the oldest row since a time that the gateway has, of whomever; undefined where it has none. */
export const oldestSince = Effect.fnUntraced(function* (
  reader: Reader,
  { parties, at, until }: HistoryQuery & { readonly until: bigint },
) {
  const end = until - at > reachNanos ? aligned(at + reachNanos) : until
  const { rows } = yield* ask(reader, parties, { startTimestamp: at, endTimestamp: end, newestFirst: false })
  return rows.map(({ node }) => node.timestamp).find((timestamp) => timestamp >= at && timestamp < end)
})

interface Range {
  readonly startTimestamp: bigint
  readonly endTimestamp: bigint
  readonly newestFirst: boolean
}

const ask = (reader: Reader, parties: ReadonlyArray<string>, range: Range) => {
  const pageOf = (filter: AccountFilter) => reader.balanceChanges({ ...filter, ...range, first: 1 })
  return pageOf({}).pipe(Effect.catchReason("GatewayError", "Rejected", () => pageOf({ partyIds: parties })))
}
