import { Effect } from "effect"
import { AlertQueue } from "../store/AlertQueue.ts"
import type { RuleMemory } from "../store/RuleStates.ts"
import { Signals } from "../store/Signals.ts"

const hourMillis = 3_600_000
/** Code that is asked about each block and takes longer than that never answers what is known. */
const patienceMillis = 60_000

/** Tells people that a rule's own code fails: when it begins to, and once an hour at most where it comes and goes. */
export const tellBroken = Effect.fnUntraced(function* (memory: RuleMemory, before: RuleMemory | undefined) {
  const { reason, detail } = memory
  if (reason !== "locked" || (before?.reason === reason && before.detail === detail)) return
  yield* tell(memory)
})

/** Tells people that a rule's own code is always too late: what it is told has changed each time that it answers. */
export const tellUnanswered = Effect.fnUntraced(function* (memory: RuleMemory) {
  if (memory.reason === "no_data" && memory.decidedAt - memory.reasonSince >= patienceMillis) yield* tell(memory)
})

const tell = Effect.fnUntraced(function* ({ rule, subject, detail, decidedAt }: RuleMemory) {
  const isNew = yield* (yield* AlertQueue).raise({
    dedup: `code/${rule}/${Math.floor(decidedAt / hourMillis)}`,
    severity: "ticket",
    kind: "rule",
    subject: rule,
    detail: `pays nothing: ${detail}`.slice(0, 500),
    fields: { rule, account: subject },
  })
  if (isNew) yield* (yield* Signals).wake("alerts")
})
