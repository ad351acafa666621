import { Effect } from "effect"
import { type Intent, isFinalIntent, submittedRule } from "../domain/Intent.ts"
import { isPaying, isRehearsed, type Party, type Rule } from "../rules/Rule.ts"
import { isOfSubject, type Subject, subjectsOf } from "../rules/Subject.ts"
import type { Standing } from "../rules/waiting.ts"
import { Outbox } from "../store/Outbox.ts"
import { RuleStates } from "../store/RuleStates.ts"
import { EngineOptions } from "./EngineOptions.ts"

/** What decided the intent, among the rules in force; undefined where none of them decides such a payment. */
export const subjectOf = (rules: ReadonlyArray<Rule>, intent: Intent): Subject | undefined => {
  const rule = rules.filter(isPaying).find(({ name }) => name === intent.rule)
  return rule === undefined ? undefined : subjectsOf(rule).find((subject) => isOfSubject(intent, subject))
}

/** Receivers of which all are paid, or none; of other kinds each payment stands for itself. */
export const receiversOf = (subject: Subject): ReadonlyArray<Party> => {
  if (subject.kind === "split") return subject.rule.to.map(({ party }) => party)
  return subject.kind === "code" ? subject.rule.to : []
}

/**
 * Whether another part of the same decision is paid or signed, or else decided and on its way. One that itself needs
 * another attempt is neither: both are asked about, and the first answer is for the whole.
 */
export const begunBy = Effect.fnUntraced(function* (intent: Intent, subject: Subject) {
  if (receiversOf(subject).length < 2) return undefined
  const outbox = yield* Outbox
  let decided = false
  for (const other of yield* outbox.siblings(intent)) {
    if (!isOfSubject(other, subject)) continue
    if (other.state === "confirmed") return "signed"
    if (isFinalIntent(other.state)) continue
    if (other.state === "in_flight" || other.state === "unknown" || other.state === "manual") return "signed"
    if (other.state !== "reserved" || (yield* outbox.attempts(other.id)).length === 0) decided = true
  }
  return decided ? "decided" : undefined
})

/** Who answers for a payment that is not signed, by the rules in force. */
export const standingOf = Effect.fn("Engine.standing")(function* (intent: Intent) {
  if (intent.rule === submittedRule) return { _tag: "Submitted" } satisfies Standing as Standing
  const { rules, mode } = yield* EngineOptions
  const subject = subjectOf(rules, intent)
  if (subject === undefined || isRehearsed(mode, subject.rule)) return { _tag: "Gone" } satisfies Standing as Standing
  if (subject.kind === "payout") {
    const { missed, lateMillis } = subject.rule.schedule
    const planned: Standing = { _tag: "Planned", at: intent.episode * 1_000, missed, lateMillis }
    return planned
  }
  const part: Standing = { _tag: "Part" }
  const level: Standing = { _tag: "Level", together: receiversOf(subject).length > 1 }
  return (yield* begunBy(intent, subject)) === "signed" ? part : level
})

/** Since when the condition of the rule that decided it has been true; undefined where it is not, or has no rule. */
export const wantedSince = Effect.fn("Engine.wantedSince")(function* (intent: Intent) {
  const subject = subjectOf((yield* EngineOptions).rules, intent)
  if (subject === undefined) return undefined
  const memories = yield* (yield* RuleStates).all
  return memories.find((memory) => memory.rule === intent.rule && memory.subject === subject.name)?.firingSince
})
