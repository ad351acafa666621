import { formatAmount } from "../domain/Amount.ts"
import type { HoldReason } from "../domain/Decision.ts"
import { timeText as spanText } from "./Check.ts"
import type { LetGo, Need, Seen } from "./Need.ts"
import type { PayoutRule } from "./Rule.ts"
import { dueAfter, firstAfter, plannedAfter, plannedUntil } from "./Schedule.ts"
import { afterUnpaid } from "./waiting.ts"

/**
 * A fixed amount at each planned time. What was planned before the first look that saw a block of today is not owed. A
 * time that is concluded and later than now was concluded while a clock was wrong: all until now is.
 */
export const payoutNeed = ({ subject: { rule, name }, snapshot, episode }: Seen<"payout">): Need => {
  const { schedule, from, to, asset, amount } = rule
  const { now } = snapshot
  const next = plannedAfter(schedule, now)
  const wait = (done: number): Need => ({
    _tag: "NotDue",
    detail: `next planned for ${timeText(next)}`,
    next,
    episode: done,
  })
  // Nothing is concluded by looks that saw nothing: 0 stands for them.
  if (episode === undefined || episode === 0) return wait(seconds(plannedUntil(schedule, now)))
  const concluded = Math.min(episode, seconds(now))
  if (!isDue(rule, episode, now)) return wait(concluded)
  const { planned, letGo } = dueAfter(schedule, concluded * 1_000, now)
  const gone = letGo === undefined ? {} : { letGo }
  if (planned === undefined) return { ...wait(letGo === undefined ? concluded : seconds(letGo.last)), ...gone }
  const signed = schedule.missed === "once" ? snapshot.lastSigned?.(rule.name, name) : undefined
  if (signed !== undefined && signed >= planned) {
    return { ...wait(seconds(planned)), detail: "a payment that was signed later stands for it" }
  }
  return {
    _tag: "Wanted",
    detail: `${formatAmount(amount, asset.decimals)} ${asset.symbol} planned for ${timeText(planned)}`,
    transfers: [{ from, to, amount }],
    episode: seconds(planned),
    ...gone,
  }
}

/** Whether a time is planned that is not concluded. `episode`: what is concluded, Unix seconds. */
export const isDue = ({ schedule }: PayoutRule, episode: number, now: number): boolean =>
  plannedUntil(schedule, now) > Math.min(episode * 1_000, now)

/**
 * What was planned between the first look at a rule and the first that saw a block, of which nothing is owed. Unix
 * milliseconds.
 */
export const unseenOf = ({ schedule }: PayoutRule, since: number, now: number): LetGo | undefined => {
  const last = plannedUntil(schedule, now)
  return last <= since ? undefined : { first: firstAfter(schedule, since), last }
}

/** The same for people. */
export const unseenText = (rule: PayoutRule, unseen: LetGo): string =>
  `${sumText(rule)} planned for ${timesText(unseen)} is not paid: no block was read since the rule is known here, ` +
  `and of the time before nothing is owed; ${afterUnpaid({ _tag: "Gone" })}`

/** Of planned times that a store which was lost may have paid, for people. */
export const lostText = (rule: PayoutRule, lost: LetGo): string =>
  `${sumText(rule)} planned for ${timesText(lost)} is let go: the store was put back from a copy, and the one that was ` +
  `lost may have paid it. Compare the ledger; ${afterUnpaid({ _tag: "Gone" })}`

/** What keeps a rule silent, and its sentence. */
interface Held {
  readonly reason: HoldReason | undefined
  readonly detail: string
}

/**
 * Planned times that are open and late, the first and the last of them: where a rule makes up for what was missed, none
 * is let go, however long it is held. `planned` (Unix seconds) is the last; `episode` what was concluded before.
 */
export const lateOf = (
  { schedule }: PayoutRule,
  { planned, episode }: { readonly planned: number; readonly episode: number },
  now: number,
): LetGo | undefined => {
  const done = Math.min(episode * 1_000, now)
  if (schedule.missed !== "once" || now - done < schedule.lateMillis) return undefined
  const first = firstAfter(schedule, done)
  return now - first < schedule.lateMillis ? undefined : { first, last: planned * 1_000 }
}

/** What of a plan is late and held before it is decided, for people. */
export const lateText = (rule: PayoutRule, late: LetGo, { reason, detail }: Held): string => {
  const one = late.first === late.last ? "" : ", with one payment for all of them,"
  return (
    `${sumText(rule)} planned for ${timesText(late)} is not paid: it is held (${reason}: ${detail}). ` +
    `It stays owed, and is paid${one} once the cause is gone; see "cofferer explain ${rule.name}"`
  )
}

/** That it is held no longer, for people. */
export const lateOverText = (rule: PayoutRule, late: LetGo): string =>
  `${sumText(rule)} planned for ${timesText(late)} is held no longer: it is decided, or was made up for`

/** What of a plan nobody paid in time and why, for people. `before` is what was said of it before it was late. */
export const letGoText = (rule: PayoutRule, letGo: LetGo, { reason, detail }: Held): string => {
  // How old knowledge was at the last look tells nothing of the rest of the time.
  const held = reason === "stale" ? "stale: no newer block was known" : `${reason}: ${detail}`
  const why = reason === undefined || reason === "not_due" ? "nobody looked at it in time" : `it was held (${held})`
  const late = `after ${spanText(rule.schedule.lateMillis)} it is let go (missed: skip)`
  const what = `${sumText(rule)} planned for ${timesText(letGo)} is not paid`
  return `${what}: ${why}, and ${late}; ${afterUnpaid({ _tag: "Gone" })}`
}

const sumText = ({ amount, asset, from, to }: PayoutRule): string =>
  `${formatAmount(amount, asset.decimals)} ${asset.symbol} ${from.name} -> ${to.name}`

const timesText = ({ first, last }: LetGo): string =>
  first === last ? timeText(first) : `each time from ${timeText(first)} to ${timeText(last)}`

const seconds = (millis: number): number => Math.floor(millis / 1_000)

const timeText = (millis: number): string => `${new Date(millis).toISOString().slice(0, 16)}Z`
