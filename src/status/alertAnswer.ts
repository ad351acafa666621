import { Clock, Effect } from "effect"
import type { InForce } from "../config/ConfigInForce.ts"
import { EngineOptions, engineSettings } from "../engine/EngineOptions.ts"
import { factsOf } from "../engine/factsOf.ts"
import { takeSnapshot } from "../engine/snapshot.ts"
import { alertMemoryOf } from "../engine/watchConditions.ts"
import { alertSubject } from "../rules/alerting.ts"
import type { AlertRule } from "../rules/Condition.ts"
import { type AlertExplanation, explainAlert } from "../rules/explainAlert.ts"
import { Database } from "../store/Database.ts"
import type { StoredDecision } from "../store/decisionsAround.ts"
import { lastAlertOf } from "../store/lastAlertOf.ts"
import { memoryKey, RuleStates } from "../store/RuleStates.ts"
import { Settings } from "../store/Settings.ts"
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
      const memories = new Map((yield* (yield* RuleStates).all).map((m) => [memoryKey(m.rule, m.subject), m]))
      const now = yield* Clock.currentTimeMillis
      const watchedSince = Effect.map((yield* Settings).get("watchedSince"), (stored) => stored ?? String(now))
      const facts = yield* factsOf([rule], yield* takeSnapshot(memories.values()), memories, watchedSince)
      const memory = memories.get(memoryKey(rule.name, alertSubject))
      return {
        about: "alert",
        rule: rule.name,
        at: facts.now,
        knowledge,
        alert: explainAlert(rule, facts, memory && alertMemoryOf(memory)),
        decided: memory ? { at: memory.reasonSince, reason: memory.reason ?? null, detail: memory.detail } : null,
        last: (yield* lastAlertOf(rule, facts.now)) ?? null,
      } satisfies AlertAnswer
    }).pipe(Effect.provideService(EngineOptions, engineSettings(treasury, mode))),
  )
})
