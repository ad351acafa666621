import { Effect } from "effect"
import { accountKeyText, type BalanceChange } from "../domain/Balance.ts"
import { isoOf } from "../domain/Time.ts"
import { ifSupported } from "../gateway/GatewayError.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { Gateways } from "../gateway/Gateways.ts"
import type { AccountFilter } from "../gateway/readRows.ts"
import { pageSize, reachNanos, walkPages } from "../gateway/walkPages.ts"
import { raise } from "../store/alerts/raise.ts"
import { logEvent } from "../telemetry/Logging.ts"
import {
  aligned,
  blockNanos,
  finalAt,
  isAhead,
  isWatched,
  newestOf,
  type Reader,
  type WindowAnswer,
} from "./askWindow.ts"

/** Balances now, and the time from which history adds to them. */
export interface Base {
  /** Each with a time just below the block begun. */
  readonly openings: ReadonlyArray<BalanceChange>
  readonly until: bigint
  /** 0 where it is not known. */
  readonly height: bigint
}

type Read = Base | "unsupported" | "unusable"

const textOf = (base: Read): string =>
  typeof base === "string"
    ? base
    : base.openings
        .map((row) => `${row.party} ${row.asset} ${row.market} ${row.type} ${row.balance}`)
        .sort()
        .join("\n")

/**
 * Balances to begin with, as a quorum of the gateways shows them alike, from the earliest block of those that do; where
 * one is enough, as the best one does. "apart" where no quorum shows the same: a payment may be between them.
 */
export const readBaseTogether = Effect.fnUntraced(function* (parties: ReadonlyArray<string>, now: bigint) {
  const gateways = yield* Gateways
  if (gateways.quorum === 1) return yield* readBase(yield* GatewayReader, parties, now)
  const answers = yield* gateways.several((reader) => readBase(reader, parties, now))
  const bases: ReadonlyArray<Read> = answers.map(({ value }) => value)
  const agreed = bases.find((one) => bases.filter((other) => textOf(other) === textOf(one)).length >= gateways.quorum)
  if (agreed === undefined) return "apart" as const
  if (typeof agreed === "string") return agreed
  const same = bases.filter((one): one is Base => typeof one !== "string" && textOf(one) === textOf(agreed))
  return same.reduce((earliest, one) => (one.until < earliest.until ? one : earliest))
})

/**
 * Reads balances now, since history alone has no opening balances. "unsupported" where the gateway has no such
 * operation; "unusable" where rows cannot be added to its answer.
 */
const readBase = Effect.fnUntraced(function* (reader: Reader, parties: ReadonlyArray<string>, now: bigint) {
  const pages = walkPages((after) => reader.accounts({ partyIds: parties, first: pageSize, after }))
  const walk = yield* ifSupported(pages)
  if (walk === undefined) return "unsupported" as const
  const { mark } = walk
  if (!walk.complete) {
    yield* logEvent("account listing without end", { rows: walk.rows.length })
    return "unusable" as const
  }
  const newest = newestOf(walk, now)
  if (isAhead(newest, now)) {
    yield* logAhead(newest, now)
    return "unusable" as const
  }
  const until = finalAt(walk, now)
  const openings = walk.rows.map((row) => ({ ...row, timestamp: until - blockNanos })).filter(isWatched(parties))
  return { openings, until, height: mark === undefined ? 0n : mark.height - 1n } satisfies Base
})

const logAhead = (mark: { readonly height: bigint; readonly timestamp: bigint }, now: bigint) => {
  const seconds = Number((mark.timestamp - now) / 1_000_000_000n)
  return logEvent("gateway ahead of our clock", {
    block: mark.height === 0n ? undefined : String(mark.height),
    seconds,
  })
}

interface HistoryQuery {
  /** Parties to query where the gateway lists nothing for all parties. */
  readonly parties: ReadonlyArray<string>
  readonly at: bigint
}

/**
 * True if the gateway still has rows from before a time, or its answer is inconclusive. Networks delete whole days, the
 * oldest first, and answer a deleted range as if it had no rows: a row from before proves that nothing after it is
 * missing; an empty answer for all parties, given twice, means that something may be.
 */
export const reachesBehind = Effect.fnUntraced(function* (reader: Reader, { parties, at }: HistoryQuery) {
  const from = at > reachNanos ? at - reachNanos : 0n
  for (let asked = 0; asked < 2; asked++) {
    const { rows, mark } = yield* ask(reader, parties, { startTimestamp: from, endTimestamp: at, newestFirst: true })
    // Any row proves it; a row outside of the range comes from a gateway that ignores times.
    if (rows.length > 0) return true
    // A gateway that lags proves nothing about the rows of others.
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

/** Balances of the parties now; of a lone gateway that lists none, by their newest rows. `isByRows`: it is so. */
export const readBaseOrRows = Effect.fnUntraced(function* (parties: ReadonlyArray<string>, now: bigint) {
  const listed = yield* readBaseTogether(parties, now)
  if (listed !== "unsupported" || (yield* Gateways).quorum > 1) return { base: listed, isByRows: false }
  const found = yield* Effect.forEach(parties, (party) => readNewest(party, now))
  const bases = found.filter((one) => one !== undefined)
  if (bases.length < parties.length) return { base: "unusable" as const, isByRows: true }
  const until = bases.reduce((first, one) => (one.until < first ? one.until : first), now)
  return { base: { openings: bases.flatMap(({ openings }) => openings), until, height: 0n }, isByRows: true }
})

/**
 * The newest row of a year of each of the party's accounts: if a gateway lists no balances, no more can be known.
 * Undefined if the rows come to no end.
 */
export const readNewest = Effect.fnUntraced(function* (party: string, now: bigint) {
  const reader = yield* GatewayReader
  const query = { partyIds: [party], first: pageSize, startTimestamp: aligned(now - reachNanos) }
  const walk = yield* walkPages((after) => reader.balanceChanges({ ...query, after }))
  if (!walk.complete || isAhead(newestOf(walk, now), now)) return undefined
  const until = finalAt(walk, now)
  const newest = new Map<string, BalanceChange>()
  for (const row of walk.rows.filter(isWatched([party]))) {
    const name = accountKeyText(row)
    const known = newest.get(name)
    if (row.timestamp < until && (known === undefined || known.timestamp < row.timestamp)) newest.set(name, row)
  }
  return { openings: [...newest.values()], until, height: 0n } satisfies Base
})

/** Says why a window gave no rows; silent where nothing is wrong. Rows are stored up to the block time `known`. */
export const explainAnswer = (
  answer: Exclude<WindowAnswer, { readonly _tag: "Rows" }>,
  { known, now }: { readonly known: bigint; readonly now: bigint },
) => {
  switch (answer._tag) {
    case "Ahead":
      return logAhead(answer.mark, now)
    case "Unwindowed":
      return logEvent("gateway cannot filter by time", { remedy: "name another gateway: this one ignores dateRange" })
    case "Overflow":
      return alertOnOverflow(answer)
    case "Nothing":
      return answer.mark === undefined || answer.mark.timestamp >= known
        ? Effect.void
        : logEvent("gateway went backwards", { block: String(answer.mark.height) })
  }
}

/** No row is read until a person acts, so there is one alert. */
const alertOnOverflow = Effect.fnUntraced(function* (answer: WindowAnswer & { readonly _tag: "Overflow" }) {
  const at = isoOf(answer.at)
  yield* logEvent("balance rows do not fit", { since: at, detail: answer.detail })
  yield* raise("balances_overflow", { nanos: String(answer.at), at, detail: answer.detail })
})
