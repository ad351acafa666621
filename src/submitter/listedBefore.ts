import { Effect } from "effect"
import { type Intent, submittedRule } from "../domain/Intent.ts"
import type { Standing } from "../rules/waiting.ts"
import { Signer } from "../signer/Signer.ts"
import { Findings } from "../store/Findings.ts"
import { Outbox } from "../store/Outbox.ts"

/**
 * What the ledger lists under the payment's tag though no attempt of this store is it: another life of the store paid
 * it, or tried to. Oldest first. A withdrawal bears no tag.
 */
export const listedBefore = Effect.fnUntraced(function* ({ id, command, payment: { fromKey } }: Intent) {
  const tag = command === "transfer" ? (yield* Signer).tag(fromKey, id) : undefined
  return tag === undefined ? [] : yield* (yield* Findings).bearing(fromKey, tag)
})

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
