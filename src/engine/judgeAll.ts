import { Effect } from "effect"
import type { Memory } from "../rules/Look.ts"
import { overlaid } from "../rules/overlay.ts"
import { isPaying, type PayingRule, type Rule } from "../rules/Rule.ts"
import type { Snapshot } from "../rules/Snapshot.ts"
import { type Subject, subjectsOf } from "../rules/Subject.ts"
import { type Outcome, round } from "../rules/step.ts"
import { Rehearsals } from "../store/Rehearsals.ts"
import { memoryKey } from "../store/RuleStates.ts"
import { EngineOptions } from "./EngineOptions.ts"

/** Whether the rule's payments are only rehearsed: the treasury is not live, or the rule is on trial. */
export const isRehearsed = (mode: string, rule: Pick<PayingRule, "trial">): boolean => mode !== "live" || rule.trial

/**
 * Decides all subjects on a snapshot. Rules that rehearse come after those that pay, and see their own payments as if
 * they had been made.
 */
export const judgeOn = Effect.fnUntraced(function* (
  snapshot: Snapshot,
  memories: ReadonlyMap<string, Memory>,
  /** Those to be looked at of the rules that pay; undefined: all of them. */
  due?: ReadonlyArray<Subject>,
) {
  const { rules, mode } = yield* EngineOptions
  const paying = rules.filter(isPaying)
  const memoryOf = (subject: Subject) => memories.get(memoryKey(subject.rule.name, subject.name))
  const rehearsing = paying.filter((rule) => isRehearsed(mode, rule))
  const paid = round(due ?? liveSubjects(rules, mode), snapshot, memoryOf)
  const rehearsals = yield* (yield* Rehearsals).of(rehearsing.map(({ name }) => name))
  const tried = round(rehearsing.flatMap(subjectsOf), overlaid(paid.snapshot, rehearsals), memoryOf)
  return [...paid.outcomes, ...tried.outcomes] satisfies ReadonlyArray<Outcome>
})

/** What the rules that pay look at, in the order of the file. */
export const liveSubjects = (rules: ReadonlyArray<Rule>, mode: string): ReadonlyArray<Subject> =>
  rules
    .filter(isPaying)
    .filter((rule) => !isRehearsed(mode, rule))
    .flatMap(subjectsOf)
