import { type Effect, Ref } from "effect"
import type { Treasury } from "../config/Treasury.ts"
import type { BalanceChange, BlockMark } from "../domain/Balance.ts"
import type { GatewayError } from "../gateway/GatewayError.ts"
import type { GatewayReader } from "../gateway/GatewayReader.ts"
import type { AccountFilter } from "../gateway/readRows.ts"
import type { Page } from "../gateway/schema/Numbers.ts"

/** One gateway. It is an argument, so that windows of several can be read side by side and compared. */
export type Reader = GatewayReader["Service"]

/** Parts of a treasury by which its balances are read and compared. */
export interface WatchedTreasury extends Pick<Treasury, "parties" | "assets" | "rules" | "keepMillis"> {
  readonly network: Pick<Treasury["network"], "pollBusyMillis" | "pollIdleMillis" | "maxAgeMillis" | "reconcileMillis">
  /** Rows per request, 1 to 5,000. Default 1,000, the network's own. */
  readonly pageRows?: number
}

export const defaultPageRows = 1_000

export const partiesOf = ({ parties }: Pick<WatchedTreasury, "parties">): ReadonlyArray<string> =>
  [...parties.values()].map(({ publicKey }) => publicKey)

/** Which rows are read. Times are Unix nanoseconds, multiples of 1,000. */
export interface WindowQuery {
  /** Public keys; empty: all parties. */
  readonly parties: ReadonlyArray<string>
  /** Inclusive. */
  readonly from: bigint
  /** Exclusive, at most 365 days after `from`; undefined: up to the newest row. */
  readonly end: bigint | undefined
  /** Rows per request, 1 to 5,000. A gateway may give fewer. */
  readonly pageRows: number
  /** Our clock. Without block headers rows are taken as final some seconds behind it. */
  readonly now: bigint
}

/** Result of reading a window. */
export type WindowAnswer =
  | {
      /** Every row from `from` up to, not including, `until`. */
      readonly _tag: "Rows"
      readonly rows: ReadonlyArray<BalanceChange>
      /** Rows at `until` or later: early signs of balances that count later, since their block may be incomplete. */
      readonly unsettled: ReadonlyArray<BalanceChange>
      readonly until: bigint
      /** Height of the newest block below `until`; 0 where it is not known. */
      readonly height: bigint
      /** True if later rows are final already. */
      readonly more: boolean
      /** How the window was cut because its rows did not fit a page. */
      readonly cut: "no" | "narrowed" | "block"
      readonly mark: BlockMark | undefined
    }
  /** No row from `from` on is final yet. A mark before `from`: the gateway lags behind others, or went backwards. */
  | {
      readonly _tag: "Nothing"
      readonly mark: BlockMark | undefined
      /** As in `Rows`. */
      readonly unsettled: ReadonlyArray<BalanceChange>
    }
  /** The gateway names a block that is too far ahead of our clock, by `isAhead`. */
  | { readonly _tag: "Ahead"; readonly mark: BlockMark }
  /** The gateway gave rows from outside the window: it ignores times. */
  | { readonly _tag: "Unwindowed" }
  /** The rows of one time cannot be read completely, however small the pages are. */
  | { readonly _tag: "Overflow"; readonly at: bigint; readonly detail: string }

/** Block times are in microseconds: the shortest window that contains one block. */
export const blockNanos = 1_000n

/** The last microsecond that is not after a time. */
export const aligned = (nanos: bigint): bigint => (nanos / blockNanos) * blockNanos

/** Delay of rows in nanoseconds where no block header shows that they are final. */
const settleNanos = 5_000_000_000n

/** Below this time rows do not change any more, where the gateway names no block. */
export const settledAt = (now: bigint): bigint => aligned(now - settleNanos)

/** A Date header has whole seconds: the gateway's own time is up to this much later. */
const secondNanos = 1_000_000_000n

/** When a gateway answered. */
interface AnswerTime {
  readonly mark: BlockMark | undefined
  /** Its own time, Unix nanoseconds; undefined where it names none. */
  readonly date?: bigint | undefined
}

/** The newest block that an answer shows; without blocks the gateway's own time stands for its time. */
export const newestOf = ({ mark, date }: AnswerTime, now: bigint): BlockMark =>
  mark ?? { height: 0n, timestamp: date ?? now }

/** No row of an answer is of this time or later. Without blocks, by the gateway's own time. */
export const endOf = ({ mark, date }: AnswerTime, now: bigint): bigint =>
  mark === undefined ? (date === undefined ? now : date + secondNanos) : mark.timestamp + blockNanos

/**
 * An answer has every row before this time. Without blocks the earlier of two clocks counts, ours or the gateway's:
 * with one alone, nothing would show that it is wrong.
 */
export const finalAt = (answer: AnswerTime, now: bigint): bigint => {
  if (answer.mark !== undefined) return answer.mark.timestamp
  const end = endOf(answer, now)
  return settledAt(end < now ? end : now)
}

/** How far a block may be ahead of our clock. After one from further ahead, every true block would seem to be past. */
const aheadNanosMax = 30_000_000_000n
export const isAhead = (newest: BlockMark, now: bigint): boolean => newest.timestamp > now + aheadNanosMax

/** One page of a window: oldest first, no cursor. */
export const askWindow = (
  reader: Reader,
  filter: AccountFilter,
  window: { readonly from: bigint; readonly end: bigint | undefined; readonly rows: number },
): Effect.Effect<Page<BalanceChange>, GatewayError> =>
  reader.balanceChanges({
    ...filter,
    first: window.rows,
    newestFirst: false,
    startTimestamp: window.from,
    endTimestamp: window.end,
  })

/** True for requested rows: a gateway that ignores a filter returns everybody's. */
export const isWatched = (parties: ReadonlyArray<string>): ((row: BalanceChange) => boolean) => {
  const keys = new Set(parties)
  return (row) => keys.size === 0 || keys.has(row.party)
}

/** Facts learnt about a gateway and its rows while reading, in memory only. */
export interface ReadingPace {
  /** How long the next window may be, in nanoseconds. */
  readonly span: bigint
  /** Number of further sparse answers read in large pages: after a block that did not fit others will come. */
  readonly largeFor: number
  /** True if larger pages may be requested: a gateway that refused one gets no more of them. */
  readonly mayGrow: boolean
  /** True if the gateway names blocks. */
  readonly hasMarks: boolean
  /** Rows of the newest answer that are not final yet. */
  readonly unsettled: ReadonlyArray<BalanceChange>
  /** Unix milliseconds of the last report of progress. */
  readonly loggedAt: number
}

/** Networks accept windows of 365 days, but search a whole window for one answer: shorter ones are answered sooner. */
const spanMax = 30n * 86_400_000_000_000n
const spanMin = 1_000_000n

export const makePace = (): Ref.Ref<ReadingPace> =>
  Ref.makeUnsafe<ReadingPace>({ span: spanMax, largeFor: 0, mayGrow: true, hasMarks: true, unsettled: [], loggedAt: 0 })

/** The largest page that networks give. */
export const pageRowsMax = 5_000

/** Sparse answers after which pages are of the usual size again. */
const largeForMax = 32

/** A block that does not fit a usual page begins large pages; enough sparse answers in a row end them. */
export const nextLargeFor = (
  { largeFor, mayGrow }: ReadingPace,
  answer: WindowAnswer & { readonly _tag: "Rows" },
  usual: number,
): number => {
  const isLarge = answer.cut === "block" || (largeFor > 0 && answer.rows.length > usual)
  if (isLarge) return mayGrow && usual < pageRowsMax ? largeForMax : 0
  return Math.max(0, largeFor - 1)
}

/**
 * The next window's length: a cut one shows how many rows there are in how much time, a sparse one lets it grow again.
 * A block that had to be read in parts says nothing about its neighbours.
 */
export const nextSpan = (
  span: bigint,
  answer: WindowAnswer & { readonly _tag: "Rows" },
  asked: { readonly from: bigint; readonly pageRows: number },
): bigint => {
  const length = answer.until - asked.from
  if (answer.cut === "block") return span
  if (answer.cut === "narrowed") return within((length * 3n) / 4n)
  const share = answer.rows.length / asked.pageRows
  return within(share > 0.5 ? span : share > 0.1 ? span * 2n : span * 8n)
}

const within = (span: bigint): bigint => (span < spanMin ? spanMin : span > spanMax ? spanMax : span)

/** Facts learnt about each gateway, by name. */
export type Paces = Map<string, Ref.Ref<ReadingPace>>

export const paceOf = (paces: Paces, name: string): Ref.Ref<ReadingPace> => {
  const pace = paces.get(name) ?? makePace()
  paces.set(name, pace)
  return pace
}
