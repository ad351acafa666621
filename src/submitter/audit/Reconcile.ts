import { Clock, Effect } from "effect"
import { byOneConfig, CycleConfig } from "../../config/ConfigInForce.ts"
import { hasElapsed } from "../../domain/Time.ts"
import { type GatewayError, ifSupported, warnOf } from "../../gateway/GatewayError.ts"
import { GatewayReader } from "../../gateway/GatewayReader.ts"
import type { TransferListing } from "../../gateway/readTransfers.ts"
import { Observations } from "../../store/balances/Observations.ts"
import { Database } from "../../store/database/Database.ts"
import { Settings } from "../../store/database/Settings.ts"
import { Signals } from "../../store/database/Signals.ts"
import type { StoreError } from "../../store/database/StoreError.ts"
import { Clearance } from "../../store/payments/Clearance.ts"
import { LedgerAudit } from "../../store/payments/LedgerAudit.ts"
import { Metrics } from "../../telemetry/Metrics.ts"
import { AuditMemory } from "../AuditMemory.ts"
import { ChainHeadCache, haltOnWrongChain } from "../ChainHeadCache.ts"
import { beginQuarantine, clockGapNow, keepQuarantine } from "./quarantine.ts"
import { countHistory, isCounted, recordListing } from "./recordListing.ts"
import { handOver, settleListed } from "./settleListed.ts"
import { watchDebits } from "./watchDebits.ts"
import { newestRow, watchWindows } from "./watchWindows.ts"

/** Longest pause between rounds while a key is not cleared, and while a window is watched. */
const waitMillisMax = 1_000
const watchMillisMax = 2_000
const waitMillisUnanswered = 2_000

/**
 * Compares each paying key's transfers on the ledger with the journal, and halts on a transfer that the journal does
 * not know. Returns true if the gateway answered all requests.
 */
export const reconcileOnce = Effect.fn("Reconcile.round")(function* () {
  const { treasury, mode } = yield* CycleConfig
  if (mode !== "live") return true
  yield* handOver()
  let answered = yield* isAnswered(keepQuarantine())
  for (const { publicKey, signer } of treasury.parties.values()) {
    if (signer !== undefined && !(yield* isAnswered(auditTransfers(publicKey)))) answered = false
  }
  if (!(yield* isAnswered(settleListed()))) answered = false
  if (!(yield* isAnswered(watchWindows()))) answered = false
  // Last: transfers found above explain debits.
  const accounts = yield* (yield* Observations).accounts
  for (const { publicKey, signer } of treasury.parties.values()) {
    if (signer !== undefined && !(yield* isAnswered(watchDebits(publicKey, accounts)))) answered = false
  }
  return answered
})

/** False if a gateway failed: the other parts still run. */
const isAnswered = <A, R>(part: Effect.Effect<A, GatewayError | StoreError, R>) =>
  part.pipe(
    Effect.as(true),
    Effect.catchTag("GatewayError", (error) => Effect.as(warnOf("ledger not compared", error), false)),
  )

/** Readings of a key whose balances stand still are as many times rarer, once one listed nothing. */
const restFactor = 5

/**
 * Reads the transfers that the ledger lists of a key since the last reading: at once if its balance moved, after
 * `poll.idle` if that reading listed any, else after five times as long. The first complete listing that reaches the
 * block at which this process began, or at which a quarantine ended, clears the key for signing, once its withdrawals
 * are complete too.
 */
const auditTransfers = Effect.fn("Reconcile.transfers")(function* (party: string) {
  const memory = yield* AuditMemory
  const { pollIdleMillis } = (yield* CycleConfig).treasury.network
  const now = yield* Clock.currentTimeMillis
  const last = yield* memory.lastReading(party)
  const isGranted = yield* (yield* Clearance).isGranted(party)
  const newest = yield* newestRow(party)
  const isDue =
    last === undefined ||
    newest >= last.until ||
    hasElapsed(last.at, now, last.isEmpty ? restFactor * pollIdleMillis : pollIdleMillis)
  if (isGranted && !isDue) return
  const start = isGranted ? 0n : yield* startHeight()
  if (start === undefined) return
  // As it is before the listing: one of a gateway that is behind lacks what was paid since.
  const gap = isGranted ? undefined : yield* clockGapNow
  const { explain, grant } = yield* Clearance
  const listing = yield* Effect.tapErrorTag(list(party), "GatewayError", () => explain(party, unreadWords))
  if (listing === "silent") return yield* explain(party, silentWords)
  const isEmpty = listing === undefined || listing.transfers.length === 0
  yield* memory.noteReading(party, { at: now, until: listing?.mark?.timestamp ?? newest + 1n, isEmpty })
  if (listing !== undefined) yield* recordListing(party, { ...listing, cursor: yield* cursorSeenTwice(party, listing) })
  if (isGranted) {
    if (listing !== undefined) yield* grant(party, true)
  } else if (gap === undefined) yield* clearIfListed(party, start, listing)
  else yield* explain(party, gap.detail)
})

/** Clears the key if its payments are listed up to the block, or if no gateway lists any and the quarantine is over. */
const clearIfListed = Effect.fn("Reconcile.clear")(function* (party: string, start: bigint, listing: Listing) {
  const clearance = yield* Clearance
  const isWhole = (one: Listing) => one === undefined || (one.reached !== undefined && one.reached >= start)
  const explainPart = (what: string) =>
    clearance.explain(party, `its ${what} are not listed completely up to block ${start}`)
  if (!isWhole(listing)) return yield* explainPart("transfers")
  if (!(yield* clearance.isOpen)) return
  const withdrawals = yield* ifSupported((yield* GatewayReader).withdrawalsFrom(party)).pipe(
    Effect.tapErrorTag("GatewayError", () => clearance.explain(party, unreadWords)),
  )
  if (withdrawals !== undefined) yield* recordListing(party, { ...withdrawals, cursor: undefined })
  if (!isWhole(withdrawals)) return yield* explainPart("withdrawals")
  if ((listing === undefined || withdrawals === undefined) && (yield* beginFirstWait(party))) return
  yield* countHistory(party, listing !== undefined, withdrawals)
  yield* clearance.grant(party, listing !== undefined)
  yield* (yield* Signals).wake("submitter")
})

/**
 * Begins a quarantine for a key that is new in this database and not completely listed: another database may have used
 * it. Each key waits once, together with all keys of that time. Returns true if it began one.
 */
const beginFirstWait = Effect.fnUntraced(function* (party: string) {
  const settings = yield* Settings
  const { parties } = (yield* CycleConfig).treasury
  const waited = (key: string) => `waited/${key}`
  if ((yield* isCounted(party)) || (yield* settings.get(waited(party))) !== undefined) return false
  const keys = [...parties.values()].flatMap(({ publicKey, signer }) => (signer === undefined ? [] : [publicKey]))
  const note = Effect.forEach(keys, (key) => settings.set(waited(key), "once"), { discard: true })
  yield* (yield* Database).write(Effect.andThen(note, beginQuarantine()))
  return true
})

/** Upper bound of the rows that are read again in case a page left one out. */
const againMax = 500

/** Cursor of the next reading: rows count as read only after two readings that ended at the same row. */
const cursorSeenTwice = Effect.fnUntraced(function* (party: string, { transfers, cursor }: TransferListing) {
  if (cursor === undefined) return undefined
  const isSame = yield* (yield* AuditMemory).noteCursor(party, cursor)
  return isSame || transfers.length > againMax ? cursor : undefined
})

/** The newest block when this process began to read listings; undefined while the gateway is on another chain. */
const startHeight = Effect.fnUntraced(function* () {
  const head = yield* (yield* ChainHeadCache).head
  return (yield* haltOnWrongChain(head)) ? undefined : yield* (yield* AuditMemory).startHeight(head.height)
})

const unreadWords = "its payments could not be read"
const silentWords = "no gateway lists transfers any more, as one did before"

/** Undefined: no gateway lists transfers. */
type Listing = TransferListing | undefined

/**
 * Reads the listing after the last reading. "silent": a gateway that listed transfers before no longer does, which
 * leaves the key as it is.
 */
const list = Effect.fnUntraced(function* (party: string) {
  const reader = yield* GatewayReader
  const cursor = yield* (yield* LedgerAudit).cursor(party)
  const after = cursor === "" ? undefined : cursor
  return yield* reader.transfersFrom(party, after).pipe(
    // A gateway that does not know another gateway's cursor is read from the beginning.
    Effect.catchReason("GatewayError", "Rejected", (_, error) =>
      after === undefined ? Effect.fail(error) : reader.transfersFrom(party),
    ),
    Effect.catchReason("GatewayError", "Unsupported", () =>
      Effect.succeed(cursor === undefined ? undefined : ("silent" as const)),
    ),
  )
})

/** The loop that searches the ledger for transfers that the journal does not know. It cannot send. */
export const reconcileLoop = Effect.gen(function* () {
  const { counted } = yield* Metrics
  const signals = yield* Signals
  const answered = yield* counted("reconcile", reconcileOnce())
  if (!answered) yield* Effect.sleep(waitMillisUnanswered)
  yield* signals.wait("reconcile", yield* waitMillis)
}).pipe(byOneConfig, Effect.forever)

/** Time until the next round if no balance moves. */
const waitMillis = Effect.gen(function* () {
  const clearance = yield* Clearance
  const { parties, network } = (yield* CycleConfig).treasury
  const { pollIdleMillis } = network
  for (const { publicKey, signer } of parties.values()) {
    if (signer !== undefined && (yield* clearance.lacking(publicKey)) !== undefined) return waitMillisMax
  }
  const watched = yield* (yield* LedgerAudit).watched
  return watched.length > 0 ? Math.min(watchMillisMax, pollIdleMillis) : pollIdleMillis
})
