import { accountKey } from "../rules/overlay.ts"
import { isPaying, type NotifyRule } from "../rules/Rule.ts"
import type { Snapshot } from "../rules/Snapshot.ts"
import { commandOf, subjectsOf } from "../rules/Subject.ts"
import { type Outcome, step } from "../rules/step.ts"
import { type Asks, makeAsks } from "./Asks.ts"
import { closeSpan, type Entry, isLeft, isQuiet, makeEntry, wakeOf } from "./Entry.ts"
import { endMeasure, type Holding, look } from "./Holding.ts"
import { type Ledger, makeLedger } from "./Ledger.ts"
import { tickAt, tickMillis } from "./Tick.ts"
import { makeWindows, type Windows } from "./Windows.ts"
import type { Paid, Said, Told, WorldEvent, WorldSettings } from "./World.ts"

/** Who is told while it runs. */
export interface Listener {
  readonly said?: (said: Said) => void
  readonly changed?: (holding: Holding, at: number) => void
}

/** Rules over a treasury in memory and a clock that jumps. */
export interface Rehearsal {
  /** Plays events, oldest first, and all that follows from them, up to and with `until` (Unix milliseconds). */
  readonly advance: (events: Iterable<WorldEvent>, until: number) => void
  readonly now: () => number
  readonly ledger: Ledger
  readonly windows: Windows
  readonly told: ReadonlyArray<Told>
  readonly entries: ReadonlyArray<Entry>
  /** What a subject says at this moment. */
  readonly outcome: (rule: string, subject: string) => Outcome | undefined
  /** Adds up times up to now; call it last. */
  readonly end: () => void
  /** How often the rules were asked, and how many subjects in all. */
  readonly asked: { looks: number; subjects: number }
}

const dayMillis = 86_400_000

interface State {
  now: number
  begun: boolean
  /** Unix milliseconds since when no gateway answers. */
  silentSince: number | undefined
  readonly halts: Array<string>
  pauses: ReadonlyArray<{ readonly scope: string; readonly reason: string; readonly until?: number }>
  listed: Map<string, NonNullable<ReturnType<NonNullable<Snapshot["listed"]>["get"]>>>
  /** Whoever is not quiet is asked at the next look. */
  restless: boolean
}

/** Everything of one rehearsal, for the functions below. */
interface Play {
  readonly settings: WorldSettings
  readonly listener: Listener
  readonly state: State
  readonly ledger: Ledger
  readonly windows: Windows
  readonly asks: Asks
  readonly told: Array<Told>
  readonly entries: ReadonlyArray<Entry>
  /** By account: subjects that look at it, and those that are paid from it. */
  readonly watchers: ReadonlyMap<string, { readonly own: ReadonlyArray<Entry>; readonly paid: ReadonlyArray<Entry> }>
  readonly notify: ReadonlyArray<NotifyRule>
  readonly keepMillis: number
  readonly cooldownMax: number
  readonly priorities: ReadonlyMap<string, number>
  readonly asked: { looks: number; subjects: number }
}

export const makeRehearsal = (settings: WorldSettings, listener: Listener = {}): Rehearsal => {
  const play = makePlay(settings, listener)
  const { state, ledger, windows, told, entries, asked } = play
  return {
    ledger,
    windows,
    told,
    entries,
    asked,
    now: () => state.now,
    advance: (events, until) => advance(play, events[Symbol.iterator](), until),
    outcome: (rule, subject) => {
      const entry = entries.find((e) => e.subject.rule.name === rule && e.subject.name === subject)
      if (entry?.outcome === undefined) return undefined
      // Between two looks only the words of the same answer change: how long it still takes.
      const again = step([entry.subject], snapshotOf(play, firingOf(entries)), () => entry.memory)[0]!
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

const makePlay = (settings: WorldSettings, listener: Listener): Play => {
  const { rules, start, assets, policy, quota } = settings
  const paying = rules.filter(isPaying)
  const entries = paying.flatMap(subjectsOf).map((subject) => makeEntry(subject, start))
  const ledger = makeLedger(settings)
  for (const { subject, band } of entries) {
    if (band === undefined) continue
    const { party, asset } = band.level
    const outside = { band, rule: subject.rule.name, since: undefined, millis: 0, times: 0 }
    ledger.holding(accountKey(party.publicKey, asset.id)).outside.push(outside)
  }
  const cooldownMax = paying.reduce((most, rule) => Math.max(most, rule.cooldownMillis), 0)
  return {
    settings,
    listener,
    ledger,
    entries,
    cooldownMax,
    windows: makeWindows(policy, quota, start),
    asks: makeAsks(),
    told: [],
    asked: { looks: 0, subjects: 0 },
    state: {
      now: start,
      begun: false,
      silentSince: undefined,
      halts: [],
      pauses: [],
      listed: new Map([...assets].map(([id, asset]) => [id, { ...asset, status: "enabled" }])),
      restless: false,
    },
    watchers: watchersOf(entries),
    notify: rules.filter((rule) => rule.kind === "notify"),
    keepMillis: paying.reduce(
      (most, rule) => Math.max(most, rule.settleMillis + tickMillis),
      Math.max(dayMillis, cooldownMax),
    ),
    priorities: new Map(paying.map(({ name, priority }) => [name, priority])),
  }
}

const watchersOf = (entries: ReadonlyArray<Entry>): Play["watchers"] => {
  const found = new Map<string, { own: Array<Entry>; paid: Array<Entry> }>()
  const of = (key: string) => {
    const known = found.get(key) ?? { own: [], paid: [] }
    found.set(key, known)
    return known
  }
  for (const entry of entries) {
    const { accounts, payers, asset } = entry.subject
    for (const account of accounts) of(accountKey(account.party.publicKey, account.asset.id)).own.push(entry)
    for (const payer of payers) of(accountKey(payer.publicKey, asset.id)).paid.push(entry)
  }
  return found
}

const advance = (play: Play, events: Iterator<WorldEvent>, until: number): void => {
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
    lookAround(play)
  }
  state.now = Math.max(state.now, tickAt(start, until - tickMillis + 1))
}

/** When to look if nothing happens. */
const wakeAt = ({ state, entries, settings }: Play): number => {
  if (!state.begun) return settings.start
  if (state.restless) return state.now + tickMillis
  let next = Number.POSITIVE_INFINITY
  for (const entry of entries) if (entry.wakeAt < next) next = entry.wakeAt
  return next
}

const settle = (play: Play, block: number): void => {
  for (const { state, intent } of play.ledger.settle(block)) {
    play.state.restless = true
    if (state === "failed") continue
    const { fromKey, toKey, assetId } = intent.payment
    const ends = intent.command === "withdraw" ? [fromKey] : [fromKey, toKey]
    for (const key of ends) noteChange(play, play.ledger.holding(accountKey(key, assetId)), block)
  }
}

const noteChange = (play: Play, holding: Holding, at: number): void => {
  play.listener.changed?.(holding, at)
  if (play.state.silentSince !== undefined) return
  look(holding)
  const watchers = play.watchers.get(holding.key)
  if (watchers === undefined) return
  for (const entry of watchers.own) {
    if (!entry.quiet) play.state.restless = true
    else if (isLeft(entry, holding)) entry.touched = true
  }
  for (const entry of watchers.paid) if (!entry.quiet) play.state.restless = true
}

const touchAll = ({ entries }: Play): void => {
  for (const entry of entries) entry.touched = true
}

const apply = (play: Play, event: WorldEvent): void => {
  if (event.kind === "move" || event.kind === "set") {
    noteChange(play, play.ledger.change(event), event.at)
    return
  }
  const { state } = play
  touchAll(play)
  if (event.kind === "asset") applyAsset(play, event)
  else if (event.kind === "halt") state.halts.push(event.reason)
  else if (event.kind === "pause") {
    const { scope, reason, until } = event
    state.pauses = [...state.pauses, { scope, reason, ...(until === undefined ? {} : { until }) }]
  } else if (event.kind === "resume") {
    if (event.scope === undefined) state.halts.length = 0
    state.pauses = event.scope === undefined ? [] : state.pauses.filter(({ scope }) => scope !== event.scope)
  } else {
    if (event.answers) for (const holding of play.ledger.holdings.values()) look(holding)
    state.silentSince = event.answers ? undefined : (state.silentSince ?? state.now)
  }
}

const applyAsset = (play: Play, { id, status }: Extract<WorldEvent, { kind: "asset" }>): void => {
  const { state, settings, notify, told } = play
  const before = state.listed.get(id)
  const known = before ?? settings.assets.get(id)
  state.listed = new Map(state.listed)
  if (status === undefined || known === undefined) state.listed.delete(id)
  else state.listed.set(id, { decimals: known.decimals, quantum: known.quantum, status })
  if (status === undefined || before?.status === status) return
  for (const { name, asset, becomes } of notify) {
    if (!becomes.includes(status) || (asset !== "any" && asset.id !== id)) continue
    const detail = `${before?.status ?? "new"} -> ${status}`
    told.push({ at: state.now, severity: "info", kind: "asset", rule: name, subject: id, detail })
  }
}

/** Asks the rules about whoever may say something new. */
const lookAround = (play: Play): void => {
  const { state, entries, settings } = play
  const { now } = state
  const everybody = !state.begun || settings.everySecond === true
  const ended = state.pauses.filter(({ until }) => until !== undefined && until <= now)
  if (ended.length > 0) {
    state.pauses = state.pauses.filter((pause) => !ended.includes(pause))
    touchAll(play)
  }
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
  const firing = firingOf(entries)
  const outcomes = step(
    asked.map(({ subject }) => subject),
    snapshotOf(play, firing),
    (subject) => byKey.get(subject)?.memory,
  )
  for (const outcome of outcomes) keep(play, byKey.get(outcome.look.subject)!, outcome)
  if (isSame(firing, firingOf(entries))) return
  state.restless = true
  for (const entry of entries) if (entry.subject.rule.inhibitedBy.length > 0) entry.touched = true
}

const isSame = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
  a.size === b.size && [...a].every((name) => b.has(name))

const firingOf = (entries: ReadonlyArray<Entry>): ReadonlySet<string> => {
  const firing = new Set<string>()
  for (const { memory, subject } of entries) if (memory?.firingSince !== undefined) firing.add(subject.rule.name)
  return firing
}

const snapshotOf = (play: Play, firing: ReadonlySet<string>): Snapshot => {
  const { state, settings, ledger, windows, asks } = play
  const { now } = state
  const known = state.silentSince ?? now
  return {
    now,
    asOf: BigInt(known) * 1_000_000n,
    maxAgeMillis: settings.maxAgeMillis,
    catchingUp: undefined,
    drift: () => undefined,
    disagreement: undefined,
    balance: (party, assetId, kind) => {
      const seen = ledger.holdings.get(accountKey(party, assetId))?.seen
      return kind === "free" ? seen?.free : seen?.total
    },
    listed: state.listed,
    terms: settings.terms,
    open: ledger.open(),
    settled: ledger.settledSince(now - play.keepMillis),
    asked: asks.since(now - play.cooldownMax),
    halts: state.halts,
    standby: undefined,
    chainUnsettled: undefined,
    firing,
    priorities: play.priorities,
    quota: (party) => windows.quota(party, now),
    pauses: state.pauses,
    policy: settings.policy,
    signed: (line) => windows.used(line, known - dayMillis),
  }
}

/** Remembers what was said, and does it. Episodes are counted as the daemon counts them. */
const keep = (play: Play, entry: Entry, outcome: Outcome): void => {
  const { state, listener, told, asks } = play
  const { now } = state
  const { subject } = entry
  const { decision, timer, planned, concluded } = outcome.judgement
  const before = entry.memory
  const edge = before?.firingSince === undefined && timer.firingSince !== undefined
  const counted = (before?.episode ?? 0) + (edge && subject.kind !== "payout" ? 1 : 0)
  const reason = decision._tag === "Hold" ? decision.reason : undefined
  if (entry.outcome === undefined || reason !== entry.reason) {
    closeSpan(entry, now)
    entry.reason = reason
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
  const episode = (decision._tag === "Act" ? planned : undefined) ?? concluded ?? counted
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
  const { state, ledger, windows } = play
  ledger.pay(subject, payment, { at: state.now, detail, episode })
  const { fromKey, toKey, assetId, amount } = payment
  const isSlot = commandOf(subject) === "transfer"
  windows.sign({ from: fromKey, to: toKey, assetId, amount, at: state.now, isSlot })
  state.restless = true
}
