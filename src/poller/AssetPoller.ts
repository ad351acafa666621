import { Clock, Effect } from "effect"
import { ConfigInForce } from "../config/ConfigInForce.ts"
import { type Asset, statusText } from "../domain/Asset.ts"
import type { BlockMark } from "../domain/Balance.ts"
import { assetsReadKey, hasElapsed, instantText, millisOf } from "../domain/Time.ts"
import { plural } from "../domain/text.ts"
import { agreedAssets } from "../gateway/agreedListing.ts"
import { escapeText, type GatewayError } from "../gateway/GatewayError.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { Gateways } from "../gateway/Gateways.ts"
import { Health } from "../gateway/Health.ts"
import { type Walk, walkAssets } from "../gateway/walkPages.ts"
import type { PinnedAsset } from "../rules/Account.ts"
import { pinAuthor as author, contradiction, pinRemedy, pinScope } from "../rules/checks/stops.ts"
import { makeTrouble, unlisted } from "../store/alerts/makeTrouble.ts"
import { raise, raiseOver } from "../store/alerts/raise.ts"
import { Controls } from "../store/controls/Controls.ts"
import { Database } from "../store/database/Database.ts"
import { Settings } from "../store/database/Settings.ts"
import { Signals } from "../store/database/Signals.ts"
import { type AssetEvent, fieldsOf, Listings } from "../store/network/Listings.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { Metrics } from "../telemetry/Metrics.ts"
import { payersOf, pollWorkAndEpoch, readParameters } from "./pollNetwork.ts"
import { watchChain } from "./watchChain.ts"

/**
 * Compares the listing with the pins. If it contradicts one, nothing of that asset is signed or sent from this
 * transaction on, and people are paged. That ends when the listing agrees again, or by a person's `resume` of
 * "pin:SYMBOL"; the same contradiction then does not stop it again, but rules on the asset still hold. Call it inside
 * the transaction that stores a listing.
 */
const watchPins = Effect.fnUntraced(function* (pins: ReadonlyArray<PinnedAsset>) {
  const listed = new Map((yield* (yield* Listings).assets).map((asset) => [asset.id, asset]))
  const settings = yield* Settings
  yield* forgetUnpinned(pins)
  for (const pin of pins) {
    const known = (yield* settings.get(keyOf(pin))) ?? ""
    const found = contradiction(pin, listed.get(pin.id)) ?? ""
    if (found === known) continue
    yield* settings.set(keyOf(pin), found)
    if (found === "") yield* endPause(pin)
    else yield* pauseAndAlert(pin, { reason: found, remedy: pinRemedy(pin, listed.get(pin.id)) })
  }
})

/** Ends pauses of assets that are pinned no more, and forgets their contradictions: pinned again, they stop again. */
const forgetUnpinned = Effect.fnUntraced(function* (pins: ReadonlyArray<PinnedAsset>) {
  const controls = yield* Controls
  const settings = yield* Settings
  const keys = new Set(pins.map(keyOf))
  for (const key of (yield* settings.all).keys()) {
    if (key.startsWith(keyPrefix) && !keys.has(key)) yield* settings.forget(key)
  }
  const kept = new Set(pins.flatMap(({ symbol, id }) => [pinScope(symbol), pinScope(id)]))
  const others = (yield* controls.pauses).filter(
    (pause) => pause.kept.startsWith(pinScope("")) && !kept.has(pause.kept),
  )
  for (const { kept: scope } of others) yield* controls.resume({ scope, reason: "it is pinned no more", author })
})

const keyPrefix = "pin/"
/** Setting: how the listing contradicted the pin last; "" where it agreed. */
const keyOf = ({ symbol, id }: PinnedAsset): string => `${keyPrefix}${symbol}/${id}`

const pauseAndAlert = Effect.fnUntraced(function* (
  pin: PinnedAsset,
  { reason, remedy }: { readonly reason: string; readonly remedy: string },
) {
  const controls = yield* Controls
  const scope = pinScope(pin.symbol)
  // The contradiction before this one is over, and its words are no longer true.
  const before = (yield* controls.pauses).filter((pause) => pause.scope === scope)
  if (before.some((pause) => pause.author === author)) yield* controls.resume({ scope, reason, author })
  yield* controls.pause({ scope, reason, author, until: undefined })
  const facts = { asset: pin.id, symbol: pin.symbol, scope, at: yield* Clock.currentTimeMillis, reason, remedy }
  yield* raise("asset_pin", facts)
  const detail = `${reason}: no payment of ${pin.symbol} is signed or sent; ${remedy}`
  yield* logEvent("asset pin mismatch", { asset: pin.symbol, detail })
})

const endPause = Effect.fnUntraced(function* (pin: PinnedAsset) {
  const reason = `the listing of ${pin.symbol} agrees with its pin again`
  const ended = yield* (yield* Controls).resume({ scope: pinScope(pin.symbol), reason, author })
  if (ended === 0) return
  yield* logEvent("asset pin agrees", { asset: pin.symbol, detail: reason })
})

/** A listing's block may be ahead of our clock by this. If a later one counted, all correct ones would seem old. */
const aheadMillisMax = 30_000

/**
 * Reads the whole asset listing by pages, oldest id first, and stores it with all that happened since the last,
 * each change once. Cursors of assets are exact. A listing that does not end, contradicts itself, comes back empty
 * after one that was not, or is older than the last one, changes nothing. `pins` are held against it.
 */
export const pollAssets = Effect.fn("AssetPoller.poll")(function* (pins: ReadonlyArray<PinnedAsset> = []) {
  const listings = yield* Listings
  const signals = yield* Signals
  const database = yield* Database
  const known = (yield* listings.assets).length
  const walk = yield* walkTogether.pipe(Effect.tapError((error) => (known > 0 ? noteUnseen(error) : noteUnread(error))))
  const why = doubtOf(walk, known) ?? (yield* doubtOfTime(walk?.mark))
  const assets = walk && onceEach(walk.rows)
  if (walk === undefined || assets === undefined || why !== undefined)
    return yield* refuse(why ?? "it contradicts itself")
  const rows = walk.rows.length
  const events = yield* database.write(
    Effect.gen(function* () {
      yield* endDoubt
      const found = yield* listings.replace(assets)
      const isSame = found.length === 0 && known === assets.length
      if (rows > 0) yield* watchPins(pins)
      // A listing that shows nothing new is no news for the engine either, which looks each second anyway.
      if (isSame && !(yield* isNotedLongAgo)) return found
      yield* noteRead(walk.mark)
      yield* signals.wake("engine")
      return found
    }),
  )
  for (const event of events) yield* logAsset(event)
})

/** Why a listing alone does not count; undefined if it does. */
const doubtOf = (walk: Walk<Asset> | undefined, known: number): string | undefined => {
  if (walk === undefined) return "no quorum lists the same"
  if (!walk.complete) return `it does not end after ${plural(walk.rows.length, "asset")}`
  return walk.rows.length === 0 && known > 0 ? "it is empty" : undefined
}

/** Time after which people hear that listings are refused. Meanwhile the former listing stays in force. */
const patienceMillis = 300_000
const doubt = Effect.map(Settings, (settings) => makeTrouble(settings, "assetsRefused", patienceMillis))

const refuse = (reason: string) => Effect.andThen(logEvent("assets not read", { reason }), noteRefused(reason))

const noteRefused = Effect.fnUntraced(function* (reason: string) {
  const { note } = yield* doubt
  const write = Effect.gen(function* () {
    const noted = yield* note(reason)
    if (noted?.isTold !== true) return
    yield* raise("assets_refused", { since: noted.since, from: instantText(noted.since), reason })
  })
  yield* (yield* Database).write(write)
})

/** Before the first listing no rule pays, and people hear why. */
const noteUnread = Effect.fnUntraced(function* ({ message, reason }: GatewayError) {
  if (reason._tag === "Unsupported") yield* (yield* unlisted).note(message)
  yield* noteRefused(message)
})

/** While the former listing stays in force no change of it is seen. With no gateway up, `gateway_down` alerts. */
const noteUnseen = Effect.fnUntraced(function* ({ message }: GatewayError) {
  const gateways = yield* (yield* Health).all
  if (gateways.some(({ state }) => state === "up")) yield* noteRefused(message)
})

const endDoubt = Effect.gen(function* () {
  yield* (yield* unlisted).end
  const ended = yield* (yield* doubt).end
  if (ended?.isTold === true) yield* raiseOver("assets_refused", { since: ended.since })
})

/** The listing that a quorum gives, since it bounds fees; if the quorum is one, that of the best gateway. */
const walkTogether = Effect.gen(function* () {
  const { quorum, several } = yield* Gateways
  if (quorum === 1) return yield* walkAssets(yield* GatewayReader)
  const walks = yield* several(walkAssets)
  return agreedAssets(
    walks.map(({ value }) => value),
    quorum,
  )
})

const asOfKey = "assetsAsOf"
/** Least time between notes of listings that show nothing new: noting each would make a durable commit per poll. */
const notedMillis = 30_000

const isNotedLongAgo = Effect.gen(function* () {
  const readAt = Number((yield* (yield* Settings).get(assetsReadKey)) ?? 0)
  return hasElapsed(readAt, yield* Clock.currentTimeMillis, notedMillis)
})

const noteRead = Effect.fnUntraced(function* (mark: BlockMark | undefined) {
  const settings = yield* Settings
  if (mark !== undefined) yield* settings.set(asOfKey, String(mark.timestamp))
  yield* settings.set(assetsReadKey, String(yield* Clock.currentTimeMillis))
})

/**
 * Why a listing of this block does not count: a gateway that lags, or answers from another node, would show each change
 * again, backwards and forwards.
 */
const doubtOfTime = Effect.fnUntraced(function* (mark: BlockMark | undefined) {
  if (mark === undefined) return undefined
  const settings = yield* Settings
  const now = yield* Clock.currentTimeMillis
  if (millisOf(mark.timestamp) > now + aheadMillisMax) return "its newest block is ahead of our clock"
  return mark.timestamp >= BigInt((yield* settings.get(asOfKey)) ?? 0) ? undefined : "it is older than the last"
})

/** Each asset once; undefined where one is listed twice and differently. */
const onceEach = (rows: ReadonlyArray<Asset>): ReadonlyArray<Asset> | undefined => {
  const found = new Map<string, Asset>()
  for (const asset of rows) {
    const twin = found.get(asset.id)
    if (twin !== undefined && !isEqual(twin, asset)) return undefined
    found.set(asset.id, asset)
  }
  return [...found.values()]
}

const isEqual = (a: Asset, b: Asset): boolean =>
  a.status === b.status && JSON.stringify(fieldsOf(a)) === JSON.stringify(fieldsOf(b))

const logAsset = ({ kind, symbol, from, to, changes }: AssetEvent) => {
  const words = {
    changed: escapeText(changes.map((c) => `${c.field} ${c.before} -> ${c.after}`).join(", ")),
    vanished: "is not listed any more",
    returned: "is listed again",
  }
  const what =
    kind === "status"
      ? { before: from === undefined ? undefined : statusText(from), status: statusText(to) }
      : { changes: words[kind] }
  return logEvent("asset changed", { asset: escapeText(symbol), ...what })
}

/** A round that takes longer than this was interrupted: the machine slept, or answers were delayed. */
const sleptMillis = 60_000

/** The loop that reads the network's parameters, limits, assets and chain. */
export const assetLoop = Effect.gen(function* () {
  const { parties, assets, network } = (yield* ConfigInForce).now().treasury
  const { counted } = yield* Metrics
  const begun = yield* Clock.currentTimeMillis
  // Before the listing, which may fail: payments wait for work and epoch.
  const terms = pollWorkAndEpoch(payersOf(parties.values()), readParameters)
  const listing = counted("assets", pollAssets([...assets.values()])).pipe(
    Effect.catchTag("GatewayError", (error) => logEvent("assets not read", { reason: error.message })),
  )
  // Beside them: they need a head of their gateway from before them, and share this one.
  yield* Effect.all([watchChain(), Effect.andThen(terms, listing)], { concurrency: 2, discard: true })
  // A machine that slept meanwhile has old terms, for which payments wait.
  if (hasElapsed(begun, yield* Clock.currentTimeMillis, sleptMillis)) return
  yield* Effect.sleep(network.pollIdleMillis)
}).pipe(Effect.forever)
