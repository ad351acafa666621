import { Effect } from "effect"
import { alertSubject } from "../rules/alerting.ts"
import { type AlertRule, pastKey, pastsOf } from "../rules/Condition.ts"
import type { Facts, Silence } from "../rules/evaluate.ts"
import { type AlertNews, lookAtAlert, seeBoth } from "../rules/lookAtAlert.ts"
import { isAlert } from "../rules/Rule.ts"
import type { Snapshot } from "../rules/Snapshot.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Observations } from "../store/Observations.ts"
import { memoryKey, type RuleMemory, RuleStates } from "../store/RuleStates.ts"
import { Settings } from "../store/Settings.ts"
import { Signals } from "../store/Signals.ts"
import { EngineOptions } from "./EngineOptions.ts"
import { balanceOf } from "./snapshot.ts"

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
  const facts = yield* factsOf(alerts, snapshot, memories)
  return yield* Effect.forEach(alerts, (rule) => look(rule, facts, memories.get(memoryKey(rule.name, alertSubject))))
})

const factsOf = Effect.fnUntraced(function* (
  alerts: ReadonlyArray<AlertRule>,
  snapshot: Snapshot,
  memories: ReadonlyMap<string, RuleMemory>,
) {
  const observations = yield* Observations
  const { now, asOf } = snapshot
  const pasts = new Map<string, bigint | undefined>()
  for (const past of alerts.flatMap(pastsOf)) {
    const { party, asset, balance } = past.account
    const key = pastKey(past)
    if (asOf === undefined || pasts.has(key)) continue
    const rows = yield* observations.at(party.publicKey, asset.id, asOf - BigInt(past.overMillis) * 1_000_000n)
    pasts.set(key, rows === undefined ? undefined : balanceOf(rows)(party.publicKey, asset.id, balance))
  }
  const silences = new Map<string, Array<Silence>>()
  for (const { rule, subject, reason, reasonSince: since } of memories.values()) {
    const own = silences.get(rule)
    if (own === undefined) silences.set(rule, [{ subject, reason, since }])
    else own.push({ subject, reason, since })
  }
  const settings = yield* Settings
  const watchedSince = Number(yield* settings.getOrMake("watchedSince", Effect.succeed(String(now))))
  return {
    ...snapshot,
    watchedSince,
    past: (past) => pasts.get(pastKey(past)),
    silences: (rule) => silences.get(rule),
  } satisfies Facts
})

const look = Effect.fnUntraced(function* (rule: AlertRule, facts: Facts, before: RuleMemory | undefined) {
  const { now } = facts
  const { alerted, news } = lookAtAlert(rule, seeBoth(rule, facts), { before: before && memoryOf(before), now })
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

const memoryOf = ({ clearingSince, toldAt, ...memory }: RuleMemory) => ({ ...memory, clearingSince, toldAt })

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
  })
  yield* (yield* Signals).wake("alerts")
})
