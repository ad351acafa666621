import { Effect } from "effect"
import { isExpectedTransition, statusText } from "../domain/Asset.ts"
import { escapeText } from "../gateway/escapeText.ts"
import type { NotifyRule, PinnedAsset, Rule } from "../rules/Rule.ts"
import { type Alert, AlertQueue } from "../store/AlertQueue.ts"
import { Database } from "../store/Database.ts"
import { type AssetTransition, type ListedAsset, Listings } from "../store/Listings.ts"
import { Signals } from "../store/Signals.ts"
import { EngineOptions } from "./EngineOptions.ts"

/** Alerts for what happened to assets: stored with the mark that it was seen, so none is lost and none comes twice. */
export const notifyAssets = Effect.fn("Engine.notifyAssets")(function* () {
  const { rules, pins } = yield* EngineOptions
  const listings = yield* Listings
  const alerts = yield* AlertQueue
  const database = yield* Database
  const signals = yield* Signals
  const transitions = yield* listings.unhandled
  if (transitions.length === 0) return
  const assets = new Map((yield* listings.assets).map((a) => [a.id, a]))
  for (const transition of transitions) {
    const raised = alertsFor(rules, pins, transition, assets.get(transition.asset))
    yield* database.atomically(
      Effect.forEach(raised, (alert) => alerts.raise(alert), { discard: true }).pipe(
        Effect.andThen(listings.markHandled(transition.seq)),
      ),
    )
  }
  yield* signals.wake("alerts")
})

/** Changes of these decide what an amount is worth or which money it is. */
const grave: ReadonlySet<string> = new Set(["symbol", "decimals", "source", "contractAddress", "chainId"])

const alertsFor = (
  rules: ReadonlyArray<Rule>,
  pins: ReadonlyArray<PinnedAsset>,
  transition: AssetTransition,
  asset: ListedAsset | undefined,
): ReadonlyArray<Alert> => {
  const { kind, from, to, seq } = transition
  const symbol = escapeText(transition.symbol)
  const about = asset === undefined ? "" : ` (${asset.decimals} decimals, quantum ${asset.quantum})`
  const alert = (what: string, severity: Alert["severity"], detail: string, rule?: string): Alert => ({
    dedup: `asset/${what}/${transition.asset}/${seq}`,
    severity,
    kind: "asset",
    subject: symbol,
    detail: `${detail}${about}`,
    fields: { asset: transition.asset, symbol, from: from ?? "", to, ...(rule === undefined ? {} : { rule }) },
  })
  const told = [...namesakes(pins, transition).map((detail) => alert("namesake", "ticket", detail))]
  if (kind === "vanished") return [alert("vanished", "ticket", "is not listed any more"), ...told]
  if (kind === "returned") return [alert("returned", "info", "is listed again"), ...told]
  if (kind === "changed") {
    const severity = transition.changes.some(({ field }) => grave.has(field)) ? "ticket" : "info"
    const words = transition.changes.map((c) => `${c.field} ${c.before || "none"} -> ${c.after || "none"}`).join(", ")
    return [alert("changed", severity, escapeText(words)), ...told]
  }
  const steps = `${from === undefined ? "new" : statusText(from)} -> ${statusText(to)}`
  const wanted = rules
    .filter((rule): rule is NotifyRule => rule.kind === "notify")
    .filter((rule) => rule.becomes.includes(to) && (rule.asset === "any" || rule.asset.id === transition.asset))
    .map((rule) => alert(`${rule.name}/${to}`, "info", steps, rule.name))
  if (isExpectedTransition(from, to)) return [...wanted, ...told]
  return [...wanted, ...told, alert("unexpected", "ticket", `unexpected change of status: ${steps}`)]
}

/** A newcomer, or an asset with a new symbol, that calls itself as a pinned one does: told, and stops nothing. */
const namesakes = (
  pins: ReadonlyArray<PinnedAsset>,
  { kind, asset, symbol, from, changes }: AssetTransition,
): ReadonlyArray<string> => {
  const isNews =
    (kind === "status" && from === undefined) || (kind === "changed" && changes.some(({ field }) => field === "symbol"))
  if (!isNews) return []
  return pins
    .filter((pin) => pin.symbol === symbol && pin.id !== asset)
    .map((pin) => `another asset calls itself ${pin.symbol}: ${asset}; the pinned one is ${pin.id}`)
}
