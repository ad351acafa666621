import { Effect } from "effect"
import { CycleConfig } from "../config/ConfigInForce.ts"
import type { Intent } from "../domain/Intent.ts"
import { isTogether, standingOf, subjectOfIntent } from "../payments/standing.ts"
import { Outbox } from "../store/payments/Outbox.ts"

/** Source that backs an unsigned payment under the rules in force. */
export const standing = Effect.fnUntraced(function* (intent: Intent) {
  const { treasury, mode } = yield* CycleConfig
  const { rules } = treasury
  const siblings = isTogether(subjectOfIntent(rules, intent)) ? yield* (yield* Outbox).siblings(intent) : []
  return standingOf(intent, { rules, mode }, siblings)
})

/** The other payments of the same decision. */
export const otherParts = Effect.fnUntraced(function* (intent: Intent) {
  const at = intent.subject.lastIndexOf(": ")
  if (at < 0) return []
  const ours = intent.subject.slice(0, at + 2)
  return (yield* (yield* Outbox).siblings(intent)).filter(({ subject }) => subject.startsWith(ours))
})
