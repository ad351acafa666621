import { Clock, Effect, Result } from "effect"
import { hasElapsed, parametersReadKey, parametersServedKey } from "../domain/Time.ts"
import { type GatewayError, ifSupported, warnOf } from "../gateway/GatewayError.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import type { Party } from "../rules/Account.ts"
import { makeTrouble } from "../store/alerts/makeTrouble.ts"
import { Database } from "../store/database/Database.ts"
import { Settings } from "../store/database/Settings.ts"
import type { StoreError } from "../store/database/StoreError.ts"
import { ChainState, type KnownEpoch } from "../store/network/ChainState.ts"
import { Listings } from "../store/network/Listings.ts"
import { logEvent } from "../telemetry/Logging.ts"

/** Governance changes parameters with days of notice. */
const parametersMillis = 60_000

/**
 * Gateways that say that they have no parameters, and did not before. They are believed once they say so again
 * after this time: a proxy says it of parameters that are there.
 */
const unserved = Effect.map(Settings, (settings) => makeTrouble(settings, "parametersUnserved", 15_000))

/**
 * Reads the network's parameters if the gateway has them: fees and minimums depend on them. Once it says for 15 s that
 * it has none, the configured fee counts, and earlier ones are removed: their source may have been wrong.
 */
export const pollParameters = Effect.fn("AssetPoller.parameters")(function* () {
  const { parameters } = yield* GatewayReader
  const listings = yield* Listings
  const settings = yield* Settings
  const database = yield* Database
  const now = yield* Clock.currentTimeMillis
  const last = Number((yield* settings.get(parametersReadKey)) ?? 0)
  if (!hasElapsed(last, now, parametersMillis)) return
  const values = yield* ifSupported(parameters)
  yield* database.write(
    Effect.gen(function* () {
      const isNews = values === undefined && (yield* settings.get(parametersServedKey)) !== "no"
      const trouble = yield* unserved
      if (isNews) {
        yield* trouble.note("the gateways say that they have no network parameters")
        // No time of reading is noted: the next call asks again.
        if ((yield* trouble.now)?.isTold !== true) return
      }
      yield* trouble.end
      if (values !== undefined || isNews) yield* listings.saveParameters(values ?? new Map())
      yield* settings.set(parametersServedKey, values === undefined ? "no" : "yes")
      // The answer may be the wrong one: the next call asks again.
      if (!isNews) yield* settings.set(parametersReadKey, String(now))
    }),
  )
})

/** The same, without failure: parameters that cannot be read stay as they were, with their age. */
export const readParameters = pollParameters().pipe(
  Effect.catchTag("GatewayError", (error) => logEvent("network parameters not read", { reason: error.message })),
)

/** Work and epochs change rarely, and payments read the head. A head that waits to be accepted is read each time. */
const readMillis = 60_000
const headKey = "headReadAt"
const epochKey = "epochReadAt"

export const payersOf = (parties: Iterable<Party>): ReadonlyArray<string> =>
  [...parties].filter(({ signer }) => signer !== undefined).map(({ publicKey }) => publicKey)

/**
 * Reads the network's requirements for transactions and the payers' use of its limits: once a minute, and at every call
 * while one is unknown or an epoch should be over. A value that cannot be read stays; one that the network no longer
 * reports is removed. `before` is read together with the epoch and before the required work: equal parameters let the
 * work be accepted at once.
 */
export const pollWorkAndEpoch = Effect.fnUntraced(function* <R = never>(
  payers: ReadonlyArray<string>,
  before: Effect.Effect<void, StoreError, R> = Effect.void,
) {
  const work = Effect.andThen(before, orWarn("proof-of-work parameters not read", pollHead))
  const epoch = orWarn("network epoch not read", pollEpoch(payers))
  yield* Effect.all([work, epoch], { concurrency: 2, discard: true })
})

const orWarn = <R>(what: Parameters<typeof warnOf>[0], poll: Effect.Effect<void, GatewayError | StoreError, R>) =>
  Effect.catchTag(poll, "GatewayError", (error) => warnOf(what, error))

const isDue = Effect.fnUntraced(function* (key: string) {
  const last = Number((yield* (yield* Settings).get(key)) ?? 0)
  return hasElapsed(last, yield* Clock.currentTimeMillis, readMillis)
})

/** Stores an answer and the time of its reading as one change. */
const keepRead = Effect.fnUntraced(function* <R>(key: string, kept: Effect.Effect<unknown, StoreError, R>) {
  const readAt = String(yield* Clock.currentTimeMillis)
  const noted = (yield* Settings).set(key, readAt)
  yield* (yield* Database).write(Effect.andThen(kept, noted))
})

const pollHead = Effect.gen(function* () {
  const state = yield* ChainState
  const isAsking = (yield* state.oddWork) !== undefined || (yield* state.isHeadStray)
  if (!isAsking && !(yield* isDue(headKey))) return
  const head = yield* (yield* GatewayReader).head
  yield* keepRead(headKey, state.seeHead(head))
})

const pollEpoch = Effect.fnUntraced(function* (payers: ReadonlyArray<string>) {
  const state = yield* ChainState
  const known = yield* state.epoch
  const now = yield* Clock.currentTimeMillis
  const isAsking = known !== undefined && now >= known.endsAtMillis
  if (!isAsking && !(yield* isDue(epochKey))) return
  const current = yield* ifSupported((yield* GatewayReader).epoch)
  if (current === undefined) {
    if (known === undefined) return yield* keepRead(epochKey, Effect.void)
    // The answer that took it back may be the wrong one: the next call asks again.
    return yield* state.forgetEpoch
  }
  const readAt = yield* Clock.currentTimeMillis
  const counts: Record<string, Count> = {}
  for (const payer of payers) {
    const count = yield* countOf(payer, known?.told[payer])
    if (count?.seq === current.seq) counts[payer] = count
  }
  yield* keepRead(epochKey, state.noteEpoch({ ...current, told: counts, readAt }))
})

type Count = KnownEpoch["told"][string]

/** The network's count for a key, undefined if it has none; the previous count if reading fails. */
const countOf = Effect.fnUntraced(function* (payer: string, before: Count | undefined) {
  const count = yield* Effect.result(ifSupported((yield* GatewayReader).epochCount(payer)))
  if (Result.isFailure(count)) {
    yield* logEvent("transfer count not read", { reason: count.failure.message })
    return before
  }
  return count.success && { ...count.success, readAt: yield* Clock.currentTimeMillis }
})
