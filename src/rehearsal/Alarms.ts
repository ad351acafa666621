import type { HoldReason } from "../domain/Decision.ts"
import { type Alerted, type AlertMemory, alertSubject, isOn } from "../rules/alerting.ts"
import { type AlertRule, partsOf, pastsOf } from "../rules/Condition.ts"
import type { Facts, Silence } from "../rules/evaluate.ts"
import { hoursAt } from "../rules/Hours.ts"
import { lookAtAlert, type SeenBoth, seeBoth } from "../rules/lookAtAlert.ts"
import { accountKey } from "../rules/overlay.ts"
import type { Snapshot } from "../rules/Snapshot.ts"
import type { Truth } from "../rules/truth.ts"
import type { Holding } from "./Holding.ts"
import { makePasts } from "./Pasts.ts"
import type { Told } from "./World.ts"

/** What is known at a moment. */
export interface Moment extends Pick<Snapshot, "now" | "maxAgeMillis" | "balance" | "listed"> {
  /** Unix milliseconds since when no gateway answers. */
  readonly silentSince: number | undefined
  /** Of rules that pay. */
  readonly silences: (rule: string) => ReadonlyArray<Silence> | undefined
}

/** What is remembered of an alert's rule. Times are Unix milliseconds. */
export interface Alarm {
  readonly rule: AlertRule
  memory: AlertMemory | undefined
  truths: readonly [when: Truth, clear: Truth] | undefined
  reason: HoldReason | undefined
  reasonSince: number
  touched: boolean
  /** When its own times may change what it says, and when that or the age of what is known may. */
  timerAt: number
  wakeAt: number
  /** Times that it was on, the last one open where `until` is undefined. */
  readonly spans: Array<{ readonly from: number; until: number | undefined }>
  /** Times that its condition became true, whether or not it stayed so for as long as the rule asks. */
  begun: number
}

/** The rules that tell people of conditions. */
export interface Alarms {
  readonly all: ReadonlyArray<Alarm>
  /** Names of those that are on. */
  readonly firing: () => ReadonlySet<string>
  /** A balance is another one now; `isSeen` where the rules know of it. */
  readonly changed: (holding: Holding, at: number, isSeen: boolean) => void
  /** A rule is silent for another reason now. */
  readonly said: (rule: string) => void
  readonly touchAll: () => void
  readonly wakeAt: () => number
  /** Looks at those that may say something new; returns what people are told. */
  readonly look: (moment: Moment, everybody: boolean) => ReadonlyArray<Told>
  /** What one says at this moment. */
  readonly saying: (rule: string, moment: Moment) => Alerted | undefined
}

export const makeAlarms = (rules: ReadonlyArray<AlertRule>, start: number): Alarms => {
  const pasts = makePasts(rules.flatMap(pastsOf))
  const all = rules.map(
    (rule): Alarm => ({
      rule,
      memory: undefined,
      truths: undefined,
      reason: undefined,
      reasonSince: start,
      touched: true,
      timerAt: start,
      wakeAt: start,
      spans: [],
      begun: 0,
    }),
  )
  const byName = new Map(all.map((alarm) => [alarm.rule.name, alarm]))
  const byAccount = byPart(all, (part) =>
    "account" in part ? accountKey(part.account.party.publicKey, part.account.asset.id) : seenIn(part),
  )
  const byHeld = byPart(all, (part) => (part._tag === "Held" ? part.rule : undefined))
  const touch = (alarms: ReadonlyArray<Alarm> = []): void => {
    for (const alarm of alarms) alarm.touched = true
  }
  const factsAt = ({ silentSince, silences, ...moment }: Moment): Facts => ({
    ...moment,
    asOf: BigInt(silentSince ?? moment.now) * 1_000_000n,
    watchedSince: start,
    past: (past) => pasts.at(past, (silentSince ?? moment.now) - past.overMillis),
    silences: (rule) => {
      const alarm = byName.get(rule)
      if (alarm === undefined) return silences(rule)
      const { memory, reason, reasonSince: since } = alarm
      return memory === undefined ? undefined : [{ subject: alertSubject, reason, since }]
    },
  })
  const wakeOf = ({ rule, timerAt }: Alarm, facts: Facts, silentSince: number | undefined): number => {
    const moments = [timerAt]
    for (const part of partsOf(rule)) {
      if ("account" in part && silentSince !== undefined) moments.push(silentSince + facts.maxAgeMillis + 1)
      if (part._tag === "Stale") {
        moments.push(start + part.longerThanMillis + 1, (silentSince ?? start) + part.longerThanMillis + 1)
      } else if (part._tag === "Held") {
        for (const { since } of facts.silences(part.rule) ?? []) moments.push(since + part.longerThanMillis + 1)
      } else if ("overMillis" in part && silentSince === undefined) {
        moments.push(pasts.nextAfter(part) + part.overMillis)
      }
    }
    return firstAfter(facts.now, moments)
  }
  return {
    all,
    firing: () => new Set(all.filter(isFiring).map(({ rule }) => rule.name)),
    changed: (holding, at, isSeen) => {
      pasts.note(holding, at)
      if (isSeen) touch(byAccount.get(holding.key))
    },
    said: (rule) => touch(byHeld.get(rule)),
    touchAll: () => touch(all),
    wakeAt: () => all.reduce((next, { wakeAt }) => Math.min(next, wakeAt), Number.POSITIVE_INFINITY),
    look: (moment, everybody) => {
      const { now, silentSince } = moment
      const due = all.filter(({ touched, wakeAt }) => everybody || touched || wakeAt <= now)
      if (due.length === 0) return []
      const facts = factsAt(moment)
      // All are judged by what was remembered before any of them was looked at.
      const judged = due.map((alarm) => ({ alarm, seen: seeBoth(alarm.rule, facts) }))
      for (const { alarm } of judged) alarm.touched = false
      const told = judged.flatMap(({ alarm, seen }) => {
        const before = alarm.reason
        const news = isUnmoved(alarm, seen, now) ? [] : note(alarm, seen, now)
        if (alarm.reason !== before) touch(byHeld.get(alarm.rule.name))
        return news
      })
      for (const { alarm } of judged) alarm.wakeAt = wakeOf(alarm, facts, silentSince)
      for (const alarm of all) if (alarm.touched) alarm.wakeAt = now + 1
      return told
    },
    saying: (rule, moment) => {
      const alarm = byName.get(rule)
      if (alarm === undefined) return undefined
      const at = { before: alarm.memory, now: moment.now }
      return lookAtAlert(alarm.rule, seeBoth(alarm.rule, factsAt(moment)), at).alerted
    },
  }
}

type Part = ReturnType<typeof partsOf>[number]

const byPart = (all: ReadonlyArray<Alarm>, keyOf: (part: Part) => string | undefined) => {
  const found = new Map<string, ReadonlyArray<Alarm>>()
  for (const alarm of all) {
    for (const key of new Set(partsOf(alarm.rule).map(keyOf))) {
      if (key !== undefined) found.set(key, [...(found.get(key) ?? []), alarm])
    }
  }
  return found
}

/** The account whose first balance ends that nothing was ever known of it. */
const seenIn = (part: Part): string | undefined =>
  part._tag === "Stale" && part.party !== undefined && part.asset !== undefined
    ? accountKey(part.party.publicKey, part.asset.id)
    : undefined

const isFiring = ({ memory }: Alarm): boolean => memory !== undefined && isOn(memory)

const timersOf = function* (
  { forMillis, during, cooldownMillis }: AlertRule,
  memory: AlertMemory,
  now: number,
): Iterable<number> {
  const { firingSince, clearingSince, state, toldAt } = memory
  if (!isOn(memory)) {
    if (firingSince !== undefined) yield firingSince + forMillis
    return
  }
  if (clearingSince !== undefined) yield clearingSince + forMillis
  if (state !== "holding") return
  if (during !== undefined) yield hoursAt(during, now).until
  if (toldAt !== undefined) yield toldAt + cooldownMillis
}

const firstAfter = (now: number, moments: Iterable<number>): number => {
  let next = Number.POSITIVE_INFINITY
  for (const at of moments) if (at > now && at < next) next = at
  return next
}

/** What is seen is what was seen, and no time has come: what is remembered stays as it is. */
const isUnmoved = ({ truths, timerAt }: Alarm, { when, clear }: SeenBoth, now: number): boolean =>
  truths !== undefined && truths[0] === when.truth && truths[1] === clear?.truth && now < timerAt

/** Remembers a look, and says what people are told. */
const note = (alarm: Alarm, seen: SeenBoth, now: number): ReadonlyArray<Told> => {
  const { rule, memory: before, spans } = alarm
  const { alerted, news } = lookAtAlert(rule, seen, { before, now })
  const { episode, state, firingSince, clearingSince, toldAt, reason } = alerted
  if (before === undefined || reason !== alarm.reason) alarm.reasonSince = now
  alarm.memory = { episode, state, firingSince, clearingSince, toldAt }
  alarm.truths = [seen.when.truth, seen.clear?.truth]
  alarm.reason = reason
  alarm.timerAt = firstAfter(now, timersOf(rule, alarm.memory, now))
  const wasOn = before !== undefined && isOn(before)
  if (!wasOn && firingSince !== undefined && before?.firingSince === undefined) alarm.begun++
  if (isFiring(alarm) && !wasOn) spans.push({ from: now, until: undefined })
  if (!isFiring(alarm) && wasOn) spans.at(-1)!.until = now
  if (news === undefined) return []
  const { isOver, severity, detail } = news
  return [{ at: now, severity, kind: isOver ? "cleared" : "firing", rule: rule.name, subject: rule.name, detail }]
}
