import { Effect } from "effect"
import type { InForce } from "../config/ConfigInForce.ts"
import { EngineOptions, engineSettings } from "../engine/EngineOptions.ts"
import { peekRound } from "../engine/loadRound.ts"
import { takeSnapshot } from "../engine/snapshot.ts"
import { alertSubject } from "../rules/alerting.ts"
import type { AlertRule } from "../rules/Condition.ts"
import { factsOf } from "../rules/decideRound.ts"
import { type AlertExplanation, explainAlert } from "../rules/explainAlert.ts"
import { memoryKey } from "../rules/RuleMemory.ts"
import { Database } from "../store/Database.ts"
import type { StoredDecision } from "../store/decisionsAround.ts"
import { lastAlertOf } from "../store/lastAlertOf.ts"
import { RuleStates } from "../store/RuleStates.ts"
import type { KnownBy } from "./explanationOf.ts"

/** What a rule told people last. */
export interface LastAlert {
  /** Unix milliseconds. */
  readonly at: number
  readonly subject: string
  readonly detail: string
}

export interface AlertAnswer {
  readonly about: "alert"
  readonly rule: string
  /** Unix milliseconds. */
  readonly at: number
  readonly knowledge: KnownBy | null
  readonly alert: AlertExplanation
  /** null: the engine has not looked at it yet. */
  readonly decided: StoredDecision | null
  readonly last: LastAlert | null
}

/** Why an alert fires or is silent: one look, as the engine's next would be. */
export const alertAnswer = Effect.fnUntraced(function* (
  { treasury, mode }: InForce,
  rule: AlertRule,
  knowledge: KnownBy | null,
) {
  const database = yield* Database
  return yield* database.atomically(
    Effect.gen(function* () {
      const { memories } = yield* (yield* RuleStates).byKey
      const facts = factsOf(yield* peekRound(yield* takeSnapshot(memories), memories))
      const memory = memories.get(memoryKey(rule.name, alertSubject))
      return {
        about: "alert",
        rule: rule.name,
        at: facts.now,
        knowledge,
        alert: explainAlert(rule, facts, memory),
        decided: memory ? { at: memory.reasonSince, reason: memory.reason ?? null, detail: memory.detail } : null,
        last: (yield* lastAlertOf(rule, facts.now)) ?? null,
      } satisfies AlertAnswer
    }).pipe(Effect.provideService(EngineOptions, engineSettings(treasury, mode))),
  )
})
