import { isOn } from "./alerting.ts"
import type { AlertRule } from "./Condition.ts"
import { type Conclusion, conclude } from "./conclude.ts"
import type { Facts } from "./evaluate.ts"
import { type Lock, locksOf, mayLock } from "./failures.ts"
import { type AlertLook, lookAtAlerts } from "./lookAtAlert.ts"
import { overlaid, type Rehearsal } from "./overlay.ts"
import { type Memories, memoryKey, silencesOf } from "./RuleMemory.ts"
import type { Snapshot } from "./Snapshot.ts"
import type { Subject } from "./Subject.ts"
import { round } from "./step.ts"

/** All that one round depends on. */
export interface RoundContext {
  /** As it is before the round: with the pauses in force and the rules that fired at the last one. */
  readonly snapshot: Snapshot
  readonly memories: Memories
  /** What rules that pay look at, in the order of the file, and what of it is to be looked at now. */
  readonly paying: ReadonlyArray<Subject>
  readonly due: ReadonlyArray<Subject>
  /** What rules look at that only rehearse, and what they would have moved so far. */
  readonly rehearsing: ReadonlyArray<Subject>
  readonly rehearsals: ReadonlyArray<Rehearsal>
  /** Rules that tell people of conditions and are to be looked at now. */
  readonly alerts: ReadonlyArray<AlertRule>
  readonly past: Facts["past"]
  readonly watchedSince: number
  /** When a person last ended a pause of each scope (Unix milliseconds); used where `mayLock`. */
  readonly ended: ReadonlyMap<string, number>
}

/** What a round comes to, for whoever holds the context to write down. */
export interface Decided {
  readonly locks: ReadonlyArray<Lock>
  readonly alerts: ReadonlyArray<AlertLook>
  readonly conclusions: ReadonlyArray<Conclusion>
}

/**
 * One round: rules whose payments fail lock themselves, conditions are judged, and rules decide. Those that rehearse
 * come after those that pay, and see their own payments as if they had been made. The same context gives the same
 * decisions, whoever asks: the daemon, a plan, an explanation, a test or a backtest.
 */
export const decideRound = (context: RoundContext): Decided => {
  const { snapshot: seen, memories, paying, due, rehearsing, rehearsals } = context
  const named = () => new Set([...paying, ...rehearsing].map(({ rule }) => rule.name))
  const locks = mayLock(seen.settled) ? locksOf(named(), seen, context.ended) : []
  const alerts = context.alerts.length === 0 ? [] : lookAtAlerts(context.alerts, factsOf(context), memories)
  const snapshot = {
    ...seen,
    pauses: locks.length === 0 ? seen.pauses : [...seen.pauses, ...locks],
    firing: firingAfter(alerts, seen.firing),
  }
  const memoryOf = ({ rule, name }: Subject) => memories.get(memoryKey(rule.name, name))
  // What stops a rule is seen by its subjects at rest as well.
  const paid = round(locks.length > 0 ? paying : due, snapshot, memoryOf)
  const tried = round(rehearsing, overlaid(paid.snapshot, rehearsals), memoryOf)
  return {
    locks,
    alerts,
    conclusions: [
      ...paid.outcomes.map((outcome) => conclude(outcome, memoryOf(outcome.look.subject), false)),
      ...tried.outcomes.map((outcome) => conclude(outcome, memoryOf(outcome.look.subject), true)),
    ],
  }
}

/** What conditions are judged by. */
export const factsOf = ({
  snapshot,
  memories,
  past,
  watchedSince,
}: Pick<RoundContext, "snapshot" | "memories" | "past" | "watchedSince">): Facts => ({
  ...snapshot,
  past,
  watchedSince,
  silences: silencesOf(memories),
})

const firingAfter = (alerts: ReadonlyArray<AlertLook>, before: ReadonlySet<string>): ReadonlySet<string> => {
  if (alerts.length === 0) return before
  const firing = new Set(before)
  for (const { memory } of alerts) {
    if (isOn(memory)) firing.add(memory.rule)
    else firing.delete(memory.rule)
  }
  return firing
}
