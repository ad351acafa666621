import type { HoldReason } from "../domain/Decision.ts"
import { earliestAfter, millisOf, nanosOf } from "../domain/Time.ts"
import { history } from "../rules/checks/history.ts"
import { lateTimes } from "../rules/kinds/payoutNotices.ts"
import { memoryKey, type RuleMemory } from "../rules/RuleMemory.ts"
import type { Outcome } from "../rules/round.ts"
import { hoursAt, plannedAfter } from "../rules/Schedule.ts"
import type { Subject } from "../rules/Subject.ts"
import { observationsMin, type SubjectFacts } from "../rules/SubjectFacts.ts"
import { type Band, bandOf, type Holding, isWithin } from "./Ledger.ts"

/** When a subject is due, and its results so far. */
export interface SubjectEntry {
  readonly subject: Subject
  /** The key of its memory. */
  readonly key: string
  readonly band: Band | undefined
  /** Undefined before the first evaluation. */
  outcome: Outcome | undefined
  /** Milliseconds of each reason; "acting" while it paid or requested. */
  readonly millis: Map<HoldReason | "acting", number>
  /** It needs nothing; only its accounts, the calendar or people can change that. */
  quiet: boolean
  /** Something that it depends on has changed. */
  touched: boolean
  /** Unix milliseconds at which time alone may change its result. */
  wakeAt: number
}

export const makeEntry = (subject: Subject, start: number): SubjectEntry => ({
  subject,
  key: memoryKey(subject.rule.name, subject.name),
  band: bandOf(subject),
  outcome: undefined,
  millis: new Map(),
  quiet: false,
  touched: true,
  wakeAt: start,
})

/** True if a change of one of its accounts may change the result of a quiet subject. */
export const mayChange = ({ band }: SubjectEntry, { seen }: Holding): boolean => {
  if (band === undefined || seen === undefined) return true
  return !isWithin(band, band.level.balance === "free" ? seen.free : seen.total)
}

export const isQuiet = ({ facts: { need }, judgement: { decision, timer } }: Outcome): boolean =>
  need !== undefined &&
  need._tag !== "Wanted" &&
  timer.firingSince === undefined &&
  decision._tag === "Hold" &&
  decision.reason !== "no_data"

/** Adds the time since the subject's last result to that result's sum. */
export const closeSpan = ({ millis }: SubjectEntry, last: RuleMemory | undefined, now: number): void => {
  if (last === undefined) return
  const reason = last.reason ?? "acting"
  millis.set(reason, (millis.get(reason) ?? 0) + now - last.reasonSince)
}

/** Reasons that end with an epoch of the network. */
const ofEpoch: ReadonlySet<string> = new Set(["quota", "yielded"])

/**
 * Unix milliseconds at which to evaluate the subject next if nothing happens. `nextFree`: when a limit of the policy
 * has room again; `silentSince`: since when no gateway answers.
 */
export const wakeOf = (
  { facts, judgement: { decision } }: Outcome,
  nextFree: (now: number) => number,
  silentSince: number | undefined,
): number => {
  const { now } = facts.snapshot
  const tooOld = silentSince === undefined ? [] : [tooOldAt(facts, silentSince)]
  const pauseEnds = facts.snapshot.pauses.flatMap(({ until }) => until ?? [])
  const next = Math.min(nextMoment(facts), earliestAfter(now, [...tooOld, ...pauseEnds]))
  if (decision._tag !== "Hold") return next
  if (decision.reason === "limit") return Math.min(next, nextFree(now))
  if (!ofEpoch.has(decision.reason)) return next
  const ends = facts.subject.payers.flatMap(({ publicKey }) => facts.snapshot.quota(publicKey)?.endsAt ?? [])
  return Math.min(next, ...ends)
}

const cooldown = history.find(({ reason }) => reason === "cooldown")!

/** Times of the plan and the calendar, whatever the balances are. */
const calendar = function* ({ subject: { rule }, snapshot, need }: SubjectFacts): Iterable<number> {
  const { now } = snapshot
  if (rule.during !== undefined) yield hoursAt(rule.during, now).until
  for (const { from, until } of rule.maintenance) yield from > now ? from : until
  if (need?.next !== undefined) yield need.next
}

/** True if the snapshot is of this moment, so that the next one is another observation. */
const isFresh = ({ snapshot: { now, asOf } }: SubjectFacts): boolean => asOf === nanosOf(now)

/** Times that matter while there is a need. */
const waits = function* (facts: SubjectFacts): Iterable<number> {
  const { subject, snapshot, need, timer } = facts
  const { now, settled } = snapshot
  if (timer.firingSince !== undefined) {
    yield timer.firingSince + subject.rule.forMillis
    if (timer.observations < observationsMin && isFresh(facts)) yield now + 1
  }
  yield cooldown.ends?.(facts) ?? now
  for (const { settledAt } of settled) {
    if (settledAt !== undefined) yield millisOf(settledAt) + subject.rule.settleMillis + 1
  }
  if (subject.kind !== "payout" || need?._tag !== "Wanted") return
  yield plannedAfter(subject.rule.schedule, now)
  yield* lateTimes(facts)
  yield (need.episode ?? 0) * 1_000 + subject.rule.schedule.lateMillis + 1
}

/** When data that were known at a moment become too old for the subject (Unix milliseconds). */
const tooOldAt = ({ subject: { rule }, snapshot }: SubjectFacts, known: number): number =>
  known + (rule.maxAgeMillis ?? snapshot.maxAgeMillis) + 1

/**
 * The first moment (Unix milliseconds) after the evaluation at which time alone may change the decision; infinite if it
 * never does. Limits of the policy, epochs of the network and the age of the knowledge are not in it. It may come too
 * early, never too late.
 */
const nextMoment = (facts: SubjectFacts): number => {
  const { now } = facts.snapshot
  const planned = earliestAfter(now, calendar(facts))
  if (facts.need !== undefined && facts.need._tag !== "Wanted") return planned
  return Math.min(planned, earliestAfter(now, waits(facts)))
}
