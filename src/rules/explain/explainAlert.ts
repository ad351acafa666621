import { formatAmount, formatLevel } from "../../domain/Amount.ts"
import { statusText } from "../../domain/Asset.ts"
import { timeText } from "../../domain/Time.ts"
import {
  type AlertRule,
  type Condition,
  conditionText,
  type Past,
  type PlainCondition,
  stepText,
} from "../Condition.ts"
import { type ConditionFacts, evaluate, isCountedHold } from "../evaluate.ts"
import { type Alerted, evaluateAlert } from "../kinds/alerting.ts"
import { type AlertMemory, isOn } from "../RuleMemory.ts"
import { hoursAt } from "../Schedule.ts"
import { ageMillis } from "../Snapshot.ts"

/** A comparison, or several joined, on what is known now. */
export interface SeenCondition {
  /** null: a comparison. */
  readonly join: "all" | "any" | "not" | null
  /** "hot/USDT is below 10,000" */
  readonly text: string
  /** null: not known. */
  readonly holds: boolean | null
  /** Compared value, such as "9,500.00"; null if unknown, and for several conditions. */
  readonly observed: string | null
  /** Level it was compared with, such as "below 10,000"; null for several conditions. */
  readonly level: string | null
  /** Age of the balances that were compared; null of several, of what is no balance, and where none was read. */
  readonly ageSeconds: number | null
  /** The sentence with the numbers. */
  readonly detail: string
  readonly of: ReadonlyArray<SeenCondition>
}

export type AlertTimers = ReturnType<typeof timersOf>

/**
 * Explains why an alert rule fires or not, as its next evaluation would decide: all that it depends on, as plain
 * values. Times are Unix milliseconds.
 */
export const explainAlert = (rule: AlertRule, facts: ConditionFacts, before: AlertMemory | undefined) => {
  const alerted = evaluateAlert(rule, facts, before)
  return {
    rule: rule.name,
    severity: rule.severity,
    /** acting: it fires, and people heard of it. holding: it fires, and they have not. */
    state: alerted.state,
    /** Why no alert is sent; null if one is. */
    reason: alerted.reason ?? null,
    /** "low fires: hot/USDT: 9,500.00 is below 10,000" */
    sentence: `${rule.name} ${verdictText(alerted)}`,
    when: seenOf(rule.when, facts),
    /** Must hold before it is over; null: it is over as soon as `when` is not so any more. */
    clear: rule.clear === undefined ? null : seenOf(rule.clear, facts),
    firingSince: alerted.firingSince ?? null,
    timers: timersOf(rule, alerted, before?.alertedAt, facts.now),
  }
}

const verdictText = ({ state, reason, detail }: Alerted): string => {
  const why = reason === undefined || reason === "in_band" ? detail : `${reason.replaceAll("_", " ")}, ${detail}`
  if (state === "acting") return `fires: ${detail}`
  return state === "holding" ? `fires, without an alert: ${why}` : `does not fire: ${why}`
}

const timersOf = (
  { forMillis, cooldownMillis, during }: AlertRule,
  alerted: Alerted,
  alertedAt: number | undefined,
  now: number,
) => {
  const { firingSince, clearingSince } = alerted
  const on = isOn(alerted)
  const hours = during === undefined ? undefined : hoursAt(during, now)
  const free = alertedAt === undefined ? now : alertedAt + cooldownMillis
  return {
    forMillis,
    cooldownMillis,
    /** When it fires, if its condition holds until then; null where it does not hold, or fires already. */
    firesAt: on || firingSince === undefined ? null : firingSince + forMillis,
    /** When it is over, if it stays so until then; null where it does not fire, or still holds. */
    overAt: on && clearingSince !== undefined ? clearingSince + forMillis : null,
    cooldownEndsAt: free > now ? free : null,
    /** When the hours begin in which alerts are sent; null: they may now. */
    opensAt: hours?.open === false ? hours.until : null,
  }
}

const joins = { All: "all", Any: "any", Not: "not" } as const

const seenOf = (condition: Condition, facts: ConditionFacts): SeenCondition => {
  const { truth, sentence } = evaluate(condition, facts)
  const seen = { text: conditionText(condition), holds: truth ?? null, detail: sentence }
  if ("of" in condition) {
    const parts = condition._tag === "Not" ? [condition.of] : condition.of
    const of = parts.map((part) => seenOf(part, facts))
    return { ...seen, join: joins[condition._tag], observed: null, level: null, ageSeconds: null, of }
  }
  const isOfBalances = condition._tag !== "Asset" && condition._tag !== "Held"
  const ageSeconds = isOfBalances && facts.asOf !== undefined ? ageMillis(facts, facts.asOf) / 1_000 : null
  return {
    ...seen,
    join: null,
    observed: observedIn(condition, facts) ?? null,
    level: levelOf(condition),
    ageSeconds,
    of: [],
  }
}

const levelOf = (part: PlainCondition): string => {
  switch (part._tag) {
    case "Balance":
      return `${part.side} ${formatLevel(part.units, part.account.asset.decimals)}`
    case "Change":
      return `${part.side} ${stepText(part.by, part.account.asset)}`
    case "Rate":
      return `${part.side} ${formatLevel(part.units, part.account.asset.decimals)} an hour`
    case "Asset":
      return [...part.is].map(statusText).join(" or ")
    case "Stale":
    case "Held":
      return `longer than ${timeText(part.longerThanMillis)}`
  }
}

/** Value that the condition compares; undefined if unknown. Balances too old for a decision are shown too. */
const observedIn = (part: PlainCondition, facts: ConditionFacts): string | undefined => {
  switch (part._tag) {
    case "Balance": {
      const { party, asset, balance } = part.account
      const units = facts.balance(party.publicKey, asset.id, balance)
      return units === undefined ? undefined : formatAmount(units, asset.decimals)
    }
    case "Change":
    case "Rate": {
      const moved = movedIn(part, facts)
      if (moved === undefined) return undefined
      const units = part._tag === "Change" ? moved : (moved * 3_600_000n) / BigInt(part.overMillis)
      return `${formatAmount(units, part.account.asset.decimals)}${part._tag === "Change" ? "" : " an hour"}`
    }
    case "Asset":
      return facts.listed && statusText(facts.listed.get(part.asset.id)?.status ?? "not listed")
    case "Stale":
      return facts.asOf === undefined ? undefined : timeText(ageMillis(facts, facts.asOf))
    case "Held": {
      const counted = facts.ruleHolds(part.rule)?.filter((hold) => isCountedHold(part, hold))
      if (counted === undefined) return undefined
      const [first] = counted.toSorted((a, b) => a.since - b.since)
      if (first === undefined) return "not held"
      return `${first.subject} held for ${first.reason?.replaceAll("_", " ")}, ${timeText(facts.now - first.since)}`
    }
  }
}

const movedIn = (past: Past, facts: ConditionFacts): bigint | undefined => {
  const { party, asset, balance } = past.account
  const now = facts.balance(party.publicKey, asset.id, balance)
  const before = facts.past(past)
  return now === undefined || before === undefined ? undefined : now - before
}
