import type { HoldReason, RuleState } from "../domain/Decision.ts"
import type { Silence } from "./evaluate.ts"
import { isOn } from "./kinds/alerting.ts"
import type { Memory } from "./Look.ts"
import { isAlert, type Rule } from "./Rule.ts"

/** What a rule remembers about one subject between evaluations, and across restarts. */
export interface RuleMemory extends Memory {
  readonly rule: string
  readonly subject: string
  readonly state: RuleState
  /** Why it is silent; undefined while it acts. */
  readonly reason: HoldReason | undefined
  readonly detail: string
  readonly reasonSince: number
  /** Of a rule that tells people: Unix milliseconds since which its alert is over, while it is on. */
  readonly clearingSince?: number | undefined
  /** Of a rule that tells people: when they last heard of it. */
  readonly toldAt?: number | undefined
  readonly decidedAt: number
}

/** Under which a subject's memory is found. */
export const memoryKey = (rule: string, subject: string): string => `${rule}|${subject}`

/** By `memoryKey`. */
export type Memories = ReadonlyMap<string, RuleMemory>

/** Whether a look has found nothing new: it costs no write, and a calm treasury looks once a second for months. */
export const isSameMemory = (a: RuleMemory, b: RuleMemory | undefined): boolean =>
  b !== undefined &&
  a.episode === b.episode &&
  a.firingSince === b.firingSince &&
  a.observations === b.observations &&
  a.state === b.state &&
  a.reason === b.reason &&
  a.detail === b.detail &&
  a.clearingSince === b.clearingSince &&
  a.toldAt === b.toldAt

/** Rules whose condition held at the last look; of those that tell people, that fire. */
export const firingOf = (memories: Memories, rules: ReadonlyArray<Rule>): ReadonlySet<string> => {
  const alerts = new Set(rules.filter(isAlert).map(({ name }) => name))
  const firing = new Set<string>()
  for (const memory of memories.values()) {
    if (alerts.has(memory.rule) ? isOn(memory) : memory.firingSince !== undefined) firing.add(memory.rule)
  }
  return firing
}

/** What each rule is silent for. */
export const silencesOf = (memories: Memories): ((rule: string) => ReadonlyArray<Silence> | undefined) => {
  const silences = new Map<string, Array<Silence>>()
  for (const { rule, subject, reason, reasonSince: since } of memories.values()) {
    const own = silences.get(rule)
    if (own === undefined) silences.set(rule, [{ subject, reason, since }])
    else own.push({ subject, reason, since })
  }
  return (rule) => silences.get(rule)
}
