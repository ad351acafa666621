import { Effect } from "effect"
import { type AlertMemory, alertSubject } from "../rules/alerting.ts"
import type { AlertRule } from "../rules/Condition.ts"
import type { Facts } from "../rules/evaluate.ts"
import { type AlertNews, lookAtAlert, seeBoth } from "../rules/lookAtAlert.ts"
import { isAlert } from "../rules/Rule.ts"
import type { Snapshot } from "../rules/Snapshot.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { memoryKey, type RuleMemory, RuleStates } from "../store/RuleStates.ts"
import { Settings } from "../store/Settings.ts"
import { Signals } from "../store/Signals.ts"
import { EngineOptions } from "./EngineOptions.ts"
import { factsOf } from "./factsOf.ts"

/**
 * Judges the conditions that people are told of, whatever keeps money from moving: alerts and memories become durable
 * with the round's decisions. Returns the memories.
 */
export const watchConditions = Effect.fn("Engine.watchConditions")(function* (
  snapshot: Snapshot,
  memories: ReadonlyMap<string, RuleMemory>,
) {
  const { rules } = yield* EngineOptions
  const alerts = rules.filter(isAlert)
  if (alerts.length === 0) return []
  const settings = yield* Settings
  const watchedSince = settings.getOrMake("watchedSince", Effect.succeed(String(snapshot.now)))
  const facts = yield* factsOf(alerts, snapshot, memories, watchedSince)
  return yield* Effect.forEach(alerts, (rule) => look(rule, facts, memories.get(memoryKey(rule.name, alertSubject))))
})

const look = Effect.fnUntraced(function* (rule: AlertRule, facts: Facts, before: RuleMemory | undefined) {
  const { now } = facts
  const { alerted, news } = lookAtAlert(rule, seeBoth(rule, facts), { before: before && alertMemoryOf(before), now })
  const { tell: _, ...kept } = alerted
  const memory: RuleMemory = {
    ...kept,
    rule: rule.name,
    subject: alertSubject,
    observations: 0,
    lastObservation: 0n,
    reasonSince: before !== undefined && before.reason === alerted.reason ? before.reasonSince : now,
    decidedAt: now,
  }
  if (!isSame(memory, before)) yield* (yield* RuleStates).save(memory, before)
  if (news !== undefined) yield* raise(rule, alerted.episode, news)
  return { memory, before }
})

/** What an alert's rule remembers, as its looks take it. */
export const alertMemoryOf = ({ clearingSince, toldAt, ...memory }: RuleMemory): AlertMemory => ({
  ...memory,
  clearingSince,
  toldAt,
})

/** A look that changes nothing costs no write. */
const isSame = (a: RuleMemory, b: RuleMemory | undefined): boolean =>
  b !== undefined &&
  a.episode === b.episode &&
  a.state === b.state &&
  a.reason === b.reason &&
  a.detail === b.detail &&
  a.firingSince === b.firingSince &&
  a.clearingSince === b.clearingSince &&
  a.toldAt === b.toldAt

/** One alert when it fires, one piece of news when it is over: each time that it fires has one of each. */
const raise = Effect.fnUntraced(function* (rule: AlertRule, episode: number, { isOver, severity, detail }: AlertNews) {
  yield* (yield* AlertQueue).raise({
    dedup: `rule/${rule.name}/${episode}${isOver ? "/over" : ""}`,
    severity,
    kind: "rule",
    subject: rule.name,
    detail,
    fields: { rule: rule.name, episode, over: isOver },
    ...(isOver ? { resolves: [`rule/${rule.name}/${episode}`] } : {}),
  })
  yield* (yield* Signals).wake("alerts")
})
