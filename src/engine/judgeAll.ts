import { Effect } from "effect"
import type { Memory } from "../rules/Look.ts"
import { overlaid, type Rehearsal } from "../rules/overlay.ts"
import { isPaying, type PayingRule, type Rule } from "../rules/Rule.ts"
import type { Snapshot } from "../rules/Snapshot.ts"
import { type Subject, subjectsOf } from "../rules/Subject.ts"
import { type Outcome, round } from "../rules/step.ts"
import { Rehearsals } from "../store/Rehearsals.ts"
import { memoryKey } from "../store/RuleStates.ts"
import { EngineOptions } from "./EngineOptions.ts"

/** Whether the rule's payments are only rehearsed: the treasury is not live, or the rule is on trial. */
export const isRehearsed = (mode: string, rule: Pick<PayingRule, "trial">): boolean => mode !== "live" || rule.trial

interface Judged {
  readonly snapshot: Snapshot
  readonly memories: ReadonlyMap<string, Memory>
  readonly rehearsals: ReadonlyArray<Rehearsal>
  readonly due?: ReadonlyArray<Subject> | undefined
}

/**
 * Decides all subjects on a snapshot. A rule that rehearses for the first time begins to, and what one had rehearsed
 * that does not any more is forgotten.
 */
export const judgeOn = Effect.fnUntraced(function* (
  snapshot: Snapshot,
  memories: ReadonlyMap<string, Memory>,
  /** Those to be looked at of the rules that pay; undefined: all of them. */
  due?: ReadonlyArray<Subject>,
) {
  const rehearsals = yield* (yield* Rehearsals).of(rehearsingOf(yield* EngineOptions).map(({ name }) => name))
  return judgedBy(yield* EngineOptions, { snapshot, memories, rehearsals, due })
})

/** What would be decided, by the rules in force or by any others. Stores nothing: rehearsals go on as they are. */
export const judgeIdly = Effect.fnUntraced(function* (snapshot: Snapshot, memories: ReadonlyMap<string, Memory>) {
  const rehearsals = yield* (yield* Rehearsals).peek(rehearsingOf(yield* EngineOptions).map(({ name }) => name))
  return judgedBy(yield* EngineOptions, { snapshot, memories, rehearsals })
})

/** Rules that rehearse come after those that pay, and see their own payments as if they had been made. */
const judgedBy = (
  options: EngineOptions["Service"],
  { snapshot, memories, rehearsals, due }: Judged,
): ReadonlyArray<Outcome> => {
  const memoryOf = (subject: Subject) => memories.get(memoryKey(subject.rule.name, subject.name))
  const paid = round(due ?? liveSubjects(options.rules, options.mode), snapshot, memoryOf)
  const tried = round(rehearsingOf(options).flatMap(subjectsOf), overlaid(paid.snapshot, rehearsals), memoryOf)
  return [...paid.outcomes, ...tried.outcomes]
}

const rehearsingOf = ({ rules, mode }: EngineOptions["Service"]): ReadonlyArray<PayingRule> =>
  rules.filter(isPaying).filter((rule) => isRehearsed(mode, rule))

/** What the rules that pay look at, in the order of the file. */
export const liveSubjects = (rules: ReadonlyArray<Rule>, mode: string): ReadonlyArray<Subject> =>
  rules
    .filter(isPaying)
    .filter((rule) => !isRehearsed(mode, rule))
    .flatMap(subjectsOf)
