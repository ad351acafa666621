import { Effect } from "effect"
import type { Intent } from "../domain/Intent.ts"
import { decide } from "../rules/decide.ts"
import { isPaying, subjectOf } from "../rules/Rule.ts"
import { idle } from "../rules/Timer.ts"
import { RuleStates } from "../store/RuleStates.ts"
import { EngineOptions } from "./EngineOptions.ts"
import { takeSnapshot } from "./snapshot.ts"

/** Holds that say that there is nothing to pay, or nothing to pay it with; all others pass. */
const needless: ReadonlySet<string> = new Set(["in_band", "too_small", "short", "policy", "fee", "asset_status"])

/**
 * Whether the intent's rule would decide the same payment today, or a larger one, if this intent were not there. A rule
 * that is gone wants nothing.
 */
export const isWanted = Effect.fn("Engine.isWanted")(function* (intent: Intent) {
  const options = yield* EngineOptions
  const memory = (yield* (yield* RuleStates).all).find((m) => m.rule === intent.rule && m.subject === intent.subject)
  const rule = options.rules.filter(isPaying).find((r) => r.name === intent.rule)
  const level = rule?.levels.find((l) => subjectOf(l) === intent.subject)
  if (rule === undefined || level === undefined) return "gone"
  const snapshot = yield* takeSnapshot()
  const without = { ...snapshot, open: snapshot.open.filter((other) => other.id !== intent.id) }
  const { decision } = decide(rule, level, without, memory ?? idle)
  if (decision._tag === "Hold") return needless.has(decision.reason) ? "gone" : "later"
  const { payment } = decision
  const same =
    payment.fromKey === intent.payment.fromKey &&
    payment.toKey === intent.payment.toKey &&
    payment.assetId === intent.payment.assetId
  return same && payment.amount >= intent.payment.amount ? "wanted" : "gone"
})
