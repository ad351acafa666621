import { alertOf } from "../domain/alerts/Alert.ts"
import { sumText } from "../domain/Decision.ts"
import type { Intent } from "../domain/Intent.ts"
import { dayMillis } from "../domain/Time.ts"
import type { AlertRule } from "./Condition.ts"
import { lockScope } from "./checks/stops.ts"
import { type Conclusion, conclude } from "./conclude.ts"
import type { ConditionFacts } from "./evaluate.ts"
import { type AlertResult, evaluateAlerts } from "./kinds/alerting.ts"
import type { Notice } from "./Need.ts"
import { isOn, type Memories, memoryKey, subjectHoldsOf } from "./RuleMemory.ts"
import { round } from "./round.ts"
import type { Snapshot } from "./Snapshot.ts"
import { overlaid, type TrialMovement } from "./Snapshot.ts"
import type { Subject } from "./Subject.ts"

/** All that one round depends on. */
export interface RoundContext {
  /** As it is before the round: with the pauses in force and the rules that fired at the last one. */
  readonly snapshot: Snapshot
  readonly memories: Memories
  /** Subjects of rules that pay, in the order of the file, and those of them that are due now. */
  readonly paying: ReadonlyArray<Subject>
  readonly due: ReadonlyArray<Subject>
  /** Subjects of rules that only simulate, and the payments simulated so far. */
  readonly rehearsing: ReadonlyArray<Subject>
  readonly rehearsals: ReadonlyArray<TrialMovement>
  /** Alert rules to evaluate now. */
  readonly alerts: ReadonlyArray<AlertRule>
  readonly past: ConditionFacts["past"]
  readonly watchedSince: number
  /** When a person last ended a pause of each scope (Unix milliseconds); used where `mayLock`. */
  readonly ended: ReadonlyMap<string, number>
}

/** Result of a round, for the caller to store. */
export interface Decided {
  readonly locks: ReadonlyArray<Lock>
  readonly alerts: ReadonlyArray<AlertResult>
  readonly conclusions: ReadonlyArray<Conclusion>
}

/**
 * One round: rules whose payments fail lock themselves, conditions are judged, and rules decide. Rules on trial decide
 * after those that pay, as if their own payments had been made. The same context gives the same decisions to the
 * daemon, a plan, an explanation, a test and a backtest.
 */
export const decideRound = (context: RoundContext): Decided => {
  const { snapshot: seen, memories, paying, due, rehearsing, rehearsals } = context
  const named = () => new Set([...paying, ...rehearsing].map(({ rule }) => rule.name))
  const locks = mayLock(seen.settled) ? locksOf(named(), seen, context.ended) : []
  const alerts = context.alerts.length === 0 ? [] : evaluateAlerts(context.alerts, factsOf(context), memories)
  const snapshot = {
    ...seen,
    pauses: locks.length === 0 ? seen.pauses : [...seen.pauses, ...locks],
    firing: firingAfter(alerts, seen.firing),
  }
  const memoryOf = ({ rule, name }: Subject) => memories.get(memoryKey(rule.name, name))
  const { settled } = seen
  // A rehearsal moved no money: it delays no payment, only the next rehearsal.
  const moved = settled.some(isRehearsal) ? settled.filter((intent) => !isRehearsal(intent)) : settled
  // A lock affects the rule's quiet subjects as well.
  const paid = round(locks.length > 0 ? paying : due, { ...snapshot, settled: moved }, memoryOf)
  const tried = round(rehearsing, overlaid({ ...paid.snapshot, settled }, rehearsals), memoryOf)
  return {
    locks,
    alerts,
    conclusions: [
      ...paid.outcomes.map((outcome) => conclude(outcome, memoryOf(outcome.facts.subject), false)),
      ...tried.outcomes.map((outcome) => conclude(outcome, memoryOf(outcome.facts.subject), true)),
    ],
  }
}

const isRehearsal = ({ state }: Intent): boolean => state === "rehearsed"

/** Builds the input of alert conditions. */
export const factsOf = ({
  snapshot,
  memories,
  past,
  watchedSince,
}: Pick<RoundContext, "snapshot" | "memories" | "past" | "watchedSince">): ConditionFacts => ({
  ...snapshot,
  past,
  watchedSince,
  ruleHolds: subjectHoldsOf(memories),
})

const firingAfter = (alerts: ReadonlyArray<AlertResult>, before: ReadonlySet<string>): ReadonlySet<string> => {
  if (alerts.length === 0) return before
  const firing = new Set(before)
  for (const { memory } of alerts) {
    if (isOn(memory)) firing.add(memory.rule)
    else firing.delete(memory.rule)
  }
  return firing
}

/** Consecutive failed payments of a rule that lock it. */
const failuresMax = 3
/** Older ones do not count. */
const withinMillis = dayMillis

const failed: ReadonlySet<string> = new Set(["failed", "denied", "abandoned"])

/**
 * The rule's last payments if all of them failed within a day and were decided after `since` (Unix milliseconds), which
 * locks the rule. Undefined if they are too few, or one was paid. Payments ended by people do not count.
 */
const failuresOf = (
  rule: string,
  settled: ReadonlyArray<Intent>,
  { now, since }: { readonly now: number; readonly since: number },
): ReadonlyArray<Intent> | undefined => {
  const counted = settled.filter(
    (intent) =>
      intent.rule === rule &&
      (intent.state === "confirmed" || failed.has(intent.state)) &&
      intent.createdAt > since &&
      intent.updatedAt > now - withinMillis,
  )
  const last = counted.slice(-failuresMax)
  return last.length === failuresMax && last.every(({ state }) => failed.has(state)) ? last : undefined
}

/** True if enough payments failed for any rule to lock itself. */
export const mayLock = (settled: ReadonlyArray<Intent>): boolean => {
  let count = 0
  for (const { state } of settled) if (failed.has(state) && ++count === failuresMax) return true
  return false
}

/** A rule that locks itself: the pause, and the alert. */
interface Lock {
  readonly scope: string
  readonly reason: string
  readonly notice: Notice
}

/**
 * Rules whose last payments all failed and that are not locked yet. Failures from before an unlock never count
 * again: `ended` is when a person last ended a pause of each scope (Unix milliseconds).
 */
const locksOf = (
  rules: Iterable<string>,
  { now, settled, pauses }: Pick<Snapshot, "now" | "settled" | "pauses">,
  ended: ReadonlyMap<string, number>,
): ReadonlyArray<Lock> => {
  const locked = new Set(pauses.map(({ scope }) => scope))
  return [...rules].flatMap((rule) => {
    const scope = lockScope(rule)
    const failures = locked.has(scope) ? undefined : failuresOf(rule, settled, { now, since: ended.get(scope) ?? 0 })
    return failures === undefined ? [] : [lockOf(rule, scope, failures)]
  })
}

const lockOf = (rule: string, scope: string, failures: ReadonlyArray<Intent>): Lock => {
  const { id, detail, payment, decimals } = failures.at(-1)!
  const reason = `its last ${failures.length} payments failed; the last: ${detail}`
  const { from, to } = payment
  const amount = sumText(payment, decimals)
  const alert = alertOf("rule_locked", { rule, scope, reason, amount, from, to, intent: id })
  return { scope, reason, notice: { topic: "locked", rule, subject: rule, brief: reason, alert } }
}
