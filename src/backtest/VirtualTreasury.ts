import type { Conclusion } from "../rules/conclude.ts"
import { type Decided, decideRound, factsOf } from "../rules/decideRound.ts"
import { type Alerted, alertSubject, evaluateAlert } from "../rules/kinds/alerting.ts"
import { askAll, questionsOf } from "../rules/kinds/code.ts"
import { firingOf, type Memories, memoryKey } from "../rules/RuleMemory.ts"
import type { Outcome } from "../rules/round.ts"
import { accountKey } from "../rules/Snapshot.ts"
import { commandOf } from "../rules/Subject.ts"
import { closeSpan, isQuiet, type SubjectEntry, wakeOf } from "./Entry.ts"
import { blockAfter, endMeasure } from "./Ledger.ts"
import { apply, applyChange, contextOf, type Listener, makePlay, type Play, sendNotices, touchAll } from "./Play.ts"
import type { DecidedPayment, RaisedAlert, UnmatchedAnswer, WorldEvent, WorldSettings } from "./World.ts"

/** Runs rules over a treasury in memory. Its time jumps from event to event. */
export type VirtualTreasury = ReturnType<typeof makeVirtualTreasury>

export const makeVirtualTreasury = (settings: WorldSettings, listener: Listener = {}) => {
  const play = makePlay(settings, listener)
  const { state, ledger, limits, raised, misses, approvals, entries, alertEntries, counts } = play
  return {
    ledger,
    limits,
    raised: raised as ReadonlyArray<RaisedAlert>,
    /** Approvals and rejections that matched no payment. */
    misses: misses as ReadonlyArray<UnmatchedAnswer>,
    waiting: approvals.waiting,
    entries,
    /** Number of rounds, and of evaluated subjects in all. */
    counts,
    alertEntries: alertEntries.all,
    memories: state.memories as Memories,
    /** State of an alert rule at this moment. */
    alerted: (name: string): Alerted | undefined => {
      const found = alertEntries.all.find(({ rule }) => rule.name === name)
      const { memories, ...context } = contextOf(play, [], [])
      const before = memories.get(memoryKey(name, alertSubject))
      return found && evaluateAlert(found.rule, factsOf({ ...context, memories }), before)
    },
    now: () => state.now,
    /** Applies events, oldest first, and runs the rules up to and with `until` (Unix milliseconds). */
    advance: (events: Iterable<WorldEvent>, until: number) => advance(play, events[Symbol.iterator](), until),
    outcome: (rule: string, subject: string): Outcome | undefined => {
      const entry = entries.find((e) => e.subject.rule.name === rule && e.subject.name === subject)
      if (entry?.outcome === undefined) return undefined
      // Between two evaluations only the remaining times in the text change.
      const { answers } = entry.outcome.facts.snapshot
      const context = contextOf(play, [entry.subject], [])
      const snapshot = { ...context.snapshot, ...(answers === undefined ? {} : { answers }) }
      const again = decideRound({ ...context, snapshot }).conclusions[0]?.outcome
      return again !== undefined && isSameReason(again, entry.outcome) ? again : entry.outcome
    },
    /** Adds the unfinished times of holds and bands to their sums. Call it last. */
    end: (): void => {
      for (const entry of entries) closeSpan(entry, state.memories.get(entry.key), state.now)
      for (const holding of ledger.holdings.values()) endMeasure(holding, state.now)
    },
  }
}

const isSameReason = ({ judgement: { decision: a } }: Outcome, { judgement: { decision: b } }: Outcome): boolean =>
  a._tag === "Hold" && b._tag === "Hold" && a.reason === b.reason

/** Jumps from one evaluation to the next: at an event, a block, or a time at which a result may change. */
const advance = async (play: Play, events: Iterator<WorldEvent>, until: number): Promise<void> => {
  const { state, settings, ledger } = play
  const { start, everySecond } = settings
  let next = events.next()
  for (;;) {
    const eventAt = next.done === true ? Number.POSITIVE_INFINITY : next.value.at
    const due = Math.min(eventAt, ledger.nextBlock(), wakeAt(play))
    const at = everySecond === true && state.begun ? state.now + tickMillis : Math.max(state.now, tickAt(start, due))
    if (at > until || at === Number.POSITIVE_INFINITY) break
    state.now = at
    // Events and blocks up to this evaluation, in the order of time; an event before a block of the same time.
    for (;;) {
      const block = ledger.nextBlock()
      if (next.done === true || next.value.at > at || next.value.at > block) {
        if (block > at) break
        settle(play, block)
      } else {
        apply(play, next.value)
        next = events.next()
      }
    }
    await evaluateDue(play)
  }
  state.now = Math.max(state.now, tickAt(start, until - tickMillis + 1))
}

/** Time of the next evaluation if no event or block comes before. */
const wakeAt = ({ state, entries, alertEntries, approvals, settings }: Play): number => {
  if (!state.begun) return settings.start
  if (state.restless) return state.now + tickMillis
  let next = Math.min(alertEntries.wakeAt(), approvals.nextAt(state.now))
  for (const entry of entries) if (entry.wakeAt < next) next = entry.wakeAt
  return next
}

const settle = (play: Play, block: number): void => {
  for (const { state, intent } of play.ledger.settle(block)) {
    play.state.restless = true
    play.state.failed ||= state === "failed"
    if (state === "failed") continue
    const { fromKey, toKey, assetId } = intent.payment
    const ends = intent.command === "withdraw" ? [fromKey] : [fromKey, toKey]
    for (const key of ends) applyChange(play, play.ledger.holding(accountKey(key, assetId)), block)
  }
}

const evaluateDue = async (play: Play): Promise<void> => {
  const { state, entries, settings, alertEntries } = play
  const { now } = state
  const isAll = !state.begun || settings.everySecond === true
  endPauses(play)
  signApproved(play)
  const alerts = isAll ? alertEntries.all.map(({ rule }) => rule) : alertEntries.due(now)
  touchInhibited(
    play,
    alerts.map(({ name }) => name),
  )
  const isWoken = (entry: SubjectEntry): boolean => isAll || entry.touched || entry.wakeAt <= now
  // Subjects with a need compete for funds and for the epoch's transfers: if one is evaluated, all are.
  const withNeeds = state.restless || entries.some((entry) => !entry.quiet && isWoken(entry))
  const evaluated = entries.filter((entry) => isWoken(entry) || (withNeeds && !entry.quiet))
  state.begun = true
  state.restless = false
  if (evaluated.length === 0 && alerts.length === 0 && !state.failed) return
  const before = firingOf(state.memories, settings.rules)
  const due = evaluated.map(({ subject }) => subject)
  const context = contextOf(play, due, alerts)
  // After a failure a rule may lock itself, which evaluates all its subjects: ask the code of each.
  const { answers, waited } = askAll(questionsOf(state.failed ? play.subjects : due, context.snapshot))
  await Promise.all(waited)
  const decided = decideRound({ ...context, snapshot: { ...context.snapshot, answers } })
  state.failed = false
  applyLocksAndAlerts(play, decided)
  play.counts.rounds++
  play.counts.subjects += decided.conclusions.length
  for (const conclusion of decided.conclusions) conclude(play, conclusion)
  const changed = before.symmetricDifference(firingOf(state.memories, settings.rules))
  if (changed.size === 0) return
  state.restless = true
  touchInhibited(play, [...changed])
}

const endPauses = (play: Play): void => {
  const { state } = play
  const still = state.pauses.filter(({ until }) => until === undefined || until > state.now)
  if (still.length === state.pauses.length) return
  state.pauses = still
  touchAll(play)
}

/** Signs approved payments, and ends those whose approval lapsed. */
const signApproved = ({ state, approvals }: Play): void => {
  const changed = approvals.advance(state)
  if (changed.length > 0) state.restless = true
  if (changed.some((paid) => paid.state === "denied")) state.failed = true
}

/** Locks rules that failed too often, and sends alerts. */
const applyLocksAndAlerts = (play: Play, { locks, alerts }: Decided): void => {
  const { state, alertEntries } = play
  if (locks.length > 0) {
    state.pauses = [...state.pauses, ...locks.map(({ scope, reason }) => ({ scope, reason }))]
  }
  for (const { memory } of alerts) state.memories.set(memoryKey(memory.rule, memory.subject), memory)
  if (alerts.length > 0) alertEntries.evaluated(alerts, factsOf(contextOf(play, [], [])), state.silentSince)
  sendNotices(
    play,
    [...locks, ...alerts].flatMap(({ notice }) => notice ?? []),
  )
}

/** Marks the subjects of rules that the named rules inhibit. */
const touchInhibited = ({ entries }: Play, by: ReadonlyArray<string>): void => {
  if (by.length === 0) return
  for (const entry of entries)
    if (entry.subject.rule.inhibitedBy.some((name) => by.includes(name))) entry.touched = true
}

/** Stores a subject's result and acts on it. */
const conclude = (play: Play, { outcome, memory, before, notices }: Conclusion): void => {
  const { state, listener, byKey } = play
  const { now } = state
  const { rule, subject, reason, detail, episode, firingSince } = memory
  const entry = byKey.get(memoryKey(rule, subject))!
  if (before === undefined || reason !== before.reason) {
    closeSpan(entry, before, now)
    play.alertEntries.decided(rule)
    listener.decided?.({ at: now, rule, subject, reason, detail })
    state.restless = true
  }
  state.memories.set(entry.key, memory)
  const { decision } = outcome.judgement
  if (decision._tag === "Act") for (const payment of decision.payments) pay(play, entry, payment, detail, episode)
  if (decision._tag === "Ask") state.restless = true
  sendNotices(play, notices)
  if (before?.episode !== episode || before?.firingSince !== firingSince) state.restless = true
  entry.outcome = outcome
  entry.touched = false
  entry.quiet = isQuiet(outcome)
  entry.wakeAt = wakeOf(outcome, play.limits.nextFree, state.silentSince)
}

const pay = (
  play: Play,
  { subject }: SubjectEntry,
  payment: DecidedPayment["intent"]["payment"],
  detail: string,
  episode: number,
): void => {
  const { state, ledger, limits, approvals, settings } = play
  const paid = ledger.pay(subject, payment, { at: state.now, detail, episode })
  state.restless = true
  if (paid.group !== undefined) {
    approvals.request(paid, paid.group, subject)
    return
  }
  const { fromKey, toKey, assetId, amount } = payment
  const usesQuota = commandOf(subject) !== "withdraw"
  const settlesAt = blockAfter(state.now, settings)
  limits.sign({ from: fromKey, to: toKey, assetId, amount, at: state.now, settlesAt, usesQuota })
}

/** Rules are evaluated at most once a second, counted from the start. */
const tickMillis = 1_000

/** The first evaluation at or after a moment. */
const tickAt = (start: number, moment: number): number => start + Math.ceil((moment - start) / tickMillis) * tickMillis
