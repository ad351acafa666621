import { formatAmount } from "../domain/Amount.ts"
import type { Need, Seen } from "./Need.ts"
import { dueAfter, plannedAfter, plannedUntil } from "./Schedule.ts"

/** A fixed amount at each planned time. What was planned before the rule was first looked at is not owed. */
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
  if (episode === undefined) return wait(seconds(plannedUntil(schedule, now)))
  const { planned, letGo } = dueAfter(schedule, episode * 1_000, now)
  const gone = letGo === undefined ? {} : { letGo }
  if (planned === undefined) return { ...wait(letGo === undefined ? episode : seconds(letGo.last)), ...gone }
  return {
    _tag: "Wanted",
    detail: `${formatAmount(amount, asset.decimals)} ${asset.symbol} planned for ${timeText(planned)}`,
    transfers: [{ from, to, amount }],
    episode: seconds(planned),
    ...gone,
  }
}

const seconds = (millis: number): number => Math.floor(millis / 1_000)

const timeText = (millis: number): string => `${new Date(millis).toISOString().slice(0, 16)}Z`
