import { baseUnits } from "../../domain/Amount.ts"
import type { Decision, Payment } from "../../domain/Decision.ts"
import { millisOf } from "../../domain/Time.ts"
import { receiverKey } from "../Account.ts"
import type { NeededTransfer } from "../Need.ts"
import type { Snapshot } from "../Snapshot.ts"
import type { Subject } from "../Subject.ts"
import {
  type Check,
  idleTimer,
  type Memory,
  type Sized,
  type SubjectFacts,
  subjectFacts,
  type Timer,
  transferFacts,
} from "../SubjectFacts.ts"
import { funds } from "./funds.ts"
import { history } from "./history.ts"
import { knowledge } from "./knowledge.ts"
import { stops } from "./stops.ts"
import { clockGap } from "./wrongClock.ts"

/** The decision for one subject, and how long its condition has been true. */
export interface Judgement {
  readonly decision: Decision
  readonly timer: Timer
  /** Planned time (Unix seconds) of the payment that a schedule wants; undefined where episodes are counted. */
  readonly planned: number | undefined
  /** Planned time up to which all is done or let go. */
  readonly concluded: number | undefined
}

const first = (checks: ReadonlyArray<Check>, facts: SubjectFacts): Decision | undefined => {
  for (const { reason, held } of checks) {
    const detail = held(facts)
    if (detail !== undefined) return { _tag: "Hold", reason, detail }
  }
  return undefined
}

/**
 * Decides one subject. The first reason that applies, in the order of `holdReasons`, is the reason; a payment is
 * decided only where none does.
 */
export const decide = (subject: Subject, snapshot: Snapshot, memory: Memory | undefined): Judgement =>
  judgeSubject(subjectFacts(subject, snapshot, memory))

/** Decides on a subject by its facts. */
export const judgeSubject = (facts: SubjectFacts): Judgement => {
  const { need, memory } = facts
  const stopped = first(stops, facts)
  const blind = first(knowledge, facts)
  const concluded = isBlind(facts) ? undefined : concludedBy(need)
  const planned = need?._tag === "Wanted" ? need.episode : undefined
  if (blind !== undefined) return { decision: stopped ?? blind, timer: memory ?? idleTimer, planned, concluded }
  const silent = stopped ?? first(history, facts) ?? first(funds, facts)
  return { decision: silent ?? act(facts), timer: facts.timer, planned, concluded }
}

/** Time up to which planned times are concluded: a time that is due stays open, skipped ones do not. */
const concludedBy = (need: SubjectFacts["need"]): number | undefined => {
  if (need?._tag === "NotDue") return need.episode
  const missedTimes = need?._tag === "Wanted" ? need.missedTimes : undefined
  return missedTimes === undefined ? undefined : Math.floor(missedTimes.last / 1_000)
}

/** True if our clock and the newest block differ too much: then no planned time is concluded. */
const isBlind = ({ snapshot: { now, asOf, maxAgeMillis } }: SubjectFacts): boolean =>
  clockGap(now, asOf === undefined ? undefined : millisOf(asOf), maxAgeMillis) !== undefined

/** The only history check of a part: balances without the last payment are not reliable. */
const settling = history.filter(({ reason }) => reason === "settling")

/** Decides one part of a decision whose other parts are paid: its need is settled, only its means are checked. */
export const decidePart = (subject: Subject, snapshot: Snapshot, transfer: NeededTransfer): Decision => {
  const facts = transferFacts(subject, snapshot, transfer)
  const silent = [stops, knowledge, settling, funds].map((checks) => first(checks, facts))
  return silent.find((decision) => decision !== undefined) ?? act(facts)
}

const act = (facts: SubjectFacts): Decision => {
  const detail = facts.need?.detail ?? ""
  const payments = facts.sized.map((sized) => paymentOf(facts, sized))
  return { _tag: facts.subject.kind === "request" ? "Ask" : "Act", payments, detail }
}

const paymentOf = ({ subject: { asset } }: SubjectFacts, { transfer: { from, to }, amount }: Sized): Payment => ({
  from: from.name,
  fromKey: from.publicKey,
  to: to.name,
  toKey: receiverKey(to),
  asset: asset.symbol,
  assetId: asset.id,
  amount: baseUnits(amount),
})
