import { Cron } from "effect"
import { lineFor } from "../Policy.ts"
import type { Schedule } from "../Schedule.ts"
import { dayMillis, type Finding, policyGravity, type RuleSet, say, spotsOf } from "./Finding.ts"

/** Planned times that are looked at: years of daily ones, two days of one a minute. */
const lookedAtMax = 3_000
/** A plan's densest day does not depend on the year; leap days and both changes of the clocks lie within. */
const from = Date.UTC(2024, 0, 1)
const until = Date.UTC(2026, 0, 1)

/** The most planned times that any 24 hours hold. */
export const timesPerDay = (schedule: Schedule): number => {
  const times: Array<number> = []
  let most = 0
  let first = 0
  for (const date of Cron.sequence(schedule.cron, new Date(from))) {
    const at = date.getTime()
    if (at > until || times.length >= lookedAtMax) break
    times.push(at)
    while (times[first]! <= at - dayMillis) first++
    most = Math.max(most, times.length - first)
  }
  return most
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
