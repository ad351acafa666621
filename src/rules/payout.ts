import { formatAmount } from "../domain/Amount.ts"
import type { Decision, HoldReason } from "../domain/Decision.ts"
import { timeText as spanText } from "./Check.ts"
import type { LetGo, Need, Seen } from "./Need.ts"
import type { PayoutRule } from "./Rule.ts"
import { dueAfter, plannedAfter, plannedUntil } from "./Schedule.ts"
import { afterUnpaid } from "./waiting.ts"

/**
 * A fixed amount at each planned time. What was planned before the first look that saw a block of today is not owed. A
 * time that is concluded and later than now was concluded while a clock was wrong: all until now is.
 */
export const payoutNeed = ({ subject: { rule }, snapshot, episode }: Seen<"payout">): Need => {
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
  const { planned, letGo } = dueAfter(schedule, concluded * 1_000, now)
  const gone = letGo === undefined ? {} : { letGo }
  if (planned === undefined) return { ...wait(letGo === undefined ? concluded : seconds(letGo.last)), ...gone }
  return {
    _tag: "Wanted",
    detail: `${formatAmount(amount, asset.decimals)} ${asset.symbol} planned for ${timeText(planned)}`,
    transfers: [{ from, to, amount }],
    episode: seconds(planned),
    ...gone,
  }
}

/** Says of a planned time that an earlier one's payment stands for it. */
export const madeUp: Decision = {
  _tag: "Hold",
  reason: "not_due",
  detail: "a payment that was signed later stands for it",
}

/** What of a plan nobody paid in time and why, for people. `before` is what was said of it before it was late. */
export const letGoText = (
  { amount, asset, from, to, schedule }: PayoutRule,
  { first, last }: LetGo,
  before: { readonly reason: HoldReason | undefined; readonly detail: string },
): string => {
  const sum = `${formatAmount(amount, asset.decimals)} ${asset.symbol} ${from.name} -> ${to.name}`
  const times = first === last ? timeText(first) : `each time from ${timeText(first)} to ${timeText(last)}`
  const { reason, detail } = before
  // How old knowledge was at the last look tells nothing of the rest of the time.
  const held = reason === "stale" ? "stale: no newer block was known" : `${reason}: ${detail}`
  const why = reason === undefined || reason === "not_due" ? "nobody looked at it in time" : `it was held (${held})`
  const late = `after ${spanText(schedule.lateMillis)} it is let go (missed: skip)`
  return `${sum} planned for ${times} is not paid: ${why}, and ${late}; ${afterUnpaid({ _tag: "Gone" })}`
}

const seconds = (millis: number): number => Math.floor(millis / 1_000)

const timeText = (millis: number): string => `${new Date(millis).toISOString().slice(0, 16)}Z`
