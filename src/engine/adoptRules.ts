import { Clock, Effect, Schema } from "effect"
import { readPlans } from "../config/resolve/resolveHours.ts"
import { millisOf } from "../domain/Time.ts"
import { alertSubject } from "../rules/kinds/alerting.ts"
import { timesText } from "../rules/kinds/payout.ts"
import { byOpen } from "../rules/kinds/payoutNotices.ts"
import type { Terms } from "../rules/policy/weakens.ts"
import { isAlert, isPaying, isRehearsed, type PayoutRule, type Rule } from "../rules/Rule.ts"
import { isRemoved, memoryKey, type RuleMemory } from "../rules/RuleMemory.ts"
import { firstAfter, lastUntil } from "../rules/Schedule.ts"
import { type Subject, subjectsOf } from "../rules/Subject.ts"
import { idleTimer } from "../rules/SubjectFacts.ts"
import { raise } from "../store/alerts/raise.ts"
import { Observations } from "../store/balances/Observations.ts"
import { jsonSetting, Settings } from "../store/database/Settings.ts"
import { RuleStates } from "../store/rules/RuleStates.ts"
import { forgetCode } from "./report.ts"

/** Schedules of payouts as written, by `memoryKey`. On trial it is a different plan, which pays nobody. */
type Plans = Readonly<Record<string, string>>

const { decode, encode } = jsonSetting(Schema.Record(Schema.String, Schema.String))
const settingKey = "schedules"

type Subjects = ReadonlyMap<string, Subject>

const byKey = (rules: ReadonlyArray<Rule>): Subjects =>
  new Map(
    rules
      .filter(isPaying)
      .flatMap(subjectsOf)
      .map((subject) => [memoryKey(subject.rule.name, subject.name), subject]),
  )

const trialMark = " (on trial)"

const planText = (rule: PayoutRule, mode: string): string =>
  `${rule.schedule.text} ${rule.schedule.location}${isRehearsed(mode, rule) ? trialMark : ""}`

const plansOf = (subjects: Subjects, mode: string): Plans =>
  Object.fromEntries(
    [...subjects].flatMap(([key, subject]) => (subject.kind === "payout" ? [[key, planText(subject.rule, mode)]] : [])),
  )

/** Stores the plans for the next start, if they differ from the stored ones. */
const keepPlans = Effect.fnUntraced(function* (plans: Plans) {
  const settings = yield* Settings
  const stored = yield* settings.get(settingKey)
  const text = encode(plans)
  if (text === (stored ?? "{}")) return
  yield* settings.set(settingKey, text)
})

/** Stores the plans of rules that replace no others. */
export const keepRules = (rules: ReadonlyArray<Rule>, mode: string) => keepPlans(plansOf(byKey(rules), mode))

/** Parties and assets by name before the change. */
type Former = Pick<Terms, "parties" | "assets">

/** True if one of its names stands for another key or asset than before. */
const isMoved = ({ parties, asset }: Subject, former: Former | undefined): boolean => {
  const isOther = (before: string | undefined, now: string) => before !== undefined && before !== now
  return (
    isOther(former?.assets.get(asset.symbol)?.id, asset.id) ||
    parties.some(({ name, publicKey }) => isOther(former?.parties.get(name)?.publicKey, publicKey))
  )
}

/**
 * Adapts the stored state of rules to rules that come into force: a payout that is new, or has another plan, owes
 * nothing of the time before; a rule that was removed, comes back or has another account has no timer. Call it in the
 * transaction that puts them in force. `former`: the terms that were in force, if any were. `before`: the rules that
 * they replace; undefined at a start: the stored plans are compared. None are stored before the first payout.
 */
export const adoptRules = Effect.fnUntraced(function* (
  rules: ReadonlyArray<Rule>,
  mode: string,
  former: Former | undefined,
  before?: ReadonlyArray<Rule>,
) {
  const states = yield* RuleStates
  const settings = yield* Settings
  const read = (yield* (yield* Observations).watermark)?.timestamp ?? 0n
  // The newest block bounds a clock that is behind: else a new plan owes earlier times, and alerts lack the old one's.
  const now = Math.max(yield* Clock.currentTimeMillis, millisOf(read))
  const subjects = byKey(rules)
  const replaced = before === undefined ? subjects : byKey(before)
  const plans = plansOf(subjects, mode)
  const known = before === undefined ? (decode(yield* settings.get(settingKey)) ?? {}) : plansOf(replaced, mode)
  const alerting = new Set(rules.filter(isAlert).map(({ name }) => memoryKey(name, alertSubject)))
  const coded = new Set(rules.filter(({ kind }) => kind === "code").map(({ name }) => name))
  for (const memory of yield* states.all) {
    if (!coded.has(memory.rule)) yield* forgetCode(memory.rule)
    const key = memoryKey(memory.rule, memory.subject)
    const isReplanned = known[key] !== plans[key]
    const plan = isReplanned ? known[key] : undefined
    const undecided = undecidedTimes(memory, plan, now)
    const isUnowed = undecided !== undefined && isHeld(memory)
    if (undecided !== undefined) {
      const detail = `planned for ${undecided}, and not decided`
      yield* alertUnowed(isUnowed ? memory : { ...memory, reason: "no_data", detail })
    }
    const next = subjects.get(key)
    const isSame = next !== undefined && !isMoved(next, former)
    // Ends the request and its alert: a rule that comes back would wait for money that nobody is asked for.
    const isUnasked =
      !(isSame && next.kind === "request") &&
      (yield* states.endRequest(memory.rule, memory.subject, "its rule or its account is not configured any more"))
    const isKept = alerting.has(key) || (isSame && replaced.has(key) && !isUnowed && !isUnasked)
    const timed = isKept ? memory : untimed(memory, next !== undefined)
    const isNewPlan = isReplanned && next?.kind === "payout"
    const adopted = isNewPlan ? startedAt(timed, now) : timed
    if (adopted !== memory) yield* states.save(adopted, memory)
  }
  const remembered = (yield* states.byKey).memories
  for (const [key, subject] of subjects) {
    if (subject.kind === "payout" && !remembered.has(key)) yield* states.save(newMemory(subject, now, read), undefined)
  }
  yield* keepPlans(plans)
})

/**
 * Memory of a payout that was never evaluated: it owes what is planned from now on (Unix milliseconds). `read`: time of
 * the newest block (Unix nanoseconds).
 */
const newMemory = ({ rule, name }: Subject, now: number, read: bigint): RuleMemory => ({
  ...idleTimer,
  lastObservation: read,
  rule: rule.name,
  subject: name,
  episode: Math.floor(now / 1_000),
  state: "inactive",
  reason: "not_due",
  detail: "it is new",
  reasonSince: now,
  decidedAt: now,
})

/** True if a due time is held by its rule's own reason. */
const isHeld = ({ firingSince, reason }: RuleMemory) =>
  firingSince !== undefined && reason !== undefined && !byOpen.has(reason)

/**
 * Times without a decision under a plan (as written) that is no longer in force: they are not paid. Undefined: none.
 * The timer does not show them: blind evaluations after a decision keep it.
 */
const undecidedTimes = (
  { episode, reasonSince }: RuleMemory,
  plan: string | undefined,
  now: number,
): string | undefined => {
  const plans = plan === undefined ? undefined : readPlans(plan.replace(trialMark, ""))
  if (plans === undefined) return undefined
  const done = episode === 0 ? reasonSince : episode * 1_000
  const last = lastUntil(plans, now)
  return last <= done ? undefined : timesText({ first: firstAfter({ plans }, done), last })
}

const alertUnowed = Effect.fnUntraced(function* ({ rule, subject, episode, reason, detail }: RuleMemory) {
  yield* raise("payout_unowed", { rule, receiver: subject, episode, reason: reason ?? "", detail })
})

/** Owes nothing that was planned before now (Unix milliseconds). */
const startedAt = (memory: RuleMemory, now: number): RuleMemory => {
  // The time itself instead of the last planned one: with a clock ahead, it is recognized as later than now.
  const episode = Math.floor(now / 1_000)
  return episode > memory.episode ? { ...memory, episode } : memory
}

/** Clears the timer of a removed subject. An alert that ended with its rule is raised again once the rule is back. */
const untimed = (memory: RuleMemory, isThere: boolean): RuleMemory => {
  const held: RuleMemory =
    isThere || isRemoved(memory)
      ? memory
      : { ...memory, state: "inactive", reason: undefined, detail: notInFile, clearingSince: undefined }
  return held.firingSince === undefined ? held : { ...held, firingSince: undefined, observations: 0 }
}

const notInFile = "it is not in the treasury file"
