import { Clock, Effect } from "effect"
import { formatAmount } from "../domain/Amount.ts"
import type { BalanceChange, BlockMark } from "../domain/Balance.ts"
import type { GatewayError } from "../gateway/GatewayError.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import type { Page } from "../gateway/schema/Paging.ts"
import { walkPages } from "../gateway/walkPages.ts"
import type { Party, PinnedAsset } from "../rules/Rule.ts"
import { Observations, type Watermark } from "../store/Observations.ts"
import { Outbox } from "../store/Outbox.ts"
import { RuleStates } from "../store/RuleStates.ts"
import { Settings } from "../store/Settings.ts"
import { Signals } from "../store/Signals.ts"
import { Cycle } from "../telemetry/Cycle.ts"
import { say } from "../telemetry/say.ts"

export interface BalancePollerOptions {
  readonly parties: ReadonlyMap<string, Party>
  readonly assets: ReadonlyMap<string, PinnedAsset>
  readonly pollBusyMillis: number
  readonly pollIdleMillis: number
  /** How long rows are kept. */
  readonly keepMillis: number
}

/** Rows asked for at once; the network's own default, and at most 5,000. */
const pageRows = 1_000
/** Halvings of one window before the poller says that a single block holds more rows than a page. */
const halvingsMax = 60
/** Without block headers nothing says what is final: rows are taken this late, and windows overlap by as much again. */
const settleNanos = 5_000_000_000n
/** How far a first reading goes back where the gateway tells no balances; ranges may not exceed 365 days. */
const backfillNanos = 364n * 86_400_000_000_000n
const microsecond = 1_000n
/** How far a block may be ahead of our clock. */
const aheadNanosMax = 30_000_000_000n

const pruneMillis = 3_600_000

/** What one window gave: rows strictly below `until`, complete. */
interface Window {
  readonly rows: ReadonlyArray<BalanceChange>
  readonly until: bigint
  readonly height: bigint
  /** Whether later rows wait already. */
  readonly more: boolean
}

/**
 * Reads balance changes by time windows without cursors: [watermark, block begun), halved while a page overflows. Rows
 * and the new watermark become durable together, so a crash reads a window again and stores nothing twice. Returns
 * whether there is more to read at once.
 */
export const pollBalances = Effect.fn("BalancePoller.poll")(function* (options: BalancePollerOptions) {
  const observations = yield* Observations
  const signals = yield* Signals
  if (options.parties.size === 0) return false
  const watermark = yield* observations.watermark
  const window = watermark === undefined ? yield* baseline(options) : yield* nextWindow(options, watermark)
  if (window === undefined) return false
  const { changes } = yield* observations.advance(window.rows, { timestamp: window.until, height: window.height })
  for (const { before, row } of changes) yield* tell(options, before, row, window.height)
  yield* signals.wake("engine")
  if (changes.length > 0) yield* signals.wake("reconcile")
  return window.more
})

/** The loop: a poll at once, then one each second while money moves or is about to, else at leisure. */
export const balanceLoop = (options: BalancePollerOptions) =>
  Effect.gen(function* () {
    const cycle = yield* Cycle
    const signals = yield* Signals
    yield* prune(options)
    const more = yield* cycle
      .counted("balances", pollBalances(options))
      .pipe(
        Effect.catchTag("GatewayError", (error) =>
          Effect.as(Effect.logWarning("balances could not be read", { reason: error.message }), false),
        ),
      )
    if (more) return
    yield* signals.wait("balances", (yield* isBusy) ? options.pollBusyMillis : options.pollIdleMillis)
  }).pipe(Effect.forever)

/** Once an hour, by the store's own clock, so that a restart storm does not repeat it. */
const prune = Effect.fnUntraced(function* (options: BalancePollerOptions) {
  const settings = yield* Settings
  const now = yield* Clock.currentTimeMillis
  if (now - Number((yield* settings.get("prunedAt")) ?? 0) < pruneMillis) return
  yield* (yield* Observations).prune(BigInt(now - options.keepMillis) * 1_000_000n)
  yield* settings.set("prunedAt", String(now))
})

const isBusy = Effect.gen(function* () {
  if ((yield* (yield* Outbox).open).length > 0) return true
  return (yield* (yield* RuleStates).all).some((memory) => memory.state === "pending")
})

const filterOf = (options: BalancePollerOptions) => ({
  partyIds: [...options.parties.values()].map((p) => p.publicKey),
})

/**
 * The first reading: balances now, as rows just below the block begun, since history alone has no opening balances.
 * Where a gateway has no such operation, a year of history takes its place.
 */
const baseline = Effect.fnUntraced(function* (options: BalancePollerOptions) {
  const reader = yield* GatewayReader
  const walk = yield* walkPages((after) =>
    reader.accounts({ ...filterOf(options), first: pageRows, ...(after === undefined ? {} : { after }) }),
  ).pipe(Effect.catchReason("GatewayError", "Unsupported", () => Effect.undefined))
  const now = BigInt(yield* Clock.currentTimeMillis) * 1_000_000n
  if (walk === undefined) {
    return yield* nextWindow(options, { timestamp: now - backfillNanos, height: 0n, updatedAt: 0 })
  }
  const { mark } = walk
  if (!walk.complete) {
    yield* Effect.logWarning("the listing of accounts does not end", { rows: walk.rows.length })
    return undefined
  }
  if (mark !== undefined && (yield* isFromTheFuture(mark))) return undefined
  const until = mark?.timestamp ?? now - settleNanos
  return {
    rows: watched(
      options,
      walk.rows.map((row) => ({ ...row, timestamp: until - microsecond })),
    ),
    until,
    height: mark === undefined ? 0n : mark.height - 1n,
    more: false,
  }
})

/**
 * Whether a block is further ahead of our clock than clocks differ. Were it believed, every later block would seem to
 * come from the past, and balances would stand still for ever.
 */
const isFromTheFuture = Effect.fnUntraced(function* (mark: BlockMark) {
  const ahead = mark.timestamp - BigInt(yield* Clock.currentTimeMillis) * 1_000_000n
  if (ahead <= aheadNanosMax) return false
  const seconds = String(ahead / 1_000_000_000n)
  yield* Effect.logWarning("the gateway is ahead of our clock", { height: String(mark.height), seconds })
  return true
})

/** The rows from the watermark to the newest final block; undefined where the gateway has nothing newer. */
const nextWindow = Effect.fnUntraced(function* (options: BalancePollerOptions, watermark: Watermark) {
  const first = yield* read(options, watermark.timestamp, undefined)
  if (first.mark === undefined) return yield* windowWithoutMarks(options, watermark)
  if (yield* isFromTheFuture(first.mark)) return undefined
  if (first.mark.timestamp <= watermark.timestamp) {
    if (first.mark.timestamp < watermark.timestamp) {
      yield* Effect.logWarning("the gateway went backwards", { height: String(first.mark.height) })
    }
    return undefined
  }
  if (!first.pageInfo.hasNextPage) return final(options, first, first.mark)
  return yield* halve(options, watermark.timestamp, first.mark)
})

/** Halves the window until its rows fit a page. The answer's own mark proves that the window was complete. */
const halve = Effect.fnUntraced(function* (options: BalancePollerOptions, start: bigint, head: BlockMark) {
  let end = head.timestamp
  for (let i = 0; i < halvingsMax && end - start > microsecond; i++) {
    end = start + ((end - start) / 2n / microsecond) * microsecond
    if (end <= start) end = start + microsecond
    const page = yield* read(options, start, end)
    if (page.pageInfo.hasNextPage) continue
    if (page.mark === undefined || page.mark.timestamp < end) return undefined
    return final(options, page, { timestamp: end, height: 1n }, true)
  }
  yield* Effect.logError("one block holds more rows than a page", { start: String(start), rows: pageRows })
  return undefined
})

/**
 * Without marks windows overlap, so that rows which came late are not missed. A window that overflows is read in parts,
 * until one reaches beyond the watermark: what lies wholly in the overlap brings nothing forward.
 */
const windowWithoutMarks = Effect.fnUntraced(function* (options: BalancePollerOptions, watermark: Watermark) {
  const now = BigInt(yield* Clock.currentTimeMillis) * 1_000_000n
  const until = ((now - settleNanos) / microsecond) * microsecond
  if (until <= watermark.timestamp) return undefined
  const rows: Array<Page<BalanceChange>["rows"][number]> = []
  let start = watermark.timestamp - settleNanos
  let end = until
  for (let i = 0; i < halvingsMax; i++) {
    const page = yield* read(options, start, end)
    if (page.pageInfo.hasNextPage) {
      if (end - start <= microsecond) break
      end = start + ((end - start) / 2n / microsecond) * microsecond
      if (end <= start) end = start + microsecond
      continue
    }
    rows.push(...page.rows)
    if (end > watermark.timestamp) return final(options, { ...page, rows }, { timestamp: end, height: 1n }, end < until)
    const size = end - start
    start = end
    end = start + 2n * size < until ? start + 2n * size : until
  }
  yield* Effect.logError("one moment holds more rows than a page", { start: String(start), rows: pageRows })
  return undefined
})

const read = Effect.fnUntraced(function* (
  options: BalancePollerOptions,
  startTimestamp: bigint,
  endTimestamp: bigint | undefined,
): Effect.fn.Return<Page<BalanceChange>, GatewayError, GatewayReader> {
  const reader = yield* GatewayReader
  return yield* reader.balanceChanges({
    ...filterOf(options),
    first: pageRows,
    newestFirst: false,
    startTimestamp,
    ...(endTimestamp === undefined ? {} : { endTimestamp }),
  })
})

/** Rows at the mark itself may still be missing some of their block: they come with the next window. */
const final = (options: BalancePollerOptions, page: Page<BalanceChange>, mark: BlockMark, more = false): Window => ({
  rows: watched(
    options,
    page.rows.map(({ node }) => node).filter((row) => row.timestamp < mark.timestamp),
  ),
  until: mark.timestamp,
  height: mark.height - 1n,
  more,
})

/** A gateway that ignores a filter returns everybody's rows; only those asked for are kept. */
const watched = (options: BalancePollerOptions, rows: ReadonlyArray<BalanceChange>): ReadonlyArray<BalanceChange> => {
  const keys = new Set<string>([...options.parties.values()].map((p) => p.publicKey))
  return rows.filter((row) => keys.has(row.party))
}

const tell = (options: BalancePollerOptions, before: bigint | undefined, row: BalanceChange, height: bigint) => {
  const party = [...options.parties.values()].find((p) => p.publicKey === row.party)
  const asset = [...options.assets.values()].find((a) => a.id === row.asset)
  if (party === undefined || asset === undefined || before === undefined || row.type !== "ACCOUNT_TYPE_GENERAL") {
    return Effect.void
  }
  const say0 = (units: bigint) => formatAmount(units, asset.decimals)
  const step = row.balance - before
  const block = height > 0n ? `block ${height}`.padEnd(10) : ""
  const change = `${step > 0n ? "+" : ""}${say0(step)}`
  return say("balance", {
    subject: party.name,
    detail: `${block} ${say0(row.balance)} ${asset.symbol}   ${change}`.trimStart(),
    asset: asset.symbol,
    balance: say0(row.balance),
  })
}
