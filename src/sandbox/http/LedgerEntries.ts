import { Clock, Effect } from "effect"
import { formatTime, type Movement, movementTypes } from "../Ledger.ts"
import { readFilter } from "./Accounts.ts"
import { enums, int64, list, nodeError, ok, type Query, reads, refuseRequest } from "./Answer.ts"
import { cutPage, edgesOf, fetchCount, readPaging, toCursor } from "./Paging.ts"

const queryError = { code: 260_001, message: "failed to get ledger entries", inner: "querying ledger entries: " }

const cursorOf = (movement: Movement): string => toCursor({ vega_time: formatTime(movement.time) })

const second = 1_000_000_000n
/** Longest range of an answer. */
const rangeNanosMax = 5n * 86_400n * second

/** The entries of the ledger: who paid whom, for what reason, and what both held then. */
export const ledgerEntries = reads("ledgerEntries", "/api/v2/ledgerentry/history", function* (world, ask) {
  const matches = yield* readEntryFilter(ask.query)
  const { start, end } = yield* readRange(ask.query)
  const paging = yield* readPaging(ask.query)
  if (paging.cursor !== undefined) {
    const inner = 'ERROR: column reference "vega_time" is ambiguous (SQLSTATE 42702)'
    return yield* refuseRequest(nodeError("Internal", { ...queryError, inner }))
  }
  const page = yield* world.node.read(({ ledger: { movements } }) => {
    const found: Array<Movement> = []
    const enough = fetchCount(paging)
    const downwards = paging.newestFirst === paging.forward
    for (let n = 0; n < movements.length && found.length < enough; n++) {
      const entry = movements[downwards ? movements.length - 1 - n : n]!
      if (entry.blockTime >= start && entry.blockTime < end && matches(entry)) found.push(entry)
    }
    return cutPage(found, paging, cursorOf)
  })
  return ok({ ledgerEntries: edgesOf(page, cursorOf, nodeOf) })
})

const nodeOf = (entry: Movement) => ({
  timestamp: entry.time.toString(),
  quantity: entry.amount.toString(),
  transferType: entry.type,
  assetId: entry.from.asset,
  fromAccountType: entry.from.type,
  toAccountType: entry.to.type,
  fromAccountPartyId: entry.from.party,
  toAccountPartyId: entry.to.party,
  ...(entry.from.market === "" ? {} : { fromAccountMarketId: entry.from.market }),
  ...(entry.to.market === "" ? {} : { toAccountMarketId: entry.to.market }),
  fromAccountBalance: entry.fromBalance.toString(),
  toAccountBalance: entry.toBalance.toString(),
  transferId: entry.transferId,
})

/** Matches movements out of the requested accounts; at least one party must be named. */
const readEntryFilter = Effect.fnUntraced(function* (query: Query) {
  const prefix = "filter.from_account_filter."
  const fromFilter = new Map(
    [...query].flatMap(([key, values]) =>
      key.startsWith(prefix) ? [[`filter.${key.slice(prefix.length)}`, values] as const] : [],
    ),
  )
  const matches = yield* readFilter(fromFilter, queryError)
  const types = new Set(yield* enums(query, "filter.transfer_types", new Map(Object.entries(movementTypes))))
  if (list(fromFilter, "filter.party_ids").length === 0) {
    const inner = "filter must have at least one party id or a transfer id"
    return yield* refuseRequest(nodeError("InvalidArgument", { code: 10_029, message: "invalid filter", inner }))
  }
  return (entry: Movement) => (types.size === 0 || types.has(entry.type)) && matches(entry.from)
})

/** Whole seconds; a range of more than five days is cut without an error. */
const readRange = Effect.fnUntraced(function* (query: Query) {
  const given = {
    start: yield* int64(query, "date_range.start_timestamp"),
    end: yield* int64(query, "date_range.end_timestamp"),
  }
  const now = BigInt(yield* Clock.currentTimeMillis) * 1_000_000n + second
  if (given.start === undefined) {
    const end = given.end ?? now
    return { start: wholeSeconds(end - rangeNanosMax), end: given.end === undefined ? end : wholeSeconds(end) }
  }
  const longest = given.start + rangeNanosMax
  const end = given.end === undefined || given.end > longest ? longest : given.end
  return { start: wholeSeconds(given.start), end: wholeSeconds(end) }
})

const wholeSeconds = (nanos: bigint): bigint => nanos - (nanos % second)
