import type { HoldReason } from "../domain/Decision.ts"
import { memoryKey, type RuleMemory } from "../rules/RuleMemory.ts"
import type { Subject } from "../rules/Subject.ts"
import type { Outcome } from "../rules/step.ts"
import { type Band, bandOf, isWithin } from "./bandOf.ts"
import type { Holding } from "./Holding.ts"
import { nextMoment, tooOldAt } from "./nextMoment.ts"

/** When a subject has to be looked at, and what it came to so far. */
export interface Entry {
  readonly subject: Subject
  /** The key of its memory. */
  readonly key: string
  readonly band: Band | undefined
  /** Undefined before the first look. */
  outcome: Outcome | undefined
  /** Milliseconds of each reason; "acting" where it paid or asked. */
  readonly millis: Map<HoldReason | "acting", number>
  /** It needs nothing, and nothing but its own accounts, the calendar or people can change that. */
  quiet: boolean
  /** Something that it depends on has changed. */
  touched: boolean
  /** Unix milliseconds at which time alone may change what it says. */
  wakeAt: number
}

export const makeEntry = (subject: Subject, start: number): Entry => ({
  subject,
  key: memoryKey(subject.rule.name, subject.name),
  band: bandOf(subject),
  outcome: undefined,
  millis: new Map(),
  quiet: false,
  touched: true,
  wakeAt: start,
})

/** Whether a change of one of its accounts may change what a quiet subject says. */
export const isLeft = ({ band }: Entry, { seen }: Holding): boolean => {
  if (band === undefined || seen === undefined) return true
  return !isWithin(band, band.level.balance === "free" ? seen.free : seen.total)
}

export const isQuiet = ({ look: { need }, judgement: { decision, timer } }: Outcome): boolean =>
  need !== undefined &&
  need._tag !== "Wanted" &&
  timer.firingSince === undefined &&
  decision._tag === "Hold" &&
  decision.reason !== "no_data"

/** Adds up how long the subject has said what it says. */
export const closeSpan = ({ millis }: Entry, said: RuleMemory | undefined, now: number): void => {
  if (said === undefined) return
  const word = said.reason ?? "acting"
  millis.set(word, (millis.get(word) ?? 0) + now - said.reasonSince)
}

/** Reasons that the policy's windows or the network's epochs end. */
const windowed: ReadonlySet<string> = new Set(["limit"])
const slotted: ReadonlySet<string> = new Set(["quota", "yielded"])

/** When to look at it again if nothing happens meanwhile. */
export const wakeOf = (
  { look, judgement: { decision } }: Outcome,
  nextFree: (now: number) => number,
  silentSince: number | undefined,
): number => {
  const { now } = look.snapshot
  let next = nextMoment(look)
  const tooOld = silentSince === undefined ? now : tooOldAt(look, silentSince)
  if (tooOld > now && tooOld < next) next = tooOld
  for (const { until } of look.snapshot.pauses) if (until !== undefined && until < next) next = until
  if (decision._tag !== "Hold") return next
  if (windowed.has(decision.reason)) return Math.min(next, nextFree(now))
  if (!slotted.has(decision.reason)) return next
  const ends = look.subject.payers.flatMap(({ publicKey }) => look.snapshot.quota(publicKey)?.endsAt ?? [])
  return Math.min(next, ...ends)
}
