import { Clock, Context, Effect, Layer, Semaphore } from "effect"
import { ConfigInForce } from "../config/ConfigInForce.ts"
import { accountKeyText } from "../domain/Balance.ts"
import { millisOf } from "../domain/Time.ts"
import type { GatewayError } from "../gateway/GatewayError.ts"
import { Gateways } from "../gateway/Gateways.ts"
import { uncompared } from "../store/alerts/makeTrouble.ts"
import { Drifts } from "../store/balances/Drifts.ts"
import { Observations } from "../store/balances/Observations.ts"
import { Signals } from "../store/database/Signals.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { Metrics } from "../telemetry/Metrics.ts"
import { partiesOf, type WatchedTreasury } from "./askWindow.ts"
import {
  type AccountListing,
  type Comparison,
  compareNow,
  endComparison,
  giveUp,
  judgeCompared,
  listAccounts,
  moreMillis,
  newComparison,
  nextToCompare,
  nothingCompared,
  retryMillis,
  skip,
} from "./Comparison.ts"

/** A listing whose block the rows do not reach in this time is read again. */
const patienceMillis = 30_000

/**
 * Compares our rows with the balances that the gateway itself lists: after each start, each time after the rows had
 * fallen behind, and on a schedule. A difference seen twice is a mismatch, and ends after two agreements.
 */
export class Reconciliation extends Context.Service<Reconciliation>()("cofferer/poller/Reconciliation", {
  make: Effect.gen(function* () {
    const lock = yield* Semaphore.make(1)
    const memory = newComparison()
    return {
      /** Begins a comparison now, whenever the next one were due. Returns how many were brought to an end before. */
      request: Effect.sync(() => {
        memory.dueAt = 0
        memory.isBehind = false
        return memory.count
      }),
      count: Effect.sync(() => memory.count),
      run: <A, E, R>(use: (memory: Comparison) => Effect.Effect<A, E, R>) =>
        lock.withPermits(1)(Effect.suspend(() => use(memory))),
    }
  }),
}) {
  static readonly layer = Layer.effect(Reconciliation, Reconciliation.make)
}

/** One step, which waits for nothing but answers. Several of them make a comparison, with newer rows between them. */
export const reconcileBalances = Effect.fn("Reconciliation.step")(function* (treasury: WatchedTreasury) {
  const reconciliation = yield* Reconciliation
  yield* reconciliation.run((memory) =>
    step(treasury, memory).pipe(
      Effect.tapError((error) =>
        error._tag === "GatewayError"
          ? Effect.flatMap(Clock.currentTimeMillis, (now) => skip(memory, now, error.message))
          : Effect.void,
      ),
    ),
  )
})

const step = Effect.fnUntraced(function* (treasury: WatchedTreasury, memory: Comparison) {
  const observations = yield* Observations
  const now = yield* Clock.currentTimeMillis
  const watermark = yield* observations.watermark
  if (treasury.parties.size === 0) return
  if (watermark === undefined) return yield* (yield* uncompared).note("no balance was read yet")
  if (memory.listing === undefined) {
    const isBehind = now - millisOf(watermark.timestamp) > treasury.network.maxAgeMillis
    if (memory.isBehind && !isBehind) memory.dueAt = now
    memory.isBehind = isBehind
    if (now < memory.dueAt) return
    // A late one waits for the rows; on a chain that makes no blocks it is compared too, at the slow pace.
    yield* list(treasury, memory, { now, until: watermark.timestamp })
  }
  const { listing } = memory
  if (listing === undefined) return
  if (watermark.timestamp < listing.since) {
    yield* (yield* Signals).wake("balances")
    if (now - listing.at > patienceMillis) yield* giveUp(memory, now)
    return
  }
  yield* compare(treasury, memory, { listing, until: watermark.timestamp, now })
})

const list = Effect.fnUntraced(function* (
  treasury: WatchedTreasury,
  memory: Comparison,
  { now, until }: { readonly now: number; readonly until: bigint },
) {
  const { all } = yield* Gateways
  const gateway = yield* nextToCompare(memory.compared)
  if (gateway === undefined) {
    memory.compared = nothingCompared()
    memory.dueAt = now + retryMillis
    const reason = "too few gateways reported them"
    yield* (yield* uncompared).note(reason)
    return yield* logEvent("balances not compared", { reason })
  }
  const listed = yield* listAccounts(gateway, partiesOf(treasury))
  if (listed._tag === "Listed") memory.listing = { ...listed.listing, at: now }
  // A gateway that is named alone and tells no balances leaves nothing to compare.
  else if (listed._tag === "Unsupported" && all.length === 1) {
    const rebased = (yield* (yield* Drifts).all).filter(({ stored, reported }) => stored === reported)
    const agreeing = new Set(rebased.map(accountKeyText))
    yield* endComparison(treasury, memory, { differing: [], agreeing, listed: until, until })
  } else {
    const reason = listed._tag === "Unsupported" ? "the gateway reports no balances" : listed.detail
    yield* skip(memory, now, reason)
    yield* logEvent("balances not compared", { gateway: gateway.name, reason })
  }
})

const compare = Effect.fnUntraced(function* (
  treasury: WatchedTreasury,
  memory: Comparison,
  at: { readonly listing: AccountListing & { readonly at: number }; readonly until: bigint; readonly now: number },
) {
  const { listing, until, now } = at
  const seen = yield* compareNow(treasury, listing)
  if (seen === undefined) return yield* giveUp(memory, now)
  // Blocks up to the listing's end may be in the listing already, and are not in the rows yet.
  if (seen.differing.length > 0 && until < listing.end) {
    if (now - listing.at > patienceMillis) yield* giveUp(memory, now)
    return
  }
  const { before } = memory
  memory.listing = undefined
  if (seen.differing.length > 0 && before === undefined) {
    memory.before = new Set(seen.differing.map(accountKeyText))
    memory.dueAt = now
    return
  }
  const lasting = seen.differing.filter((difference) => before?.has(accountKeyText(difference)) === true)
  const judged = yield* judgeCompared(memory.compared, lasting.length > 0)
  if (judged === "more") {
    memory.before = undefined
    memory.dueAt = now + moreMillis
    return
  }
  const differing = judged === "agreed" ? [] : lasting
  yield* endComparison(treasury, memory, { differing, agreeing: seen.agreeing, listed: listing.since, until })
})

/** A step is quick: most find nothing to do. */
const stepMillis = 1_000
const hurriedMillis = 250

export const reconciliationLoop = Effect.gen(function* () {
  const { treasury } = (yield* ConfigInForce).now()
  const { counted } = yield* Metrics
  const reconciliation = yield* Reconciliation
  yield* counted("accounts", reconcileBalances(treasury)).pipe(
    Effect.catchTag("GatewayError", (error: GatewayError) =>
      logEvent("balances not compared", { reason: error.message }),
    ),
  )
  const isUnderWay = yield* reconciliation.run((memory) => Effect.sync(() => memory.listing !== undefined))
  yield* Effect.sleep(isUnderWay || !(yield* (yield* Drifts).isChecked) ? hurriedMillis : stepMillis)
}).pipe(Effect.forever)
