import { Effect } from "effect"
import type { Memory } from "../rules/Look.ts"
import { overlaid } from "../rules/overlay.ts"
import { isPaying, type PayingRule } from "../rules/Rule.ts"
import type { Snapshot } from "../rules/Snapshot.ts"
import { type Subject, subjectsOf } from "../rules/Subject.ts"
import { type Outcome, round } from "../rules/step.ts"
import { Rehearsals } from "../store/Rehearsals.ts"
import type { RuleMemory } from "../store/RuleStates.ts"
import { EngineOptions } from "./EngineOptions.ts"
import { takeSnapshot } from "./snapshot.ts"

/** Whether the rule's payments are only rehearsed: the treasury is not live, or the rule is on trial. */
export const isRehearsed = (mode: string, rule: Pick<PayingRule, "trial">): boolean => mode !== "live" || rule.trial

/** Decides all subjects on what the store knows, and stores nothing of it. */
export const judgeAll = Effect.fnUntraced(function* (memories: ReadonlyMap<string, RuleMemory>) {
  const snapshot = yield* takeSnapshot(memories.values())
  // Memories are shared: who may not sign leaves them to who may.
  return snapshot.standby === undefined ? yield* judgeOn(snapshot, memories) : []
})

/**
 * Decides all subjects on a snapshot. Rules that rehearse come after those that pay, and see their own payments as if
 * they had been made.
 */
export const judgeOn = Effect.fnUntraced(function* (snapshot: Snapshot, memories: ReadonlyMap<string, Memory>) {
  const { rules, mode } = yield* EngineOptions
  const paying = rules.filter(isPaying)
  const memoryOf = (subject: Subject) => memories.get(memoryKey(subject.rule.name, subject.name))
  const live = paying.filter((rule) => !isRehearsed(mode, rule))
  const rehearsing = paying.filter((rule) => isRehearsed(mode, rule))
  const paid = round(live.flatMap(subjectsOf), snapshot, memoryOf)
  const rehearsals = yield* (yield* Rehearsals).of(rehearsing.map(({ name }) => name))
  const tried = round(rehearsing.flatMap(subjectsOf), overlaid(paid.snapshot, rehearsals), memoryOf)
  return [...paid.outcomes, ...tried.outcomes] satisfies ReadonlyArray<Outcome>
})

/** Under which a subject's memory is found. */
export const memoryKey = (rule: string, subject: string): string => `${rule}|${subject}`
