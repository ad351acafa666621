import { Effect } from "effect"
import unhomoglyph from "unhomoglyph"
import { CycleConfig } from "../config/ConfigInForce.ts"
import { isExpectedTransition, statusText } from "../domain/Asset.ts"
import { type Alert, alertOf } from "../domain/alerts/Alert.ts"
import { visible } from "../domain/text.ts"
import { escapeText } from "../gateway/GatewayError.ts"
import type { PinnedAsset } from "../rules/Account.ts"
import type { NotifyRule, Rule } from "../rules/Rule.ts"
import { AlertQueue } from "../store/alerts/AlertQueue.ts"
import { Database } from "../store/database/Database.ts"
import { Signals } from "../store/database/Signals.ts"
import { type AssetTransition, type ListedAsset, Listings } from "../store/network/Listings.ts"

const drawnAsNothing = /[\p{White_Space}\p{M}]/gu

/**
 * Reduces a text to its look: the skeleton of UTS 39, without marks, spaces, invisible characters and compatibility
 * forms. Two texts with the same skeleton look alike; a skeleton is not for people to read.
 */
const skeletonOf = (text: string): string => {
  const seen = [...text.normalize("NFKD")].filter((char) => visible(char) === char).join("")
  return unhomoglyph(seen).normalize("NFD").replace(drawnAsNothing, "")
}

/** Cases in which texts are compared: "usdt" looks like "USDT", and "l" like "I", which is not its upper case. */
const forms = [(text: string) => text, (text: string) => text.toUpperCase(), (text: string) => text.toLowerCase()]

/** Skeletons of a text; two texts look alike where one of them is the same. None: the text shows nothing. */
const skeletonsOf = (text: string): ReadonlyArray<string> =>
  forms.flatMap((form, i) => {
    const skeleton = skeletonOf(form(text))
    return skeleton === "" ? [] : [`${i}${skeleton}`]
  })

/** True if a person can confuse the two texts. Equal texts look alike. */
export const isLookAlike = (a: string, b: string): boolean => {
  if (a === b) return true
  const others = skeletonsOf(b)
  return skeletonsOf(a).some((skeleton) => others.includes(skeleton))
}

/** Alerts to changes of assets. Alert and mark are one transaction, so none is lost or repeated. */
export const notifyAssets = Effect.fnUntraced(function* () {
  const { rules, assets: pinned } = (yield* CycleConfig).treasury
  const listings = yield* Listings
  const alerts = yield* AlertQueue
  const database = yield* Database
  const signals = yield* Signals
  const transitions = yield* listings.unhandled
  if (transitions.length === 0) return
  const assets = new Map((yield* listings.assets).map((a) => [a.id, a]))
  for (const transition of transitions) {
    const raised = alertsFor(rules, [...pinned.values()], transition, assets)
    yield* database.write(
      Effect.forEach(raised, (alert) => alerts.raise(alert), { discard: true }).pipe(
        Effect.andThen(listings.markHandled(transition.seq)),
      ),
    )
  }
  yield* signals.wake("alerts")
})

/** Fields that decide the value or the identity of an asset: their changes are tickets. */
const grave: ReadonlySet<string> = new Set(["symbol", "decimals", "source", "contractAddress", "chainId"])

const alertsFor = (
  rules: ReadonlyArray<Rule>,
  pins: ReadonlyArray<PinnedAsset>,
  transition: AssetTransition,
  assets: ReadonlyMap<string, ListedAsset>,
): ReadonlyArray<Alert> => {
  const { kind, from, to, seq } = transition
  const asset = assets.get(transition.asset)
  const symbol = escapeText(transition.symbol)
  const about = asset === undefined ? "" : ` (${asset.decimals} decimals, quantum ${asset.quantum})`
  const facts = (detail: string) => ({
    asset: transition.asset,
    symbol,
    from: from ?? "",
    to,
    seq,
    words: `${detail}${about}`,
  })
  const change = (what: string, severity: Alert["severity"], detail: string) =>
    alertOf("asset_changed", { ...facts(detail), what, severity })
  const warnings = namesakes(pins, transition, assets).map((detail) => alertOf("asset_namesake", facts(detail)))
  if (kind === "vanished") return [change("vanished", "ticket", "is not listed any more"), ...warnings]
  if (kind === "returned") return [change("returned", "info", "is listed again"), ...warnings]
  if (kind === "changed") {
    const severity = transition.changes.some(({ field }) => grave.has(field)) ? "ticket" : "info"
    const words = transition.changes.map((c) => `${c.field} ${c.before || "none"} -> ${c.after || "none"}`).join(", ")
    return [change("changed", severity, escapeText(words)), ...warnings]
  }
  const steps = `${from === undefined ? "new" : statusText(from)} -> ${statusText(to)}`
  const wanted = rules
    .filter((rule): rule is NotifyRule => rule.kind === "notify")
    .filter((rule) => rule.becomes.includes(to) && (rule.asset === "any" || rule.asset.id === transition.asset))
    .map(({ name }) => alertOf("asset_status", { ...facts(steps), rule: name }))
  if (isExpectedTransition(from, to)) return [...wanted, ...warnings]
  return [...wanted, ...warnings, change("unexpected", "ticket", `unexpected change of status: ${steps}`)]
}

/** Fields with an asset's own name. */
const names: ReadonlySet<string> = new Set(["symbol", "name"])

/** Warnings of a new or renamed asset that looks like a pinned one. */
const namesakes = (
  pins: ReadonlyArray<PinnedAsset>,
  { kind, asset: id, symbol, from, changes }: AssetTransition,
  assets: ReadonlyMap<string, ListedAsset>,
): ReadonlyArray<string> => {
  const isNews =
    (kind === "status" && from === undefined) || (kind === "changed" && changes.some(({ field }) => names.has(field)))
  if (!isNews) return []
  return pins.flatMap((pin) => {
    const how = pin.id === id ? undefined : resemblance(pin, { symbol, name: assets.get(id)?.name }, assets.get(pin.id))
    return how === undefined ? [] : [`${how}: ${escapeText(id)}; the pinned one is ${pin.id}`]
  })
}

const resemblance = (
  pin: PinnedAsset,
  { symbol, name }: { readonly symbol: string; readonly name: string | undefined },
  pinned: ListedAsset | undefined,
): string | undefined => {
  if (symbol === pin.symbol) return `another asset calls itself ${pin.symbol}`
  if (isLookAlike(symbol, pin.symbol)) {
    return `another asset calls itself "${escapeText(symbol)}", which looks like ${pin.symbol}`
  }
  if (name === undefined || name === "") return undefined
  const taken = [pin.symbol, pinned?.symbol, pinned?.name].find(
    (own) => own !== undefined && own !== "" && isLookAlike(name, own),
  )
  if (taken === undefined) return undefined
  return `another asset, ${escapeText(symbol)}, has the name "${escapeText(name)}", which looks like "${escapeText(taken)}" of ${pin.symbol}`
}
