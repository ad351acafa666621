import { formatAmount } from "../../domain/Amount.ts"
import type { KindInput, Need } from "../Need.ts"
import type { PayoutRule } from "../Rule.ts"
import { dueAfter, firstAfter, type MissedTimes, plannedAfter, plannedUntil } from "../Schedule.ts"
import { neverPaid } from "../waiting.ts"

/**
 * A fixed amount at each planned time. `episode` is the time up to which all times are concluded, Unix seconds; one in
 * the future was written by a wrong clock, and counts as now. Times before the first evaluation with balances are not
 * owed.
 */
export const payoutNeed = ({ subject: { rule, name }, snapshot, episode }: KindInput<"payout">): Need => {
  const { schedule, from, to, asset, amount } = rule
  const { now } = snapshot
  const next = plannedAfter(schedule, now)
  const wait = (done: number): Extract<Need, { _tag: "NotDue" }> => ({
    _tag: "NotDue",
    detail: `next planned for ${timeText(next)}`,
    next,
    episode: done,
  })
  // 0: no evaluation had balances yet, and nothing is concluded.
  if (episode === undefined || episode === 0) return wait(seconds(plannedUntil(schedule, now)))
  const concluded = Math.min(episode, seconds(now))
  if (!isDue(rule, episode, now)) return wait(concluded)
  const { planned, missedTimes } = dueAfter(schedule, concluded * 1_000, now)
  const gone = missedTimes === undefined ? {} : { missedTimes }
  if (planned === undefined)
    return { ...wait(missedTimes === undefined ? concluded : seconds(missedTimes.last)), ...gone }
  const signed = schedule.missed === "once" ? snapshot.lastSigned?.(rule.name, name) : undefined
  if (signed !== undefined && signed >= planned) {
    const coveredTimes = { first: firstAfter(schedule, concluded * 1_000), last: planned }
    return { ...wait(seconds(planned)), detail: "a later payment covers it", coveredTimes }
  }
  return {
    _tag: "Wanted",
    detail: `${formatAmount(amount, asset.decimals)} ${asset.symbol} planned for ${timeText(planned)}`,
    transfers: [{ from, to, amount }],
    episode: seconds(planned),
    ...gone,
  }
}

/** True if a planned time is not concluded. `episode`: time up to which all is concluded, Unix seconds. */
export const isDue = ({ schedule }: PayoutRule, episode: number, now: number): boolean =>
  plannedUntil(schedule, now) > Math.min(episode * 1_000, now)

/**
 * Times planned between the first evaluation of a rule and the first with a known block; nothing is owed for them. Unix
 * milliseconds.
 */
export const unseenOf = ({ schedule }: PayoutRule, since: number, now: number): MissedTimes | undefined => {
  const last = plannedUntil(schedule, now)
  return last <= since ? undefined : { first: firstAfter(schedule, since), last }
}

/** Text of `unseenOf` for people. */
export const unseenText = (rule: PayoutRule, unseen: MissedTimes): string =>
  `${payoutText(rule)} planned for ${timesText(unseen)} is not paid: no block was read between the start of the rule and ` +
  `that time, and nothing is owed for the time before the first block; ${neverPaid}`

/** Describes a planned time that a wrong clock may have placed before the plan came into force. */
export const misclockedText = (rule: PayoutRule, time: MissedTimes): string =>
  `${payoutText(rule)} planned for ${timesText(time)} is not paid: the rule or its plan came into force while this ` +
  `host's clock was ahead, and nothing is owed for the time before; ${neverPaid}`

/** Describes planned times that have no payment of their own, since the one before them was signed after them. */
export const coveredText = (rule: PayoutRule, times: MissedTimes): string =>
  `${payoutText(rule)} planned for ${timesText(times)} is not paid: the payment before it was signed after that time ` +
  `and stands for it too (missed: once); ${neverPaid}`

export const payoutText = ({ amount, asset, from, to }: PayoutRule): string =>
  `${formatAmount(amount, asset.decimals)} ${asset.symbol} ${from.name} -> ${to.name}`

export const timesText = ({ first, last }: MissedTimes): string =>
  first === last ? timeText(first) : `each time from ${timeText(first)} to ${timeText(last)}`

const seconds = (millis: number): number => Math.floor(millis / 1_000)

/** "2026-12-24T12:00Z", with the second if that is not 0. */
const timeText = (millis: number): string => `${new Date(millis).toISOString().slice(0, 19).replace(/:00$/, "")}Z`
