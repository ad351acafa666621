import { Effect } from "effect"
import type { Intent } from "../domain/Intent.ts"
import { assetScopes } from "../rules/contradiction.ts"
import { lockScope } from "../rules/stops.ts"
import { Brake } from "../store/Brake.ts"

/** Why nothing may be signed or sent for the intent now; undefined where nothing is in the way. */
export const brakeFor = Effect.fnUntraced(function* (intent: Intent) {
  const brake = yield* Brake
  const halts = yield* brake.halts
  if (halts.length > 0) return `halted: ${halts.map((h) => h.reason).join(", ")}`
  const { from, to, asset } = intent.payment
  const scopes = [
    "all",
    `rule:${intent.rule}`,
    lockScope(intent.rule),
    `party:${from}`,
    `party:${to}`,
    ...assetScopes(asset),
  ]
  const pause = (yield* brake.pauses).find((p) => scopes.includes(p.scope))
  return pause === undefined ? undefined : `paused (${pause.scope}): ${pause.reason}`
})
