import type { Alerted } from "../rules/alerting.ts"
import { accountKey } from "../rules/overlay.ts"
import { madeUp } from "../rules/payout.ts"
import { askAll, questionsOf } from "../rules/questions.ts"
import { commandOf } from "../rules/Subject.ts"
import { type Outcome, step } from "../rules/step.ts"
import type { Alarms } from "./Alarms.ts"
import type { Waiting } from "./Approving.ts"
import { apply, noteChange, touchAll } from "./applyEvent.ts"
import { closeSpan, type Entry, isQuiet, wakeOf } from "./Entry.ts"
import { endMeasure } from "./Holding.ts"
import { blockAfter, type Ledger } from "./Ledger.ts"
import { type Listener, makePlay, type Play } from "./Play.ts"
import { isMadeUp, tellLetGo } from "./plannedTimes.ts"
import { firingOf, momentOf, snapshotOf } from "./snapshotOf.ts"
import { tickAt, tickMillis } from "./Tick.ts"
import type { Windows } from "./Windows.ts"
import type { Miss, Paid, Told, WorldEvent, WorldSettings } from "./World.ts"

/** Rules over a treasury in memory and a clock that jumps. */
export interface Rehearsal {
  /** Plays events, oldest first, and all that follows from them, up to and with `until` (Unix milliseconds). */
  readonly advance: (events: Iterable<WorldEvent>, until: number) => Promise<void>
  readonly now: () => number
  readonly ledger: Ledger
  readonly windows: Windows
  readonly told: ReadonlyArray<Told>
  /** What people said of payments in vain. */
  readonly misses: ReadonlyArray<Miss>
  /** Payments that wait for approval. */
  readonly waiting: () => ReadonlyArray<Waiting>
  readonly entries: ReadonlyArray<Entry>
  readonly alarms: Alarms["all"]
  /** What a rule that tells of a condition says at this moment. */
  readonly alerted: (rule: string) => Alerted | undefined
  /** What a subject says at this moment. */
  readonly outcome: (rule: string, subject: string) => Outcome | undefined
  /** Adds up times up to now; call it last. */
  readonly end: () => void
  /** How often the rules were asked, and how many subjects in all. */
  readonly asked: { looks: number; subjects: number }
}

export const makeRehearsal = (settings: WorldSettings, listener: Listener = {}): Rehearsal => {
  const play = makePlay(settings, listener)
  const { state, ledger, windows, told, misses, approving, entries, alarms, asked } = play
  return {
    ledger,
    windows,
    told,
    misses,
    waiting: approving.waiting,
    entries,
    asked,
    alarms: alarms.all,
    alerted: (rule) => alarms.saying(rule, momentOf(play)),
    now: () => state.now,
    advance: (events, until) => advance(play, events[Symbol.iterator](), until),
    outcome: (rule, subject) => {
      const entry = entries.find((e) => e.subject.rule.name === rule && e.subject.name === subject)
      if (entry?.outcome === undefined) return undefined
      // Between two looks only the words of the same answer change: how long it still takes.
      const { answers } = entry.outcome.look.snapshot
      const now = { ...snapshotOf(play, firingOf(play)), ...(answers === undefined ? {} : { answers }) }
      const again = step([entry.subject], now, () => entry.memory)[0]!
      return isSameReason(again, entry.outcome) ? again : entry.outcome
    },
    end: () => {
      for (const entry of entries) closeSpan(entry, state.now)
      for (const holding of ledger.holdings.values()) endMeasure(holding, state.now)
    },
  }
}

const isSameReason = ({ judgement: { decision: a } }: Outcome, { judgement: { decision: b } }: Outcome): boolean =>
  a._tag === "Hold" && b._tag === "Hold" && a.reason === b.reason

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
    await lookAround(play)
  }
  state.now = Math.max(state.now, tickAt(start, until - tickMillis + 1))
}

/** When to look if nothing happens. */
const wakeAt = ({ state, entries, alarms, approving, settings }: Play): number => {
  if (!state.begun) return settings.start
  if (state.restless) return state.now + tickMillis
  let next = Math.min(alarms.wakeAt(), approving.nextAt(state.now))
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
    for (const key of ends) noteChange(play, play.ledger.holding(accountKey(key, assetId)), block)
  }
}

/** Asks the rules about whoever may say something new. */
const lookAround = async (play: Play): Promise<void> => {
  const { state, entries, settings } = play
  const { now } = state
  const everybody = !state.begun || settings.everySecond === true
  changeStops(play)
  signApproved(play)
  lookAtConditions(play, everybody)
  const wanted = everybody
    ? entries
    : entries.filter((entry) => entry.touched || entry.wakeAt <= now || (state.restless && !entry.quiet))
  // Those with a need share funds and slots, so that one of them is never asked alone.
  const woken = wanted.some(({ quiet }) => !quiet) ? new Set(wanted) : undefined
  const asked = woken === undefined || everybody ? wanted : entries.filter((entry) => woken.has(entry) || !entry.quiet)
  state.begun = true
  state.restless = false
  if (asked.length === 0) return
  play.asked.looks++
  play.asked.subjects += asked.length
  const byKey = new Map(asked.map((entry) => [entry.subject, entry]))
  const firing = firingOf(play)
  const subjects = asked.map(({ subject }) => subject)
  const snapshot = snapshotOf(play, firing)
  const { answers, waited } = askAll(questionsOf(subjects, snapshot))
  await Promise.all(waited)
  const outcomes = step(subjects, { ...snapshot, answers }, (subject) => byKey.get(subject)?.memory)
  for (const outcome of outcomes) keep(play, byKey.get(outcome.look.subject)!, outcome)
  if (isSame(firing, firingOf(play))) return
  state.restless = true
  touchInhibited(play)
}

/** Pauses end, and rules that failed too often lock themselves. */
const changeStops = (play: Play): void => {
  const { state, ledger, locks, told } = play
  const { now } = state
  const ended = state.pauses.filter(({ until }) => until !== undefined && until <= now)
  const locked = state.failed ? locks.next(ledger.settledSince(now - play.keepMillis), now) : []
  state.failed = false
  told.push(...locked.map((lock) => lock.told))
  if (ended.length === 0 && locked.length === 0) return
  const still = state.pauses.filter((pause) => !ended.includes(pause))
  state.pauses = [...still, ...locked.map(({ scope, told: { detail: reason } }) => ({ scope, reason }))]
  touchAll(play)
}

/** What people have approved is signed, what they let pass is over. */
const signApproved = ({ state, approving }: Play): void => {
  const changed = approving.advance(state)
  if (changed.length > 0) state.restless = true
  if (changed.some((paid) => paid.state === "denied")) state.failed = true
}

/** People are told whatever stops money. Rules that others forbid see it in the same look. */
const lookAtConditions = (play: Play, everybody: boolean): void => {
  const { alarms, told } = play
  if (alarms.all.length === 0) return
  const before = alarms.firing()
  told.push(...alarms.look(momentOf(play), everybody))
  if (!isSame(before, alarms.firing())) touchInhibited(play)
}

const touchInhibited = ({ entries }: Play): void => {
  for (const entry of entries) if (entry.subject.rule.inhibitedBy.length > 0) entry.touched = true
}

const isSame = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
  a.size === b.size && [...a].every((name) => b.has(name))

/** Remembers what was said, and does it. Episodes are counted as the daemon counts them. */
const keep = (play: Play, entry: Entry, outcome: Outcome): void => {
  const { state, listener, told, asks } = play
  const { now } = state
  const { subject } = entry
  const { timer, planned, concluded } = outcome.judgement
  const before = entry.memory
  tellLetGo(play, entry, outcome)
  const made = isMadeUp(play, subject, planned)
  const decision = made ? madeUp : outcome.judgement.decision
  const edge = before?.firingSince === undefined && timer.firingSince !== undefined
  const counted = (before?.episode ?? 0) + (edge && subject.kind !== "payout" ? 1 : 0)
  const reason = decision._tag === "Hold" ? decision.reason : undefined
  if (entry.outcome === undefined || reason !== entry.reason) {
    closeSpan(entry, now)
    entry.reason = reason
    play.alarms.said(subject.rule.name)
    listener.said?.({ at: now, rule: subject.rule.name, subject: subject.name, reason, detail: decision.detail })
    state.restless = true
  }
  if (decision._tag === "Act") {
    for (const payment of decision.payments) pay(play, entry, payment, decision.detail, planned ?? counted)
  } else if (decision._tag === "Ask") {
    const [payment] = decision.payments
    if (payment !== undefined) told.push(asks.ask(subject, payment, { at: now, detail: decision.detail }))
    state.restless = true
  } else if (subject.kind === "request" && reason === "in_band") {
    const ended = asks.end(subject, { at: now, detail: decision.detail })
    if (ended !== undefined) told.push(ended)
  }
  const episode = (made || decision._tag === "Act" ? planned : undefined) ?? concluded ?? counted
  const { firingSince, observations, lastObservation } = timer
  if (before?.episode !== episode || before?.firingSince !== firingSince) state.restless = true
  entry.memory = { episode, firingSince, observations, lastObservation }
  entry.outcome = outcome
  entry.touched = false
  entry.quiet = isQuiet(outcome)
  entry.wakeAt = wakeOf(outcome, play.windows.nextFree, state.silentSince)
}

const pay = (
  play: Play,
  { subject }: Entry,
  payment: Paid["intent"]["payment"],
  detail: string,
  episode: number,
): void => {
  const { state, ledger, windows, approving, settings } = play
  const paid = ledger.pay(subject, payment, { at: state.now, detail, episode })
  state.restless = true
  if (paid.group !== undefined) {
    approving.put(paid, paid.group, subject)
    return
  }
  const { fromKey, toKey, assetId, amount } = payment
  const isSlot = commandOf(subject) !== "withdraw"
  const settlesAt = blockAfter(state.now, settings)
  windows.sign({ from: fromKey, to: toKey, assetId, amount, at: state.now, settlesAt, isSlot })
}
