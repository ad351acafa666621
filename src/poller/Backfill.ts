import { Clock, Effect, Ref } from "effect"
import { ConfigInForce } from "../config/ConfigInForce.ts"
import { accountKeyText, type BalanceChange } from "../domain/Balance.ts"
import { isoOf, millisOf, nanosOf } from "../domain/Time.ts"
import type { GatewayError } from "../gateway/GatewayError.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { type Gateway, Gateways } from "../gateway/Gateways.ts"
import { RequestPriority } from "../gateway/Limiter.ts"
import { reachNanos } from "../gateway/walkPages.ts"
import type { Backfill } from "../store/balances/backfills.ts"
import { Observations } from "../store/balances/Observations.ts"
import { Database } from "../store/database/Database.ts"
import { Signals } from "../store/database/Signals.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { Metrics } from "../telemetry/Metrics.ts"
import {
  aligned,
  defaultPageRows,
  makePace,
  nextSpan,
  partiesOf,
  type Reader,
  type ReadingPace,
  settledAt,
  type WatchedTreasury,
  type WindowAnswer,
} from "./askWindow.ts"
import { idleMillisMin, keptNanosMin, recordLoss } from "./bridgeGap.ts"
import { explainAnswer, oldestSince, reachesBehind, readBaseTogether } from "./readBase.ts"
import { readWindow } from "./readWindow.ts"

/** Pause between two windows of the past, in which the poller reads the present. */
const pauseMillis = 100
const retryMillis = 10_000
const idleMillis = 3_600_000
/** A network on which nobody moved for this long at first is taken for one that forgot, or had not begun. */
const silenceNanosMin = 3_600_000_000_000n

/** Interval between reports of progress. */
const logMillis = 10_000

/**
 * Reads one window of the requested past, from the oldest time on. Rows and how far they reach become durable together.
 * Returns true if there is more to read at once.
 */
export const backfillOnce = Effect.fn("Backfill.once")(
  function* (treasury: WatchedTreasury, pace: Ref.Ref<ReadingPace> = makePace()) {
    const observations = yield* Observations
    const job = (yield* observations.backfills)[0]
    if (job === undefined || treasury.parties.size === 0) return false
    const reader = yield* GatewayReader
    const now = nanosOf(yield* Clock.currentTimeMillis)
    if (yield* skipForgotten(reader, treasury, job, now)) return true
    const { first } = yield* Gateways
    const answer = yield* first((gateway) => readPast(gateway, treasury, { job, now, pace }))
    if (answer._tag !== "Rows") {
      yield* explainAnswer(answer, { known: job.next, now })
      return false
    }
    const next = answer.until < job.until ? answer.until : job.until
    const rows = answer.rows.filter((row) => row.timestamp >= job.next && row.timestamp < next)
    yield* observations.advanceBackfill(job, rows, next)
    yield* logProgress(job, next, pace)
    return next < job.until || (yield* observations.backfills).length > 0
  },
  Effect.provideService(RequestPriority, "backfill"),
)

/** One window of the past, from `job.next` on; the pace learns from it. */
const readPast = Effect.fnUntraced(function* (
  reader: Gateway,
  treasury: WatchedTreasury,
  {
    job,
    now,
    pace,
  }: { readonly job: Pick<Backfill, "next" | "until">; readonly now: bigint; readonly pace: Ref.Ref<ReadingPace> },
): Effect.fn.Return<WindowAnswer, GatewayError> {
  const query = { parties: partiesOf(treasury), pageRows: treasury.pageRows ?? defaultPageRows, now, from: job.next }
  const { span } = yield* Ref.get(pace)
  const end = job.next + span < job.until ? job.next + span : job.until
  const answer = yield* readWindow(reader, { ...query, end })
  if (answer._tag === "Rows") {
    yield* Ref.update(pace, (known) => ({ ...known, span: nextSpan(span, answer, query) }))
  }
  return answer
})

/**
 * Skips time for which the gateway has no rows of any party. At the beginning that is deleted history, or time before
 * the first block; later it is what was deleted while we did not read.
 */
const skipForgotten = Effect.fnUntraced(function* (
  reader: Reader,
  treasury: WatchedTreasury,
  job: Backfill,
  now: bigint,
) {
  const isFirst = job.next === job.since
  const isLate = millisOf(now) - job.updatedAt > idleMillisMin && now - job.next > keptNanosMin
  if (!isFirst && !isLate) return false
  const query = { parties: partiesOf(treasury), at: job.next }
  if (!isFirst && (yield* reachesBehind(reader, query))) return false
  const oldest = (yield* oldestSince(reader, { ...query, until: job.until })) ?? job.until
  if (oldest - job.next < silenceNanosMin) return false
  const observations = yield* Observations
  const [from, to] = [job.next, oldest].map(isoOf)
  const cause = "the gateway has no data of that time: it deleted them, or the network did not exist yet"
  yield* (yield* Database).write(
    Effect.gen(function* () {
      yield* isFirst ? observations.noteGap({ since: job.next, until: oldest, cause }) : recordLoss(job.next, oldest)
      yield* observations.advanceBackfill(job, [], oldest)
    }),
  )
  if (isFirst) yield* logEvent("balance history lost", { since: from!, until: to!, reason: cause })
  return true
})

const logProgress = Effect.fnUntraced(function* ({ since, until }: Backfill, next: bigint, pace: Ref.Ref<ReadingPace>) {
  const now = yield* Clock.currentTimeMillis
  const isDone = next >= until
  if (!isDone && now - (yield* Ref.get(pace)).loggedAt < logMillis) return
  yield* Ref.update(pace, (known) => ({ ...known, loggedAt: now }))
  const [from, to] = [since, next].map(isoOf)
  const percent = Number(((next - since) * 100n) / (until - since))
  yield* logEvent("balance history read", { percent, since: from!, until: to! })
})

/** The loop: while something of the past is asked for, window by window with a pause; else it sleeps. */
export const backfillLoop = Effect.suspend(() => {
  const pace = makePace()
  return Effect.gen(function* () {
    const treasury = (yield* ConfigInForce).now().treasury
    const { counted } = yield* Metrics
    const signals = yield* Signals
    const more = yield* counted("backfill", backfillOnce(treasury, pace)).pipe(
      Effect.catchTag("GatewayError", (error) =>
        Effect.as(logEvent("balance history not read", { reason: error.message }), false),
      ),
    )
    if (more) return yield* Effect.sleep(pauseMillis)
    const waits = (yield* (yield* Observations).backfills).length > 0
    yield* signals.wait("backfill", waits ? retryMillis : idleMillis)
  }).pipe(Effect.forever)
})

/** Requested range, in Unix nanoseconds; undefined: all that the gateways have, up to now. */
interface RequestedSpan {
  readonly from: bigint | undefined
  readonly until: bigint | undefined
  /** More rows are not read. */
  readonly rowsMax: number
}

/** Past rows that the gateways still have. Times are Unix nanoseconds. */
export interface HeldSpan {
  readonly _tag: "Held"
  /** Every row from `from` up to, not including, `until`, in no order. */
  readonly rows: ReadonlyArray<BalanceChange>
  /** Balances that stood still all the time; only where it reaches up to now. */
  readonly openings: ReadonlyArray<BalanceChange>
  /** The first row's time that they still have, if later than the start requested. */
  readonly from: bigint
  readonly until: bigint
}

type ReadSpan =
  | HeldSpan
  /** They hold no row of that time, of whomever. */
  | { readonly _tag: "Nothing" }
  | { readonly _tag: "Unreadable"; readonly detail: string }

/** How far the reading is: rows so far, and up to which time. */
export type ReportProgress = (rows: number, span: { from: bigint; until: bigint; next: bigint }) => Effect.Effect<void>

/** 2020-01-02: networks refuse to look for rows of 2019. */
const earliestNanos = 1_577_923_200_000_000_000n
/** Longest wait for a gateway that is some blocks behind the one asked before it. */
const waitsMax = 10
const waitMillis = 1_000

/** Reads balance changes of the parties from the gateways alone, window by window; nothing is stored. */
export const readSpan = Effect.fn("Past.read")(
  function* (
    treasury: WatchedTreasury,
    asked: RequestedSpan,
    report: ReportProgress,
  ): Effect.fn.Return<ReadSpan, GatewayError, GatewayReader | Gateways> {
    const parties = partiesOf(treasury)
    const now = nanosOf(yield* Clock.currentTimeMillis)
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
    const read = yield* readRows(treasury, { from, until, rowsMax: asked.rowsMax }, report)
    if (typeof read === "string") return { _tag: "Unreadable", detail: read }
    const touched = new Set(read.map(accountKeyText))
    const openings = (known?.openings ?? []).filter((row) => !touched.has(accountKeyText(row)))
    return { _tag: "Held", rows: read, openings: openings.map((row) => ({ ...row, timestamp: from })), from, until }
  },
  Effect.provideService(RequestPriority, "backfill"),
)

/** All rows, or in words why not. */
const readRows = Effect.fnUntraced(function* (
  treasury: WatchedTreasury,
  { from, until, rowsMax }: { readonly from: bigint; readonly until: bigint; readonly rowsMax: number },
  report: ReportProgress,
): Effect.fn.Return<ReadonlyArray<BalanceChange> | string, GatewayError, Gateways> {
  const { first } = yield* Gateways
  const pace: Ref.Ref<ReadingPace> = makePace()
  const rows: Array<BalanceChange> = []
  let next = from
  for (let waits = 0; next < until; ) {
    const now = nanosOf(yield* Clock.currentTimeMillis)
    const job = { next, until }
    const answer = yield* first((gateway) => readPast(gateway, treasury, { job, now, pace }))
    if (answer._tag === "Nothing" && waits++ < waitsMax) yield* Effect.sleep(waitMillis)
    else if (answer._tag !== "Rows") return whyNot(answer)
    else {
      const end = answer.until < until ? answer.until : until
      for (const row of answer.rows) if (row.timestamp >= next && row.timestamp < end) rows.push(row)
      if (rows.length > rowsMax) return `more than ${rowsMax} balance changes: choose a shorter time`
      next = end
      waits = 0
      yield* report(rows.length, { from, until, next })
    }
  }
  return rows
})

const whyNot = (answer: Exclude<WindowAnswer, { readonly _tag: "Rows" }>): string => {
  switch (answer._tag) {
    case "Ahead":
      return "the gateway is ahead of our clock"
    case "Unwindowed":
      return "the gateway does not read by time"
    case "Overflow":
      return `balance changes do not fit: ${answer.detail}`
    case "Nothing":
      return "the gateway is behind its earlier answers"
  }
}
