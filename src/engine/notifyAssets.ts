import { Effect } from "effect"
import { isExpectedTransition, statusText } from "../domain/Asset.ts"
import type { NotifyRule, Rule } from "../rules/Rule.ts"
import { type Alert, AlertQueue } from "../store/AlertQueue.ts"
import { Database } from "../store/Database.ts"
import { type AssetTransition, type ListedAsset, Listings } from "../store/Listings.ts"
import { Signals } from "../store/Signals.ts"
import { EngineOptions } from "./EngineOptions.ts"

/** Alerts for transitions that no rule has seen yet: stored with the mark that they were seen, so none is lost. */
export const notifyAssets = Effect.fn("Engine.notifyAssets")(function* () {
  const { rules } = yield* EngineOptions
  const listings = yield* Listings
  const alerts = yield* AlertQueue
  const database = yield* Database
  const signals = yield* Signals
  const transitions = yield* listings.unhandled
  if (transitions.length === 0) return
  const assets = new Map((yield* listings.assets).map((a) => [a.id, a]))
  for (const transition of transitions) {
    const raised = alertsFor(rules, transition, assets.get(transition.asset))
    yield* database.atomically(
      Effect.forEach(raised, alerts.raise, { discard: true }).pipe(
        Effect.andThen(listings.markHandled(transition.seq)),
      ),
    )
  }
  yield* signals.wake("alerts")
})

const alertsFor = (
  rules: ReadonlyArray<Rule>,
  transition: AssetTransition,
  asset: ListedAsset | undefined,
): ReadonlyArray<Alert> => {
  const { from, to, symbol } = transition
  const steps = `${from === undefined ? "new" : statusText(from)} -> ${statusText(to)}`
  const about = asset === undefined ? "" : ` (${asset.decimals} decimals, quantum ${asset.quantum})`
  const fields = { asset: transition.asset, symbol, from: from ?? "", to }
  const wanted = rules
    .filter((rule): rule is NotifyRule => rule.kind === "notify")
    .filter((rule) => rule.becomes.includes(to) && (rule.asset === "any" || rule.asset.id === transition.asset))
    .map(
      (rule): Alert => ({
        dedup: `asset/${rule.name}/${transition.asset}/${to}/${transition.seq}`,
        severity: "info",
        kind: "asset",
        subject: symbol,
        detail: `${steps}${about}`,
        fields: { ...fields, rule: rule.name },
      }),
    )
  if (isExpectedTransition(from, to)) return wanted
  return [
    ...wanted,
    {
      dedup: `asset/unexpected/${transition.asset}/${transition.seq}`,
      severity: "ticket",
      kind: "asset",
      subject: symbol,
      detail: `unexpected change of status: ${steps}${about}`,
      fields,
    },
  ]
}
