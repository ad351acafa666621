import { Clock, Effect } from "effect"
import { type Account, type Movement, movementTypes } from "../Ledger.ts"
import { formatTime } from "../Time.ts"
import { nodeError, ok, type Refusal, refuse } from "./Answer.ts"
import { readFilter } from "./Filter.ts"
import { cutPage, edgesOf, fetchCount, invalidPagination, readPaging, toCursor } from "./Paging.ts"
import { bool, enums, int64, list, type Query, scalar } from "./Query.ts"
import type { Route, World } from "./Route.ts"

const badAsset = { code: 260_001, message: "failed to get ledger entries", inner: "querying ledger entries: " }

const cursorOf = (movement: Movement): string => toCursor({ vega_time: formatTime(movement.time) })

const second = 1_000_000_000n
/** No answer covers more, whatever was asked for. */
const rangeNanosMax = 5n * 86_400n * second

/** The entries of the ledger: who paid whom, for what reason, and what both held then. */
export const ledgerEntries: Route = {
  operation: "ledgerEntries",
  method: "GET",
  path: "/api/v2/ledgerentry/history",
  specified: false,
  answer: (world, ask) =>
    Effect.gen(function* () {
      const isMeant = yield* readMeaning(world, ask.query)
      const { start, end } = yield* readRange(ask.query)
      const paging = yield* readPaging(ask.query, invalidPagination)
      if (paging.cursor !== undefined) {
        const inner = 'ERROR: column reference "vega_time" is ambiguous (SQLSTATE 42702)'
        return yield* refuse(nodeError("Internal", { ...badAsset, inner }))
      }
      const page = yield* world.node.read(({ ledger: { movements } }) => {
        const found: Array<Movement> = []
        const enough = fetchCount(paging)
        const downwards = paging.newestFirst === paging.forward
        for (let n = 0; n < movements.length && found.length < enough; n++) {
          const entry = movements[downwards ? movements.length - 1 - n : n]!
          if (entry.blockTime >= start && entry.blockTime < end && isMeant(entry)) found.push(entry)
        }
        return cutPage(found, paging, cursorOf)
      })
      return ok({ ledgerEntries: edgesOf(page, cursorOf, nodeOf) })
    }),
}

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

type Meant<A> = (value: A) => boolean

/** One party at least must be named, on one of both sides; or the transfer. */
const readMeaning = (world: World, query: Query): Effect.Effect<Meant<Movement>, Refusal> =>
  Effect.gen(function* () {
    const from = yield* readSide(world, query, "filter.from_account_filter")
    const to = yield* readSide(world, query, "filter.to_account_filter")
    const transferId = yield* scalar(query, "filter.transfer_id")
    const types = new Set(yield* enums(query, "filter.transfer_types", new Map(Object.entries(movementTypes))))
    const both = (yield* bool(query, "filter.close_on_account_filters")) ?? false
    if (from.parties + to.parties === 0 && transferId === undefined) {
      const inner = "filter must have at least one party id or a transfer id"
      return yield* refuse(nodeError("InvalidArgument", { code: 10_029, message: "invalid filter", inner }))
    }
    const sides: Meant<Movement> = (entry) => {
      const sender = from.given && from.isMeant(entry.from)
      const receiver = to.given && to.isMeant(entry.to)
      if (!from.given && !to.given) return true
      return both ? (sender || !from.given) && (receiver || !to.given) : sender || receiver
    }
    return (entry) =>
      (types.size === 0 || types.has(entry.type)) &&
      (transferId === undefined || entry.transferId === transferId) &&
      sides(entry)
  })

const readSide = (world: World, query: Query, name: string) =>
  Effect.gen(function* () {
    const own = new Map(
      [...query].flatMap(([key, values]) =>
        key.startsWith(`${name}.`) ? [[`filter.${key.slice(name.length + 1)}`, values] as const] : [],
      ),
    )
    const isMeant: Meant<Account> = yield* readFilter(own, world.profile, badAsset)
    return { isMeant, given: own.size > 0, parties: list(own, "filter.party_ids").length }
  })

/** Whole seconds, five days at most: too long a range is cut without a word. */
const readRange = (query: Query) =>
  Effect.gen(function* () {
    const given = {
      start: yield* int64(query, "date_range.start_timestamp"),
      end: yield* int64(query, "date_range.end_timestamp"),
    }
    const now = BigInt(yield* Clock.currentTimeMillis) * 1_000_000n + second
    if (given.start === undefined) {
      const end = given.end ?? now
      return { start: whole(end - rangeNanosMax), end: given.end === undefined ? end : whole(end) }
    }
    const longest = given.start + rangeNanosMax
    const end = given.end === undefined || given.end > longest ? longest : given.end
    return { start: whole(given.start), end: whole(end) }
  })

const whole = (nanos: bigint): bigint => nanos - (nanos % second)
