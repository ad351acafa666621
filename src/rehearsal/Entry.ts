import type { HoldReason } from "../domain/Decision.ts"
import type { Memory } from "../rules/Look.ts"
import type { Subject } from "../rules/Subject.ts"
import type { Outcome } from "../rules/step.ts"
import { type Band, bandOf, isWithin } from "./bandOf.ts"
import type { Holding } from "./Holding.ts"
import { nextMoment, tooOldAt } from "./nextMoment.ts"

/** What is remembered of a subject between two looks. */
export interface Entry {
  readonly subject: Subject
  readonly band: Band | undefined
  memory: Memory | undefined
  /** Undefined before the first look. */
  outcome: Outcome | undefined
  reason: HoldReason | undefined
  /** Unix milliseconds since when the reason is this one. */
  since: number
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
  band: bandOf(subject),
  memory: undefined,
  outcome: undefined,
  reason: undefined,
  since: start,
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
export const closeSpan = (entry: Entry, now: number): void => {
  if (entry.outcome === undefined) return
  const word = entry.reason ?? "acting"
  entry.millis.set(word, (entry.millis.get(word) ?? 0) + now - entry.since)
  entry.since = now
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
