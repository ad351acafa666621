import type { HoldReason, RuleState } from "../domain/Decision.ts"
import type { SubjectHold } from "./evaluate.ts"
import { isAlert, type Rule } from "./Rule.ts"
import type { Memory } from "./SubjectFacts.ts"

/** State of one rule and subject, kept between evaluations and across restarts. */
export interface RuleMemory extends Memory {
  readonly rule: string
  readonly subject: string
  readonly state: RuleState
  /** Why it holds; undefined while it acts, and where it was removed. */
  readonly reason: HoldReason | undefined
  readonly detail: string
  readonly reasonSince: number
  /** As in `AlertMemory`; only for alert rules. */
  readonly clearingSince?: number | undefined
  readonly alertedAt?: number | undefined
  readonly decidedAt: number
}

/** True if a changed file removed its rule or subject: it neither acts nor holds. */
export const isRemoved = ({ state, reason }: RuleMemory): boolean => state === "inactive" && reason === undefined

/** Key of a subject's memory. */
export const memoryKey = (rule: string, subject: string): string => `${rule}|${subject}`

/** By `memoryKey`. */
export type Memories = ReadonlyMap<string, RuleMemory>

/** True if an evaluation changed nothing and needs no write: a quiet treasury evaluates once a second for months. */
export const isSameMemory = (a: RuleMemory, b: RuleMemory | undefined): boolean =>
  b !== undefined &&
  a.episode === b.episode &&
  a.firingSince === b.firingSince &&
  a.observations === b.observations &&
  a.state === b.state &&
  a.reason === b.reason &&
  a.reasonSince === b.reasonSince &&
  a.detail === b.detail &&
  a.clearingSince === b.clearingSince &&
  a.alertedAt === b.alertedAt

/** Rules whose condition was true at the last evaluation; of alert rules, those that fire. */
export const firingOf = (memories: Memories, rules: ReadonlyArray<Rule>): ReadonlySet<string> => {
  const alerts = new Set(rules.filter(isAlert).map(({ name }) => name))
  const firing = new Set<string>()
  for (const memory of memories.values()) {
    if (alerts.has(memory.rule) ? isOn(memory) : memory.firingSince !== undefined) firing.add(memory.rule)
  }
  return firing
}

/** Hold reasons of each rule, by its name. */
export const subjectHoldsOf = (memories: Memories): ((rule: string) => ReadonlyArray<SubjectHold> | undefined) => {
  const holds = new Map<string, Array<SubjectHold>>()
  for (const { rule, subject, reason, reasonSince: since } of memories.values()) {
    const own = holds.get(rule)
    if (own === undefined) holds.set(rule, [{ subject, reason, since }])
    else own.push({ subject, reason, since })
  }
  return (rule) => holds.get(rule)
}

/** State of an alert rule, kept between two evaluations and across restarts. */
export interface AlertMemory {
  /** Counts the times that it fired. */
  readonly episode: number
  readonly state: RuleState
  /** Unix milliseconds since which the condition holds; undefined while it does not. */
  readonly firingSince: number | undefined
  /** Unix milliseconds since which the clear condition is true, while it fires. */
  readonly clearingSince?: number | undefined
  /** Unix milliseconds of the last notification. */
  readonly alertedAt?: number | undefined
}

/** True if the alert rule fires, with or without an alert sent. */
export const isOn = ({ state }: Pick<AlertMemory, "state">): boolean => state === "acting" || state === "holding"
