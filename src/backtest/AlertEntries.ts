import { earliestAfter } from "../domain/Time.ts"
import { type AlertRule, type Past, partsOf, pastKey, pastsOf } from "../rules/Condition.ts"
import type { ConditionFacts } from "../rules/evaluate.ts"
import type { AlertResult } from "../rules/kinds/alerting.ts"
import { isOn, type RuleMemory } from "../rules/RuleMemory.ts"
import { hoursAt } from "../rules/Schedule.ts"
import { accountKey } from "../rules/Snapshot.ts"
import { type Holding, seenOf } from "./Ledger.ts"

/** An alert rule with its next evaluation and its history. Times are Unix milliseconds. */
interface AlertEntry {
  readonly rule: AlertRule
  /** True if something that it depends on has changed. */
  touched: boolean
  /** Time of the next evaluation if nothing changes. */
  wakeAt: number
  /** Periods in which its condition was true for its `for`; `until` is undefined while one lasts. */
  readonly spans: Array<{ readonly from: number; until: number | undefined }>
  /** How often its condition became true, for however short a time. */
  begun: number
}

/** Evaluates alert rules only when their result may change. */
export const makeAlertEntries = (rules: ReadonlyArray<AlertRule>, start: number) => {
  const pasts = makePasts(rules.flatMap(pastsOf))
  const all = rules.map((rule): AlertEntry => ({ rule, touched: true, wakeAt: start, spans: [], begun: 0 }))
  const byName = new Map(all.map((entry) => [entry.rule.name, entry]))
  const byAccount = byPart(all, (part) =>
    "account" in part ? accountKey(part.account.party.publicKey, part.account.asset.id) : staleAccount(part),
  )
  const byHeld = byPart(all, (part) => (part._tag === "Held" ? part.rule : undefined))
  const touch = (entries: ReadonlyArray<AlertEntry> = []): void => {
    for (const entry of entries) entry.touched = true
  }
  const wakeOf = ({ rule, memory }: AlertResult, facts: ConditionFacts, silentSince: number | undefined): number => {
    const moments = [...timersOf(rule, memory, facts.now)]
    for (const part of partsOf(rule)) {
      if ("account" in part && silentSince !== undefined) moments.push(silentSince + facts.maxAgeMillis + 1)
      if (part._tag === "Stale") {
        moments.push(start + part.longerThanMillis + 1, (silentSince ?? start) + part.longerThanMillis + 1)
      } else if (part._tag === "Held") {
        for (const { since } of facts.ruleHolds(part.rule) ?? []) moments.push(since + part.longerThanMillis + 1)
      } else if ("overMillis" in part && silentSince === undefined) {
        moments.push(pasts.nextAfter(part) + part.overMillis)
      }
    }
    return earliestAfter(facts.now, moments)
  }
  return {
    all,
    /** A balance changed. `isSeen`: false while no gateway reports it to the rules. */
    changed: (holding: Holding, at: number, isSeen: boolean): void => {
      pasts.add(holding, at)
      if (isSeen) touch(byAccount.get(holding.key))
    },
    /** The decision of another rule changed, which `Held` conditions watch. */
    decided: (rule: string): void => touch(byHeld.get(rule)),
    touchAll: (): void => touch(all),
    wakeAt: (): number => all.reduce((next, { wakeAt }) => Math.min(next, wakeAt), Number.POSITIVE_INFINITY),
    /** Balances before a moment. */
    pastAt:
      (moment: number): ConditionFacts["past"] =>
      (past) =>
        pasts.at(past, moment - past.overMillis),
    /** Rules whose result may have changed. */
    due: (now: number): ReadonlyArray<AlertRule> =>
      all.filter(({ touched, wakeAt }) => touched || wakeAt <= now).map(({ rule }) => rule),
    /** Records the results of a round. `facts` are those after the round. */
    evaluated: (results: ReadonlyArray<AlertResult>, facts: ConditionFacts, silentSince: number | undefined): void => {
      for (const { rule } of results) byName.get(rule.name)!.touched = false
      for (const result of results) {
        record(byName.get(result.rule.name)!, result, facts.now)
        if (result.memory.reason !== result.before?.reason) touch(byHeld.get(result.rule.name))
      }
      for (const result of results) byName.get(result.rule.name)!.wakeAt = wakeOf(result, facts, silentSince)
      for (const entry of all) if (entry.touched) entry.wakeAt = facts.now + 1
    },
  }
}

type Part = ReturnType<typeof partsOf>[number]

const byPart = (all: ReadonlyArray<AlertEntry>, keyOf: (part: Part) => string | undefined) => {
  const found = new Map<string, ReadonlyArray<AlertEntry>>()
  for (const entry of all) {
    for (const key of new Set(partsOf(entry.rule).map(keyOf))) {
      if (key !== undefined) found.set(key, [...(found.get(key) ?? []), entry])
    }
  }
  return found
}

/** Account of a `Stale` condition, which its first balance may end. */
const staleAccount = (part: Part): string | undefined =>
  part._tag === "Stale" && part.party !== undefined && part.asset !== undefined
    ? accountKey(part.party.publicKey, part.asset.id)
    : undefined

const timersOf = function* (
  { forMillis, during, cooldownMillis }: AlertRule,
  memory: RuleMemory,
  now: number,
): Iterable<number> {
  const { firingSince, clearingSince, state, alertedAt } = memory
  if (!isOn(memory)) {
    if (firingSince !== undefined) yield firingSince + forMillis
    return
  }
  if (clearingSince !== undefined) yield clearingSince + forMillis
  if (state !== "holding") return
  if (during !== undefined) yield hoursAt(during, now).until
  if (alertedAt !== undefined) yield alertedAt + cooldownMillis
}

/** Counts how often, and how long, the rule is on. */
const record = (entry: AlertEntry, { memory, before }: AlertResult, now: number): void => {
  const { spans } = entry
  const wasOn = before !== undefined && isOn(before)
  if (!wasOn && memory.firingSince !== undefined && before?.firingSince === undefined) entry.begun++
  if (isOn(memory) && !wasOn) spans.push({ from: now, until: undefined })
  if (!isOn(memory) && wasOn) spans.at(-1)!.until = now
}

interface Trail {
  readonly past: Past
  ats: Array<number>
  units: Array<bigint>
  /** Index of the balance at `requestedAt`, or of the first one. */
  head: number
  requestedAt: number
}

/** Past balances, as far back as conditions need them. Times are Unix milliseconds. */
const makePasts = (pasts: Iterable<Past>) => {
  const trails = new Map<string, Trail>()
  const byAccount = new Map<string, Array<Trail>>()
  for (const past of pasts) {
    if (trails.has(pastKey(past))) continue
    const { party, asset } = past.account
    const trail: Trail = { past, ats: [], units: [], head: 0, requestedAt: Number.NEGATIVE_INFINITY }
    trails.set(pastKey(past), trail)
    const key = accountKey(party.publicKey, asset.id)
    byAccount.set(key, [...(byAccount.get(key) ?? []), trail])
  }
  return {
    add: (holding: Holding, at: number): void => {
      for (const trail of byAccount.get(holding.key) ?? []) {
        const units = seenOf(holding)[trail.past.account.balance]
        if (trail.units.at(-1) === units) continue
        trail.ats.push(at)
        trail.units.push(units)
      }
    },
    /** The balance at a time, which may only grow from call to call; undefined before the first balance. */
    at: (past: Past, time: number): bigint | undefined => {
      const trail = trails.get(pastKey(past))
      if (trail === undefined) return undefined
      trail.requestedAt = time
      while ((trail.ats[trail.head + 1] ?? Number.POSITIVE_INFINITY) <= time) trail.head++
      dropPassed(trail)
      return (trail.ats[trail.head] ?? Number.POSITIVE_INFINITY) <= time ? trail.units[trail.head] : undefined
    },
    /** First time after the last requested one at which the balance differs; infinite if there is none. */
    nextAfter: (past: Past): number => {
      const { ats, head, requestedAt } = trails.get(pastKey(past))!
      const at = ats[head] ?? Number.POSITIVE_INFINITY
      return at > requestedAt ? at : (ats[head + 1] ?? Number.POSITIVE_INFINITY)
    },
  }
}

const dropPassed = (trail: Trail): void => {
  if (trail.head < 1_000) return
  trail.ats = trail.ats.slice(trail.head)
  trail.units = trail.units.slice(trail.head)
  trail.head = 0
}
