import { type Intent, submittedRule } from "../domain/Intent.ts"
import { type Party, receiverKey } from "../rules/Account.ts"
import { isPaying, isRehearsed, type Rule } from "../rules/Rule.ts"
import { isOfSubject, type Subject, subjectsOf, waysOf } from "../rules/Subject.ts"
import type { Backing } from "../rules/waiting.ts"

/** Subject in force that decided the intent; undefined if no rule decides such a payment. */
export const subjectOfIntent = (rules: ReadonlyArray<Rule>, intent: Intent): Subject | undefined => {
  const rule = rules.filter(isPaying).find(({ name }) => name === intent.rule)
  return rule === undefined ? undefined : subjectsOf(rule).find((subject) => isOfSubject(intent, subject))
}

/** Receivers that are paid all or not at all; of other kinds each payment stands for itself. */
export const receiversOf = (subject: Subject): ReadonlyArray<Party> => {
  if (subject.kind === "split") return subject.rule.to.map(({ party }) => party)
  return subject.kind === "code" ? subject.rule.to : []
}

/** True if the payments of the subject's decision are made all, or none. */
export const isTogether = (subject: Subject | undefined): boolean =>
  subject !== undefined && receiversOf(subject).length > 1

/** True if the subject moves this asset between these accounts: a reload may leave its name to others. */
const isWay = ({ payment: { fromKey, toKey, assetId } }: Intent, subject: Subject): boolean =>
  subject.asset.id === assetId &&
  waysOf(subject).some(({ from, to }) => from.publicKey === fromKey && receiverKey(to) === toKey)

const begun: ReadonlySet<string> = new Set(["in_flight", "unknown", "manual", "confirmed"])

/** Source that backs an unsigned payment. `siblings` are the other payments of its rule and episode. */
export const backingOf = (
  intent: Intent,
  { rules, mode }: { readonly rules: ReadonlyArray<Rule>; readonly mode: string },
  siblings: ReadonlyArray<Intent>,
): Backing => {
  if (intent.rule === submittedRule) return { _tag: "Submitted" }
  const subject = subjectOfIntent(rules, intent)
  if (subject === undefined || isRehearsed(mode, subject.rule)) return { _tag: "Gone" }
  if (subject.kind === "payout") {
    const { missed, lateMillis } = subject.rule.schedule
    return { _tag: "Planned", at: intent.episode * 1_000, missed, lateMillis }
  }
  if (!isWay(intent, subject)) return { _tag: "Gone" }
  const together = isTogether(subject)
  const isBegun = siblings.some((other) => isOfSubject(other, subject) && begun.has(other.state))
  return together && isBegun ? { _tag: "Part" } : { _tag: "Level", together }
}

/** True if the payment's name comes from outside, so that every restored database gives it the same one. */
export const isNamed = ({ rule }: Intent, backing: Backing): boolean =>
  rule === submittedRule || backing._tag === "Planned"
