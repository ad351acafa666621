import { Effect } from "effect"
import type { Intent } from "../domain/Intent.ts"
import { decide } from "../rules/decide.ts"
import { isPaying } from "../rules/Rule.ts"
import { isOfSubject, subjectsOf } from "../rules/Subject.ts"
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
  const memories = yield* (yield* RuleStates).all
  const rule = options.rules.filter(isPaying).find((r) => r.name === intent.rule)
  const subject = rule === undefined ? undefined : subjectsOf(rule).find((s) => isOfSubject(intent, s))
  if (subject === undefined) return "gone"
  const memory = memories.find((m) => m.rule === intent.rule && m.subject === subject.name)
  const snapshot = yield* takeSnapshot(memories)
  const without = { ...snapshot, open: snapshot.open.filter((other) => !isOfSubject(other, subject)) }
  // A planned time is concluded by its payment; without it, it would be due again.
  const before = memory !== undefined && subject.kind === "payout" ? { ...memory, episode: memory.episode - 1 } : memory
  const { decision } = decide(subject, without, before)
  if (decision._tag === "Hold") return needless.has(decision.reason) ? "gone" : "later"
  const same = decision.payments.some(
    ({ fromKey, toKey, assetId, amount }) =>
      fromKey === intent.payment.fromKey &&
      toKey === intent.payment.toKey &&
      assetId === intent.payment.assetId &&
      amount >= intent.payment.amount,
  )
  return same ? "wanted" : "gone"
})
