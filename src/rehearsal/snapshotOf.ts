import { accountKey } from "../rules/overlay.ts"
import type { Snapshot } from "../rules/Snapshot.ts"
import type { Moment } from "./Alarms.ts"
import type { Play } from "./Play.ts"

const dayMillis = 86_400_000

/** Rules whose condition holds. */
export const firingOf = ({ entries, alarms }: Play): ReadonlySet<string> => {
  const firing = new Set(alarms.firing())
  for (const { memory, subject } of entries) if (memory?.firingSince !== undefined) firing.add(subject.rule.name)
  return firing
}

const balancesOf =
  ({ ledger }: Play): Snapshot["balance"] =>
  (party, assetId, kind) =>
    ledger.holdings.get(accountKey(party, assetId))?.seen?.[kind]

/** What conditions are judged by. */
export const momentOf = (play: Play): Moment => {
  const { now, silentSince, listed } = play.state
  const { maxAgeMillis } = play.settings
  return {
    now,
    silentSince,
    listed,
    maxAgeMillis,
    balance: balancesOf(play),
    silences: (rule) => {
      const own = play.entries.filter(({ subject, outcome }) => subject.rule.name === rule && outcome !== undefined)
      return own.length === 0
        ? undefined
        : own.map(({ subject, reason, since }) => ({ subject: subject.name, reason, since }))
    },
  }
}

/** What the rules that pay are asked about. */
export const snapshotOf = (play: Play, firing: ReadonlySet<string>): Snapshot => {
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
    balance: balancesOf(play),
    listed: state.listed,
    terms: settings.terms,
    open: ledger.open(),
    settled: ledger.settledSince(now - play.keepMillis),
    asked: asks.since(now - play.cooldownMax),
    halts: state.halts,
    chainUnsettled: undefined,
    firing,
    priorities: play.priorities,
    quota: (party) => windows.quota(party, now),
    pauses: state.pauses,
    policy: settings.policy,
    signed: (line) => windows.used(line, known - dayMillis),
  }
}
