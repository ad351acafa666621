import { type HaltInForce, remedyOf } from "../domain/Halt.ts"
import { dayMillis, nanosOf } from "../domain/Time.ts"
import type { AlertRule } from "../rules/Condition.ts"
import { reachOf } from "../rules/checks/history.ts"
import { askedAfter } from "../rules/conclude.ts"
import type { RoundContext } from "../rules/decideRound.ts"
import type { Notice } from "../rules/Need.ts"
import { isAlert, isPaying } from "../rules/Rule.ts"
import { firingOf, type RuleMemory } from "../rules/RuleMemory.ts"
import type { FundingRequest, Snapshot } from "../rules/Snapshot.ts"
import { accountKey } from "../rules/Snapshot.ts"
import { type Subject, subjectsOf } from "../rules/Subject.ts"
import { makeAlertEntries } from "./AlertEntries.ts"
import { makeEntry, mayChange, type SubjectEntry } from "./Entry.ts"
import { type Holding, makeLedger, reveal } from "./Ledger.ts"
import { makeLimitsUsed } from "./LimitsUsed.ts"
import { makePendingApprovals } from "./PendingApprovals.ts"
import type { OperatorAnswer, RaisedAlert, SubjectState, UnmatchedAnswer, WorldEvent, WorldSettings } from "./World.ts"

/** Callbacks during the run. */
export interface Listener {
  readonly decided?: (state: SubjectState) => void
  readonly changed?: (holding: Holding, at: number) => void
}

interface State {
  now: number
  begun: boolean
  /** Unix milliseconds since when no gateway answers. */
  silentSince: number | undefined
  readonly halts: Array<HaltInForce>
  pauses: ReadonlyArray<{ readonly scope: string; readonly reason: string; readonly until?: number }>
  listed: Map<string, NonNullable<ReturnType<NonNullable<Snapshot["listed"]>["get"]>>>
  readonly memories: Map<string, RuleMemory>
  asks: ReadonlyArray<FundingRequest>
  /** When a pause of each scope last ended. */
  readonly ended: Map<string, number>
  /** `dedup` keys of the alerts that were sent. */
  readonly sent: Set<string>
  /** True if a payment failed since the last evaluation. */
  failed: boolean
  /** True if the next round, one tick later, must evaluate all subjects that are not quiet. */
  restless: boolean
}

export type Play = ReturnType<typeof makePlay>

export const makePlay = (settings: WorldSettings, listener: Listener) => {
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
  const limits = makeLimitsUsed(policy, quota, start)
  const raised: Array<RaisedAlert> = []
  const state: State = {
    now: start,
    begun: false,
    silentSince: undefined,
    halts: [],
    pauses: [],
    listed: new Map([...assets].map(([id, asset]) => [id, { ...asset, status: "enabled" }])),
    memories: new Map(),
    asks: [],
    ended: new Map(),
    sent: new Set(),
    failed: false,
    restless: false,
  }
  const misses: Array<UnmatchedAnswer> = []
  return {
    settings,
    listener,
    ledger,
    entries,
    subjects: entries.map(({ subject }) => subject),
    byKey: new Map(entries.map((entry) => [entry.key, entry])),
    limits,
    approvals: makePendingApprovals(settings, ledger, limits, raised),
    alertEntries: makeAlertEntries(rules.filter(isAlert), start),
    raised,
    misses,
    counts: { rounds: 0, subjects: 0 },
    state,
    /** By account: subjects that watch it, and subjects that pay from it. */
    watchers: watchersOf(entries),
    notify: rules.filter((rule) => rule.kind === "notify"),
    reach: reachOf(paying),
    priorities: new Map(paying.map(({ name, priority }) => [name, priority])),
  }
}

const watchersOf = (entries: ReadonlyArray<SubjectEntry>) => {
  const found = new Map<string, { own: Array<SubjectEntry>; paid: Array<SubjectEntry> }>()
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

/** Passes a changed balance on to the rules. `at`: Unix milliseconds. */
export const applyChange = (play: Play, holding: Holding, at: number): void => {
  play.listener.changed?.(holding, at)
  const isSeen = play.state.silentSince === undefined
  if (isSeen) reveal(holding)
  play.alertEntries.changed(holding, at, isSeen)
  if (!isSeen) return
  const watchers = play.watchers.get(holding.key)
  if (watchers === undefined) return
  for (const entry of watchers.own) {
    if (!entry.quiet) play.state.restless = true
    else if (mayChange(entry, holding)) entry.touched = true
  }
  for (const entry of watchers.paid) if (!entry.quiet) play.state.restless = true
}

/** Marks every subject and alert rule to be evaluated in the next round. */
export const touchAll = ({ entries, alertEntries }: Play): void => {
  alertEntries.touchAll()
  for (const entry of entries) entry.touched = true
}

export const apply = (play: Play, event: WorldEvent): void => {
  if (event.kind === "move" || event.kind === "set") {
    applyChange(play, play.ledger.change(event), event.at)
    return
  }
  if ("place" in event) {
    answer(play, event)
    return
  }
  const { state } = play
  touchAll(play)
  if (event.kind === "asset") applyAsset(play, event)
  else if (event.kind === "halt") state.halts.push({ text: event.reason, remedy: remedyOf("operator", event.reason) })
  else if (event.kind === "pause") {
    const { at, scope, reason, forMillis } = event
    state.pauses = [...state.pauses, { scope, reason, ...(forMillis !== undefined && { until: at + forMillis }) }]
  } else if (event.kind === "resume") {
    if (event.scope === "all") state.halts.length = 0
    state.ended.set(event.scope, state.now)
    state.pauses = state.pauses.filter(({ scope }) => scope !== event.scope)
  } else {
    if (event.answers) for (const holding of play.ledger.holdings.values()) reveal(holding)
    state.silentSince = event.answers ? undefined : (state.silentSince ?? state.now)
  }
}

const answer = ({ state, approvals, misses }: Play, event: OperatorAnswer): void => {
  const detail = approvals.answer(event)
  if (detail !== undefined) misses.push({ ...event, detail })
  state.restless = true
}

const applyAsset = (play: Play, { id, status, decimals }: Extract<WorldEvent, { kind: "asset" }>): void => {
  const { state, settings, notify, raised } = play
  const before = state.listed.get(id)
  const newcomer = decimals === undefined ? undefined : { decimals, quantum: 1n }
  const known = before ?? settings.assets.get(id) ?? newcomer
  state.listed = new Map(state.listed)
  if (status === undefined || known === undefined) state.listed.delete(id)
  else state.listed.set(id, { decimals: known.decimals, quantum: known.quantum, status })
  if (status === undefined || before?.status === status) return
  for (const { name, asset, becomes } of notify) {
    if (!becomes.includes(status) || (asset !== "any" && asset.id !== id)) continue
    const detail = `${before?.status ?? "new"} -> ${status}`
    raised.push({ at: state.now, severity: "info", kind: "asset", rule: name, subject: id, detail })
  }
}

/** Sends each notice once; a funding request stays open until the money is sent. */
export const sendNotices = ({ state, raised, reach }: Play, notices: ReadonlyArray<Notice>): void => {
  const { now } = state
  for (const notice of notices) {
    const { topic, rule, subject, brief: detail, request, isOver, alert } = notice
    const recent = state.asks.filter(({ endedAt }) => endedAt === undefined || endedAt >= now - reach.asked)
    state.asks = askedAfter(recent, notice, now)
    if (state.sent.has(alert.dedup)) continue
    const { resolves = [] } = alert
    if (isOver && ![...state.sent].some((dedup) => resolves.some((over) => `${dedup}/`.startsWith(`${over}/`))))
      continue
    state.sent.add(alert.dedup)
    const at = { at: now, severity: alert.severity, kind: topic, rule, subject, detail }
    raised.push(request === undefined ? at : { ...at, request: wantedOf(request) })
  }
}

const wantedOf = ({ from, to, asset, amount }: NonNullable<Notice["request"]>) => ({ from, to, asset, amount })

/** All that a round depends on: what the daemon reads from its store. */
export const contextOf = (play: Play, due: ReadonlyArray<Subject>, alerts: ReadonlyArray<AlertRule>): RoundContext => ({
  snapshot: snapshotOf(play),
  memories: play.state.memories,
  paying: play.subjects,
  due,
  // A backtest plays all rules: those on trial pay too.
  rehearsing: [],
  rehearsals: [],
  alerts,
  past: play.alertEntries.pastAt(play.state.silentSince ?? play.state.now),
  watchedSince: play.settings.start,
  ended: play.state.ended,
})

const snapshotOf = ({ state, settings, ledger, limits, priorities, reach }: Play): Snapshot => {
  const { now } = state
  const known = state.silentSince ?? now
  return {
    now,
    asOf: nanosOf(known),
    maxAgeMillis: settings.maxAgeMillis,
    catchingUp: undefined,
    drift: () => undefined,
    disagreement: undefined,
    balance: (party, assetId, kind) => ledger.holdings.get(accountKey(party, assetId))?.seen?.[kind],
    listed: state.listed,
    parameters: settings.parameters,
    open: ledger.open(),
    settled: ledger.settledSince(known - reach.settled),
    requests: state.asks.filter(({ endedAt }) => endedAt === undefined || endedAt >= now - reach.asked),
    halts: state.halts,
    chainUnsettled: undefined,
    firing: firingOf(state.memories, settings.rules),
    priorities,
    quota: (party) => limits.quota(party, now),
    pauses: state.pauses,
    policy: settings.policy,
    lastSigned: (rule, subject) =>
      ledger.payments.findLast((paid) => paid.rule === rule && paid.subject === subject && paid.state === "confirmed")
        ?.signedAt,
    signed: (line) => limits.used(line, known - dayMillis),
  }
}
