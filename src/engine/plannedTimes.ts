import { Effect } from "effect"
import type { LetGo } from "../rules/Need.ts"
import { letGoText } from "../rules/payout.ts"
import type { Subject } from "../rules/Subject.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Outbox } from "../store/Outbox.ts"
import type { RuleMemory } from "../store/RuleStates.ts"
import { EngineOptions } from "./EngineOptions.ts"

/**
 * Whether a payment stands for the planned time (Unix seconds) though it is of an earlier one: where a rule makes up
 * for what was missed with one payment, that is what was first signed after it.
 */
export const isMadeUp = Effect.fnUntraced(function* (subject: Subject, planned: number | undefined) {
  if (planned === undefined || subject.kind !== "payout" || subject.rule.schedule.missed === "skip") return false
  const { treasury } = yield* EngineOptions
  const signed = yield* (yield* Outbox).lastSigned({ treasury, rule: subject.rule.name, subject: subject.name })
  return signed !== undefined && signed >= planned * 1_000
})

/** Tells people of planned times that nobody paid in time: what, to whom, why, and what they can do. */
export const tellLetGo = Effect.fnUntraced(function* (subject: Subject, letGo: LetGo, before: RuleMemory) {
  if (subject.kind !== "payout") return
  const { rule, name } = subject
  yield* (yield* AlertQueue).raise({
    dedup: `let-go/${rule.name}/${name}/${letGo.last}`,
    severity: "ticket",
    kind: "payout",
    subject: rule.name,
    detail: `${rule.name}: ${letGoText(rule, letGo, before)}`,
    fields: { rule: rule.name, from: rule.from.name, to: rule.to.name, last: new Date(letGo.last).toISOString() },
  })
})
