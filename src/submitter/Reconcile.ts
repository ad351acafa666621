import { Clock, Effect } from "effect"
import { hasElapsed } from "../domain/hasElapsed.ts"
import { Confirmation, type TransferListing } from "../gateway/Confirmation.ts"
import type { GatewayError } from "../gateway/GatewayError.ts"
import { ChainRules } from "../store/ChainRules.ts"
import { Clearance } from "../store/Clearance.ts"
import { Findings } from "../store/Findings.ts"
import { Observations } from "../store/Observations.ts"
import { Settings } from "../store/Settings.ts"
import { Signals } from "../store/Signals.ts"
import type { StoreError } from "../store/StoreError.ts"
import { TrustedHead } from "../store/TrustedHead.ts"
import { holdOn } from "../store/trip.ts"
import { Cycle } from "../telemetry/Cycle.ts"
import { countHistory } from "./countHistory.ts"
import { handOver } from "./handOver.ts"
import { isOurChain } from "./isOurChain.ts"
import { Looks } from "./Looks.ts"
import { newestRow } from "./newestRow.ts"
import { noteListing } from "./noteListing.ts"
import { payingInForce, SubmitterOptions } from "./SubmitterOptions.ts"
import { Tip } from "./Tip.ts"
import { watchDebits } from "./watchDebits.ts"
import { watchOrders } from "./watchOrders.ts"
import { watchWindows } from "./watchWindows.ts"

/** While something is not checked yet, or a window is watched. */
const waitMillisMax = 1_000
const watchMillisMax = 2_000
const waitMillisUnanswered = 2_000
/** Blocks beyond the network's window for which a recovered store signs nothing. */
const quarantineBlocks = 10n

/**
 * Setting that keeps a recovered store from signing: "pending", or the last block of its quarantine and the epoch of
 * the node in which that was counted; "" ends it.
 */
export const quarantineKey = "quarantine"

/**
 * Compares each paying key's history on the ledger with the journal, and halts on what must not be there. Returns
 * whether the gateway answered all that was asked of it.
 */
export const reconcileOnce = Effect.fn("Reconcile.round")(function* () {
  const { mode, parties } = yield* SubmitterOptions
  // What a rule on trial would do is decided on the same knowledge.
  if (mode !== "live") return yield* isAnswered(watchOrders())
  yield* holdOn()
  yield* handOver()
  let answered = yield* isAnswered(keepQuarantine())
  for (const { publicKey, signer } of parties.values()) {
    if (signer !== undefined && !(yield* isAnswered(look(publicKey)))) answered = false
  }
  if (!(yield* isAnswered(watchWindows()))) answered = false
  if (!(yield* isAnswered(watchOrders()))) answered = false
  // Last, since what is found until here explains debits.
  const accounts = yield* (yield* Observations).accounts
  for (const { publicKey, signer } of parties.values()) {
    if (signer !== undefined && !(yield* isAnswered(watchDebits(publicKey, accounts)))) answered = false
  }
  return answered
})

/** A gateway that does not answer one question is asked the others all the same. */
const isAnswered = <A, R>(part: Effect.Effect<A, GatewayError | StoreError, R>) =>
  part.pipe(
    Effect.as(true),
    Effect.catchTag("GatewayError", (error) =>
      Effect.as(
        Effect.logWarning("the ledger could not be compared with the journal", { reason: error.message }),
        false,
      ),
    ),
  )

/** So long the blocks of a quarantine must be seen to have passed: one answer of a gateway ends none. */
const passedMillis = 30_000
const passedName = "quarantine passed"

const isPassed = Effect.fnUntraced(function* (isNow: boolean) {
  const looks = yield* Looks
  const now = yield* Clock.currentTimeMillis
  if (isNow) return now - (yield* looks.since(passedName, now)) >= passedMillis
  yield* looks.forget("", passedName)
  return false
})

const epochOf = (chainId: string) =>
  Effect.flatMap(TrustedHead, ({ of }) => Effect.map(of(chainId), ({ trusted }) => trusted?.epoch ?? 0))

/** The last block of a quarantine and the node's epoch in which it was counted; undefined while it is pending. */
const countedOf = (stored: string): { readonly until: bigint; readonly epoch: number } | undefined => {
  const [until, epoch = "0"] = stored.split(" ")
  return stored === "pending" ? undefined : { until: BigInt(until ?? 0), epoch: Number(epoch) }
}

/** What a lost store had under way either executes or dies within a window: until then nothing new is signed. */
const keepQuarantine = Effect.fn("Reconcile.quarantine")(function* () {
  const settings = yield* Settings
  const clearance = yield* Clearance
  if (yield* clearance.isOpen) return undefined
  const stored = (yield* settings.get(quarantineKey)) ?? ""
  if (stored === "") return yield* clearance.quarantine(undefined)
  yield* clearance.quarantine("the store was recovered, and what was under way is not over yet")
  const head = yield* (yield* Tip).head
  if (!(yield* isOurChain(head))) return undefined
  const rules = yield* ChainRules
  const epoch = yield* epochOf(head.chainId)
  const counted = countedOf(stored)
  const latest = head.height + BigInt(yield* rules.windowMax) + quarantineBlocks
  // In another epoch of the node, the blocks that were counted to were a lie, or were undone.
  const isCounted = counted !== undefined && counted.epoch === epoch && counted.until <= latest
  const unsettled = isCounted ? undefined : yield* rules.unsettled(head.height, head.pow)
  if (unsettled !== undefined) return yield* clearance.quarantine(`the store was recovered, and ${unsettled}`)
  const until = isCounted ? counted.until : head.height + BigInt(head.pow.pastBlocks) + quarantineBlocks
  if (!isCounted) yield* settings.set(quarantineKey, `${until} ${epoch}`)
  if (yield* isPassed(head.height > until)) {
    yield* settings.set(quarantineKey, "")
    return yield* clearance.quarantine(undefined)
  }
  return yield* clearance.quarantine(`the store was recovered, and signs again after block ${until}`)
})

/**
 * One look at what the ledger lists of a key since the last: at once where its balance moved, else at leisure. The
 * first complete one that reaches the block at which this process began clears the key for signing.
 */
const look = Effect.fn("Reconcile.look")(function* (party: string) {
  const looks = yield* Looks
  const clearance = yield* Clearance
  const { pollIdleMillis } = yield* SubmitterOptions
  const now = yield* Clock.currentTimeMillis
  const last = yield* looks.last(party)
  const isGranted = yield* clearance.isGranted(party)
  const isDue =
    last === undefined || hasElapsed(last.at, now, pollIdleMillis) || (yield* newestRow(party)) >= last.until
  if (isGranted && !isDue) return
  const start = isGranted ? 0n : yield* startHeight()
  if (start === undefined) return
  const listing = yield* list(party)
  const until = listing?.mark?.timestamp ?? BigInt(now) * 1_000_000n
  yield* looks.note(party, { at: now, until })
  if (listing === undefined) return
  yield* noteListing(party, { ...listing, cursor: yield* reached(party, listing) })
  if (isGranted || !listing.complete || (listing.mark?.height ?? start) < start) return
  yield* countHistory(party, true)
  yield* clearance.grant(party)
  yield* (yield* Signals).wake("submitter")
})

/** Rows read again at most, lest one that a page left out be passed over. */
const againMax = 500

/** From where the next reading goes on: rows count as read only when two readings of them ended at the same one. */
const reached = Effect.fnUntraced(function* (party: string, { transfers, cursor }: TransferListing) {
  if (cursor === undefined) return undefined
  const isSame = yield* (yield* Looks).endsAgain(party, cursor)
  return isSame || transfers.length > againMax ? cursor : undefined
})

/** The newest block when this process began to look; undefined while the gateway is on another chain. */
const startHeight = Effect.fnUntraced(function* () {
  const head = yield* (yield* Tip).head
  return (yield* isOurChain(head)) ? yield* (yield* Looks).startHeight(head.height) : undefined
})

/**
 * What is listed behind the last reading. Where a gateway never listed anything there is nothing to compare, and the
 * key is cleared without; one that did and no longer does leaves it as it is.
 */
const list = Effect.fnUntraced(function* (party: string) {
  const confirmation = yield* Confirmation
  const after = yield* (yield* Findings).cursor(party)
  return yield* confirmation.transfersFrom(party, { after }).pipe(
    // A gateway that does not know the cursor of another is read from the beginning.
    Effect.catchReason("GatewayError", "Rejected", (_, error) =>
      after === undefined ? Effect.fail(error) : confirmation.transfersFrom(party),
    ),
    Effect.catchReason("GatewayError", "Unsupported", () =>
      Effect.gen(function* () {
        if (after !== undefined) return undefined
        yield* countHistory(party, false)
        yield* (yield* Clearance).grant(party)
        return undefined
      }),
    ),
  )
})

/** The loop that looks for what must not be on the ledger. It cannot send. */
export const reconcileLoop = Effect.gen(function* () {
  const cycle = yield* Cycle
  const signals = yield* Signals
  const answered = yield* cycle.counted("reconcile", reconcileOnce())
  if (!answered) yield* Effect.sleep(waitMillisUnanswered)
  yield* signals.wait("reconcile", yield* waitMillis)
}).pipe(payingInForce, Effect.forever)

/** The balances wake the loop when a balance moved; the rest comes by time. */
const waitMillis = Effect.gen(function* () {
  const clearance = yield* Clearance
  const { parties, pollIdleMillis } = yield* SubmitterOptions
  for (const { publicKey, signer } of parties.values()) {
    if (signer !== undefined && (yield* clearance.lacking(publicKey)) !== undefined) return waitMillisMax
  }
  if (yield* (yield* Looks).isDoubtful) return waitMillisMax
  const watched = yield* (yield* Findings).watched
  return watched.length > 0 ? Math.min(watchMillisMax, pollIdleMillis) : pollIdleMillis
})
