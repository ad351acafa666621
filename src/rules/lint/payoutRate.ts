import { isOpen } from "../Hours.ts"
import { lineFor } from "../Policy.ts"
import type { PayoutRule } from "../Rule.ts"
import { type Schedule, timesAfter } from "../Schedule.ts"
import { dayMillis, type Finding, policyGravity, type RuleSet, say, spotsOf } from "./Finding.ts"

/** Planned times that are looked at: years of daily ones, two days of one a minute. */
const lookedAtMax = 3_000
/** A plan's densest day does not depend on the year; leap days and both changes of the clocks lie within. */
const from = Date.UTC(2024, 0, 1)
const until = Date.UTC(2026, 0, 1)

/** Planned times within the years that are looked at, in Unix milliseconds. */
const timesOf = (schedule: Schedule): ReadonlyArray<number> => {
  const times: Array<number> = []
  for (const at of timesAfter(schedule, from)) {
    if (at > until || times.length >= lookedAtMax) break
    times.push(at)
  }
  return times
}

/** The most of these times, in their order, that any 24 hours hold. */
const densest = (times: ReadonlyArray<number>): number => {
  let most = 0
  let first = 0
  for (const [i, at] of times.entries()) {
    while (times[first]! <= at - dayMillis) first++
    most = Math.max(most, i + 1 - first)
  }
  return most
}

/** The most planned times that any 24 hours hold. */
export const timesPerDay = (schedule: Schedule): number => densest(timesOf(schedule))

/** The most payments that the payouts plan together in any 24 hours, within the hours in which they pay. */
export const plannedPerDay = (payouts: ReadonlyArray<PayoutRule>): number => {
  const times = payouts.flatMap(({ schedule, during }) =>
    timesOf(schedule).filter((at) => during === undefined || isOpen(during, at)),
  )
  return densest(times.sort((a, b) => a - b))
}

/** Payouts whose plan wants more in a day than their policy line allows. */
export const payoutRate = (set: RuleSet): ReadonlyArray<Finding> =>
  spotsOf(set).flatMap(({ rule, path }): ReadonlyArray<Finding> => {
    if (rule.kind !== "payout") return []
    const { asset, amount, schedule } = rule
    const line = lineFor(set.policy, { from: rule.from.publicKey, to: rule.to.publicKey, assetId: asset.id })
    if (line === undefined || line.transfersPer24h === 0 || amount > line.perTransfer) return []
    const times = timesPerDay(schedule)
    const sum = BigInt(times) * amount
    const often = times > line.transfersPer24h
    if (!often && sum <= line.per24h) return []
    const allowed = often ? `${line.transfersPer24h} transfers` : say(asset, line.per24h)
    return [
      {
        lint: "payout_rate",
        severity: policyGravity(set, rule),
        path: [...path.slice(0, 2), "schedule", "cron"],
        message: `${rule.name} is planned ${times} times in 24 h, ${say(asset, sum)}; policy line ${line.line} allows ${allowed}`,
        remedy: `plan it less often, or raise ${often ? `transfersPer24h to ${times}` : `per24h to ${say(asset, sum)}`}`,
      },
    ]
  })
