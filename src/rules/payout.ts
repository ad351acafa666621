import { formatAmount } from "../domain/Amount.ts"
import type { Need, Seen } from "./Need.ts"
import { isMissed, plannedAfter, plannedUntil } from "./Schedule.ts"

/** A fixed amount at each planned time. What was planned before the rule was first looked at is not owed. */
export const payoutNeed = ({ subject: { rule }, snapshot, episode }: Seen<"payout">): Need => {
  const { schedule, from, to, asset, amount } = rule
  const planned = plannedUntil(schedule, snapshot.now)
  const next = plannedAfter(schedule, snapshot.now)
  const instant = Math.floor(planned / 1_000)
  const wait = (done: number): Need => ({
    _tag: "NotDue",
    detail: `next planned for ${timeText(next)}`,
    next,
    episode: done,
  })
  if (episode === undefined) return wait(instant)
  if (instant <= episode || isMissed(schedule, planned, snapshot.now)) return wait(Math.max(instant, episode))
  return {
    _tag: "Wanted",
    detail: `${formatAmount(amount, asset.decimals)} ${asset.symbol} planned for ${timeText(planned)}`,
    transfers: [{ from, to, amount }],
    episode: instant,
  }
}

const timeText = (millis: number): string => `${new Date(millis).toISOString().slice(0, 16)}Z`
