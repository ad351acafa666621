import { reachOf } from "../rules/history.ts"
import { accountKey } from "../rules/overlay.ts"
import { isAlert, isPaying, type NotifyRule } from "../rules/Rule.ts"
import type { RuleMemory } from "../rules/RuleMemory.ts"
import type { Asked, Snapshot } from "../rules/Snapshot.ts"
import { type Subject, subjectsOf } from "../rules/Subject.ts"
import { type Alarms, makeAlarms } from "./Alarms.ts"
import { type Approving, makeApproving } from "./Approving.ts"
import { type Entry, makeEntry } from "./Entry.ts"
import type { Holding } from "./Holding.ts"
import { type Ledger, makeLedger } from "./Ledger.ts"
import { makeWindows, type Windows } from "./Windows.ts"
import type { Miss, Said, Told, WorldSettings } from "./World.ts"

/** Who is told while it runs. */
export interface Listener {
  readonly said?: (said: Said) => void
  readonly changed?: (holding: Holding, at: number) => void
}

interface State {
  now: number
  begun: boolean
  /** Unix milliseconds since when no gateway answers. */
  silentSince: number | undefined
  readonly halts: Array<string>
  pauses: ReadonlyArray<{ readonly scope: string; readonly reason: string; readonly until?: number }>
  listed: Map<string, NonNullable<ReturnType<NonNullable<Snapshot["listed"]>["get"]>>>
  readonly memories: Map<string, RuleMemory>
  asks: ReadonlyArray<Asked>
  /** When a pause of each scope last ended. */
  readonly ended: Map<string, number>
  /** What people have heard, by its text that says so. */
  readonly told: Set<string>
  /** A payment came to nothing since the last look. */
  failed: boolean
  /** Whoever is not quiet is asked at the next look. */
  restless: boolean
}

/** Everything of one rehearsal. */
export interface Play {
  readonly settings: WorldSettings
  readonly listener: Listener
  readonly state: State
  readonly ledger: Ledger
  readonly windows: Windows
  readonly approving: Approving
  readonly alarms: Alarms
  readonly told: Array<Told>
  readonly misses: Array<Miss>
  readonly entries: ReadonlyArray<Entry>
  readonly subjects: ReadonlyArray<Subject>
  readonly byKey: ReadonlyMap<string, Entry>
  /** By account: subjects that look at it, and those that are paid from it. */
  readonly watchers: ReadonlyMap<string, { readonly own: ReadonlyArray<Entry>; readonly paid: ReadonlyArray<Entry> }>
  readonly notify: ReadonlyArray<NotifyRule>
  readonly reach: ReturnType<typeof reachOf>
  readonly priorities: ReadonlyMap<string, number>
  readonly asked: { looks: number; subjects: number }
}

export const makePlay = (settings: WorldSettings, listener: Listener): Play => {
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
  const windows = makeWindows(policy, quota, start)
  const told: Array<Told> = []
  return {
    settings,
    listener,
    ledger,
    entries,
    subjects: entries.map(({ subject }) => subject),
    byKey: new Map(entries.map((entry) => [entry.key, entry])),
    windows,
    approving: makeApproving(settings, ledger, windows, told),
    alarms: makeAlarms(rules.filter(isAlert), start),
    told,
    misses: [],
    asked: { looks: 0, subjects: 0 },
    state: {
      now: start,
      begun: false,
      silentSince: undefined,
      halts: [],
      pauses: [],
      listed: new Map([...assets].map(([id, asset]) => [id, { ...asset, status: "enabled" }])),
      memories: new Map(),
      asks: [],
      ended: new Map(),
      told: new Set(),
      failed: false,
      restless: false,
    },
    watchers: watchersOf(entries),
    notify: rules.filter((rule) => rule.kind === "notify"),
    reach: reachOf(paying),
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
