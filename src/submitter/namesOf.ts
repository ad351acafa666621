import { Effect } from "effect"
import { type Intent, submittedRule } from "../domain/Intent.ts"
import type { Standing } from "../rules/waiting.ts"
import { Outbox } from "../store/Outbox.ts"

/** Whether what names the payment comes from outside, so that every life of the store gives it the same name. */
export const isNamed = ({ rule }: Intent, standing: Standing): boolean =>
  rule === submittedRule || standing._tag === "Planned"

/** The other payments of the same decision. */
export const otherParts = Effect.fnUntraced(function* (intent: Intent) {
  const at = intent.subject.lastIndexOf(": ")
  if (at < 0) return []
  const ours = intent.subject.slice(0, at + 2)
  return (yield* (yield* Outbox).siblings(intent)).filter(({ subject }) => subject.startsWith(ours))
})
