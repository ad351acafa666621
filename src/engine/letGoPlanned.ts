import { Clock, Effect } from "effect"
import { unseenOf } from "../rules/payout.ts"
import { lostNotice } from "../rules/payoutNotices.ts"
import { isRehearsed } from "../rules/Rule.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { RuleStates } from "../store/RuleStates.ts"
import { EngineOptions } from "./EngineOptions.ts"

/**
 * Lets go what was planned until now by the rules of these keys, and tells people of it: a store that was lost may have
 * paid it, and no gateway lists what was paid.
 */
export const letGoPlanned = Effect.fn("Engine.letGoPlanned")(function* (payers: ReadonlySet<string>) {
  const { rules, mode } = yield* EngineOptions
  const states = yield* RuleStates
  const now = yield* Clock.currentTimeMillis
  for (const before of yield* states.all) {
    const rule = rules.find(({ name }) => name === before.rule)
    // A rule that has concluded nothing begins with its next look.
    if (rule?.kind !== "payout" || before.episode === 0 || !payers.has(rule.from.publicKey)) continue
    const lost = unseenOf(rule, Math.min(before.episode * 1_000, now), now)
    if (lost === undefined) continue
    yield* states.save({ ...before, episode: Math.floor(lost.last / 1_000) }, before)
    if (!isRehearsed(mode, rule)) yield* (yield* AlertQueue).raise(lostNotice(rule, before.subject, lost).alert)
  }
})
