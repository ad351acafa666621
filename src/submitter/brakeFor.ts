import { Effect } from "effect"
import type { Intent } from "../domain/Intent.ts"
import { pausesText, stopsPayment } from "../rules/stops.ts"
import { Brake } from "../store/Brake.ts"

/** Why nothing may be signed or sent for the intent now; undefined where nothing is in the way. */
export const brakeFor = Effect.fnUntraced(function* (intent: Intent) {
  const brake = yield* Brake
  const halts = yield* brake.halts
  if (halts.length > 0) return `halted: ${halts.map(({ reason }) => reason.replaceAll("_", " ")).join(", ")}`
  return pausesText((yield* brake.pauses).filter(stopsPayment(intent.rule, intent.payment)))
})
