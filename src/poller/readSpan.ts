import { Clock, Effect, type Ref } from "effect"
import type { BalanceChange } from "../domain/Balance.ts"
import type { GatewayError } from "../gateway/GatewayError.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { Gateways } from "../gateway/Gateways.ts"
import { RequestPriority } from "../gateway/RequestPriority.ts"
import { aligned, settledAt, type WindowAnswer } from "./askWindow.ts"
import { readPast } from "./Backfill.ts"
import { type BalancePollerOptions, partiesOf } from "./BalancePollerOptions.ts"
import { oldestSince, reachNanos } from "./historyBegins.ts"
import { makePace, type Pace } from "./Pace.ts"
import { readBaseTogether } from "./readBase.ts"

/** Which time is asked for, in Unix nanoseconds; undefined: all that the gateways hold, and up to now. */
interface AskedSpan {
  readonly from: bigint | undefined
  readonly until: bigint | undefined
  /** More rows are not read. */
  readonly rowsMax: number
}

/** What the gateways hold of a time, in Unix nanoseconds. */
export interface HeldSpan {
  readonly _tag: "Held"
  /** Every row from `from` up to, not including, `until`, in no order. */
  readonly rows: ReadonlyArray<BalanceChange>
  /** Balances that stood still all the time; only where it reaches up to now. */
  readonly openings: ReadonlyArray<BalanceChange>
  /** The first that they hold, where that is later than what was asked for. */
  readonly from: bigint
  readonly until: bigint
}

type ReadSpan =
  | HeldSpan
  /** They hold no row of that time, of whomever. */
  | { readonly _tag: "Nothing" }
  | { readonly _tag: "Unreadable"; readonly detail: string }

/** How far the reading is: rows so far, and up to which time. */
export type Tell = (rows: number, span: { from: bigint; until: bigint; next: bigint }) => Effect.Effect<void>

/** A network on which nobody moved for this long at first is taken for one that forgot, or had not begun. */
const silenceNanosMin = 3_600_000_000_000n
/** 2020-01-02: networks refuse to look for rows of 2019. */
const earliestNanos = 1_577_923_200_000_000_000n
/** Of several gateways one may be some blocks behind the one before. */
const waitsMax = 10
const waitMillis = 1_000

/** Reads balance changes of the parties from the gateways alone, window by window; nothing is stored. */
export const readSpan = Effect.fn("Past.read")(
  function* (
    options: BalancePollerOptions,
    asked: AskedSpan,
    tell: Tell,
  ): Effect.fn.Return<ReadSpan, GatewayError, GatewayReader | Gateways> {
    const parties = partiesOf(options)
    const now = yield* nowNanos
    const isUpToNow = asked.until === undefined || asked.until >= settledAt(now)
    // Balances as they are come first: an account that no row touches up to then had the same all the time.
    const base = isUpToNow ? yield* readBaseTogether(parties, now) : undefined
    const known = typeof base === "object" ? base : undefined
    const until = known?.until ?? (isUpToNow ? settledAt(now) : (asked.until ?? now))
    const reach = aligned(until - reachNanos)
    const least = reach > earliestNanos ? reach : earliestNanos
    const at = asked.from === undefined || asked.from < least ? least : aligned(asked.from)
    if (at >= until) return { _tag: "Nothing" }
    const oldest = yield* oldestSince(yield* GatewayReader, { parties, at, until })
    if (oldest === undefined) return { _tag: "Nothing" }
    const from = asked.from === at && oldest - at < silenceNanosMin ? at : aligned(oldest)
    const read = yield* readRows(options, { from, until, rowsMax: asked.rowsMax }, tell)
    if (typeof read === "string") return { _tag: "Unreadable", detail: read }
    const rows = read
    const touched = new Set(rows.map(keyOf))
    const openings = (known?.openings ?? []).filter((row) => !touched.has(keyOf(row)))
    return { _tag: "Held", rows, openings: openings.map((row) => ({ ...row, timestamp: from })), from, until }
  },
  Effect.provideService(RequestPriority, "backfill"),
)

const nowNanos = Effect.map(Clock.currentTimeMillis, (millis) => BigInt(millis) * 1_000_000n)

const keyOf = ({ party, asset, market, type }: BalanceChange): string => `${party}|${asset}|${market}|${type}`

/** All rows, or in words why not. */
const readRows = Effect.fnUntraced(function* (
  options: BalancePollerOptions,
  { from, until, rowsMax }: { readonly from: bigint; readonly until: bigint; readonly rowsMax: number },
  tell: Tell,
): Effect.fn.Return<ReadonlyArray<BalanceChange> | string, GatewayError, Gateways> {
  const { first } = yield* Gateways
  const pace: Ref.Ref<Pace> = makePace()
  const rows: Array<BalanceChange> = []
  let next = from
  for (let waits = 0; next < until; ) {
    const now = yield* nowNanos
    const job = { next, until }
    const answer = yield* first((gateway) => readPast(gateway, options, { job, now, pace }))
    if (answer._tag === "Nothing" && waits++ < waitsMax) yield* Effect.sleep(waitMillis)
    else if (answer._tag !== "Rows") return whyNot(answer)
    else {
      const end = answer.until < until ? answer.until : until
      for (const row of answer.rows) if (row.timestamp >= next && row.timestamp < end) rows.push(row)
      if (rows.length > rowsMax) return `more than ${rowsMax} balance changes: choose a shorter time`
      next = end
      waits = 0
      yield* tell(rows.length, { from, until, next })
    }
  }
  return rows
})

const whyNot = (answer: Exclude<WindowAnswer, { readonly _tag: "Rows" }>): string => {
  switch (answer._tag) {
    case "Ahead":
      return "the gateway is ahead of our clock"
    case "Unwindowed":
      return "the gateway does not read by time: set reads: cursor for it"
    case "Overflow":
      return `balance changes do not fit: ${answer.detail}`
    case "Nothing":
      return "the gateway is behind what it told before"
  }
}
