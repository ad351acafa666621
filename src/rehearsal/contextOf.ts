import type { AlertRule } from "../rules/Condition.ts"
import type { RoundContext } from "../rules/decideRound.ts"
import { accountKey } from "../rules/overlay.ts"
import { firingOf } from "../rules/RuleMemory.ts"
import type { Snapshot } from "../rules/Snapshot.ts"
import type { Subject } from "../rules/Subject.ts"
import type { Play } from "./Play.ts"

const dayMillis = 86_400_000

/** All that a round depends on: what the daemon reads from its store. */
export const contextOf = (play: Play, due: ReadonlyArray<Subject>, alerts: ReadonlyArray<AlertRule>): RoundContext => ({
  snapshot: snapshotOf(play),
  memories: play.state.memories,
  paying: play.subjects,
  due,
  // What rules would do is what is played: those on trial pay too.
  rehearsing: [],
  rehearsals: [],
  alerts,
  past: play.alarms.pastAt(play.state.silentSince ?? play.state.now),
  watchedSince: play.settings.start,
  ended: play.state.ended,
})

const snapshotOf = ({ state, settings, ledger, windows, priorities, reach }: Play): Snapshot => {
  const { now } = state
  const known = state.silentSince ?? now
  return {
    now,
    asOf: BigInt(known) * 1_000_000n,
    maxAgeMillis: settings.maxAgeMillis,
    catchingUp: undefined,
    drift: () => undefined,
    disagreement: undefined,
    balance: (party, assetId, kind) => ledger.holdings.get(accountKey(party, assetId))?.seen?.[kind],
    listed: state.listed,
    terms: settings.terms,
    open: ledger.open(),
    settled: ledger.settledSince(known - reach.settled),
    asked: state.asks.filter(({ endedAt }) => endedAt === undefined || endedAt >= now - reach.asked),
    halts: state.halts,
    chainUnsettled: undefined,
    firing: firingOf(state.memories, settings.rules),
    priorities,
    quota: (party) => windows.quota(party, now),
    pauses: state.pauses,
    policy: settings.policy,
    lastSigned: (rule, subject) =>
      ledger.paid.findLast((paid) => paid.rule === rule && paid.subject === subject && paid.state === "confirmed")
        ?.signedAt,
    signed: (line) => windows.used(line, known - dayMillis),
  }
}
