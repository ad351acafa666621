import { Clock, Effect } from "effect"
import { contradiction, pinRemedy, pinScope } from "../rules/contradiction.ts"
import type { PinnedAsset } from "../rules/Rule.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Brake } from "../store/Brake.ts"
import { Listings } from "../store/Listings.ts"
import { Settings } from "../store/Settings.ts"
import { Signals } from "../store/Signals.ts"
import { say } from "../telemetry/say.ts"

/**
 * Holds the listing against the pins. Where one is contradicted, nothing of that asset is signed or sent from the same
 * transaction on, and people are paged. That ends when the listing agrees again, or by a person's `resume` of
 * "pin:SYMBOL", after which the same contradiction does not stop it again, though rules stay silent about it. Call it
 * inside the transaction that stores a listing.
 */
export const watchPins = Effect.fn("AssetPoller.pins")(function* (pins: ReadonlyArray<PinnedAsset>) {
  const listed = new Map((yield* (yield* Listings).assets).map((asset) => [asset.id, asset]))
  const settings = yield* Settings
  yield* endOfOthers(pins)
  for (const pin of pins) {
    const known = (yield* settings.get(keyOf(pin))) ?? ""
    const found = contradiction(pin, listed.get(pin.id)) ?? ""
    if (found === known) continue
    yield* settings.set(keyOf(pin), found)
    yield* found === "" ? agreed(pin) : contradicted(pin, { reason: found, remedy: pinRemedy(pin, listed.get(pin.id)) })
  }
})

/** A contradiction of what is pinned no more stops nothing. */
const endOfOthers = Effect.fnUntraced(function* (pins: ReadonlyArray<PinnedAsset>) {
  const brake = yield* Brake
  const kept = new Set(pins.flatMap(({ symbol, id }) => [pinScope(symbol), pinScope(id)]))
  const others = (yield* brake.pauses).filter((pause) => pause.kept.startsWith(pinScope("")) && !kept.has(pause.kept))
  for (const { kept: scope } of others) yield* brake.resume({ scope, reason: "it is pinned no more", author })
})

const keyOf = ({ symbol, id }: PinnedAsset): string => `pin/${symbol}/${id}`

const author = "asset listing"

const contradicted = Effect.fnUntraced(function* (
  pin: PinnedAsset,
  { reason, remedy }: { readonly reason: string; readonly remedy: string },
) {
  const brake = yield* Brake
  const scope = pinScope(pin.symbol)
  if (!(yield* brake.pauses).some((pause) => pause.scope === scope)) {
    yield* brake.pause({ scope, reason, author, until: undefined })
  }
  yield* alert(pin, "page", `${reason}: no payment of ${pin.symbol} is signed or sent; ${remedy}`)
})

const agreed = Effect.fnUntraced(function* (pin: PinnedAsset) {
  const reason = `the listing of ${pin.symbol} agrees with its pin again`
  const ended = yield* (yield* Brake).resume({ scope: pinScope(pin.symbol), reason, author })
  if (ended > 0) yield* alert(pin, "info", reason)
})

const alert = Effect.fnUntraced(function* ({ symbol, id }: PinnedAsset, severity: "page" | "info", detail: string) {
  const at = yield* Clock.currentTimeMillis
  yield* (yield* AlertQueue).raise({
    dedup: `asset/pin/${id}/${at}`,
    severity,
    kind: "asset",
    subject: symbol,
    detail,
    fields: { asset: id, symbol },
    ...(severity === "info" ? { resolves: [`asset/pin/${id}`] } : {}),
  })
  yield* (yield* Signals).wake("alerts")
  yield* say(severity === "page" ? "halted" : "asset", { subject: symbol, detail }, severity)
})
