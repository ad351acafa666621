import { type Cron, DateTime } from "effect"
import { dayMillis } from "../../domain/Time.ts"
import { type Party, receiverKey } from "../Account.ts"
import { lineFor } from "../policy/Policy.ts"
import { transfersPermitted } from "../policy/worstCase.ts"
import type { PayoutRule } from "../Rule.ts"
import { isOpen, type Schedule, timesAfter } from "../Schedule.ts"
import { waysOf } from "../Subject.ts"
import { assetAmount, type Finding, policySeverity, type RuleSet, type Spot, spotsOf } from "./Finding.ts"

/** Planned times that are examined: years of daily ones, two days of one a minute. */
const evaluationsMax = 3_000
/** A plan's densest day does not depend on the year; leap days and both changes of the clocks lie within. */
const from = Date.UTC(2024, 0, 1)
const until = Date.UTC(2026, 0, 1)

/** Planned times within the examined years, in Unix milliseconds. */
const timesOf = (schedule: Schedule): ReadonlyArray<number> => {
  const times: Array<number> = []
  for (const at of timesAfter(schedule, from)) {
    if (at > until || times.length >= evaluationsMax) break
    times.push(at)
  }
  return times
}

interface Planned {
  /** Unix milliseconds. */
  readonly at: number
  readonly amount: bigint
}

/** Largest number of these payments within 24 hours, and their largest sum. */
const densest = (payments: ReadonlyArray<Planned>) => {
  const sorted = payments.toSorted((a, b) => a.at - b.at)
  let [count, most, sum, first] = [0, 0n, 0n, 0]
  for (const [i, { at, amount }] of sorted.entries()) {
    sum += amount
    for (; sorted[first]!.at <= at - dayMillis; first++) sum -= sorted[first]!.amount
    count = Math.max(count, i + 1 - first)
    if (sum > most) most = sum
  }
  return { count, amount: most }
}

/** No 24 hours have more planned times: where a zone sets its clock forward, they hold 25 hours of its day. */
const atMostPerDay = ({ plans }: Schedule): number =>
  plans.reduce((sum, { cron }) => {
    const { seconds, minutes, hours } = cron
    return sum + (seconds.size || 60) * (minutes.size || 60) * ((hours.size || 24) + 1)
  }, 0)

/** Largest number of planned times within 24 hours. */
const timesPerDay = (schedule: Schedule): number => densest(timesOf(schedule).map((at) => ({ at, amount: 0n }))).count

/** The most that the payouts plan together in any 24 hours, within the hours in which they pay. */
const plannedPerDay = (payouts: ReadonlyArray<PayoutRule>) =>
  densest(
    payouts.flatMap(({ schedule, during, amount }) =>
      timesOf(schedule).flatMap((at) => (during === undefined || isOpen(during, at) ? [{ at, amount }] : [])),
    ),
  )

const plansText = (payouts: ReadonlyArray<PayoutRule>): string =>
  `${payouts.map(({ name }) => name).join(" and ")} ${payouts.length === 1 ? "is" : "are"} planned`

/** The files are judged without the network: what its quota may permit is never an error. */
const unlessMore = "unless its parameters permit more"

/** Transfers that do not fit the network's quota, or the policy's, in 24 hours. */
export const quota = (set: RuleSet): ReadonlyArray<Finding> => [...splitSizes(set), ...payers(set), ...dense(set)]

/** Payouts whose plans together exceed their policy line: the later ones of a day wait, or are dropped. */
const dense = (set: RuleSet): ReadonlyArray<Finding> => {
  const spots = spotsOf(set).flatMap(({ rule, path }) =>
    rule.kind === "payout" && !rule.trial ? [{ rule, path }] : [],
  )
  const byLine = Map.groupBy(spots, ({ rule: { from, to, asset } }) =>
    lineFor(set.policy, { from: from.publicKey, to: receiverKey(to), assetId: asset.id }),
  )
  return [...byLine].flatMap(([line, own]): ReadonlyArray<Finding> => {
    const [first] = own
    if (line === undefined || line.transfersPer24h === 0 || first === undefined) return []
    const exceeds = (count: number, amount: bigint) => count > line.transfersPer24h || amount > line.per24h
    const payouts = own.map(({ rule }) => rule)
    const bounds = payouts.map(({ schedule, amount }) => ({ count: atMostPerDay(schedule), amount }))
    const count = bounds.reduce((sum, one) => sum + one.count, 0)
    // To walk through a plan takes long: see below.
    if (
      !exceeds(
        count,
        bounds.reduce((sum, one) => sum + BigInt(one.count) * one.amount, 0n),
      )
    )
      return []
    const planned = plannedPerDay(payouts)
    if (!exceeds(planned.count, planned.amount)) return []
    const { asset } = first.rule
    return [
      {
        lint: "dense",
        severity: "warning",
        path: [...first.path.slice(0, 2), "schedule", "cron"],
        message: `${plansText(payouts)} ${planned.count} times in 24 h, ${assetAmount(asset, planned.amount)} in all; policy line ${line.line} allows ${line.transfersPer24h} transfers and ${assetAmount(asset, line.per24h)}`,
        remedy: "plan less, or raise the line's transfersPer24h and per24h",
      },
    ]
  })
}

/** All transfers of a split are made together, or none. */
const splitSizes = (set: RuleSet): ReadonlyArray<Finding> =>
  spotsOf(set).flatMap(({ rule, path }): ReadonlyArray<Finding> => {
    if (rule.kind !== "split") return []
    const { level, to } = rule
    const found = (severity: Finding["severity"], message: string, remedy: string): ReadonlyArray<Finding> => [
      { lint: "split_size", severity, path: [...path, "to"], message, remedy },
    ]
    const free = set.transfersPerDay === undefined ? undefined : set.transfersPerDay - level.party.transfersKept
    // A payer that keeps all of them has a finding of its own.
    if (free !== undefined && free > 0 && to.length > free) {
      const kept = level.party.transfersKept > 0 ? `, ${level.party.transfersKept} of them kept for people` : ""
      return found(
        "warning",
        `${rule.name} makes ${to.length} transfers at once; the network lets a key send ${set.transfersPerDay} in 24 h${kept}`,
        `name ${free} parties at most, or split in two steps, ${unlessMore}`,
      )
    }
    const lines = Map.groupBy(to, ({ party }) =>
      lineFor(set.policy, { from: level.party.publicKey, to: party.publicKey, assetId: level.asset.id }),
    )
    for (const [line, own] of lines) {
      if (line === undefined || line.transfersPer24h === 0 || own.length <= line.transfersPer24h) continue
      return found(
        policySeverity(set, rule),
        `${rule.name} makes ${own.length} transfers at once; policy line ${line.line} allows ${line.transfersPer24h} in 24 h`,
        `raise transfersPer24h to ${own.length} or more`,
      )
    }
    return []
  })

/** Planned times of a schedule in 24 hours. */
type Count = (schedule: Schedule) => number

/** Transfers that the rule itself can make from the payer in 24 hours; undefined where only the policy bounds them. */
const decidedPerDay = ({ rule, subject }: Spot, payer: Party, planned: Count): number | undefined => {
  const transfers = new Set(waysOf(subject).flatMap(({ from, to }) => (from === payer ? [to] : []))).size
  if (rule.kind === "payout") return planned(rule.schedule)
  if (rule.cooldownMillis === 0) return undefined
  return transfers * (Math.floor(dayMillis / rule.cooldownMillis) + 1)
}

const decidedByAll = (own: ReadonlyArray<Spot>, payer: Party, planned: Count): number =>
  own.reduce((sum, spot) => sum + (decidedPerDay(spot, payer, planned) ?? Number.POSITIVE_INFINITY), 0)

/** Payers of the rule's transfers. */
const sendersOf = ({ subject }: Spot): ReadonlyArray<Party> => waysOf(subject).map(({ from }) => from)

const payers = (set: RuleSet): ReadonlyArray<Finding> => {
  const { transfersPerDay, policy } = set
  if (transfersPerDay === undefined) return []
  const spots = spotsOf(set).filter(({ rule }) => !rule.trial)
  const found = new Map(spots.flatMap((spot) => sendersOf(spot).map((from) => [from, spot] as const)).reverse())
  return [...found].flatMap(([payer, first]): ReadonlyArray<Finding> => {
    const free = transfersPerDay - payer.transfersKept
    if (free <= 0) {
      return [
        {
          lint: "quota",
          severity: "warning",
          path: ["parties", payer.name, "transfersKept"],
          message: `${payer.name} keeps ${payer.transfersKept} transfers for people, and the network lets a key send ${transfersPerDay} in 24 h: ${first.rule.name} can make none`,
          remedy: `keep ${transfersPerDay - 1} at most, ${unlessMore}`,
        },
      ]
    }
    const own = spots.filter((spot) => sendersOf(spot).includes(payer))
    const permitted = transfersPermitted(policy, payer.publicKey)
    // To walk through a plan in a time zone takes up to a second, and each reload waits for it.
    if (Math.min(decidedByAll(own, payer, atMostPerDay), permitted) <= free) return []
    const kept = payer.transfersKept > 0 ? ` and ${payer.transfersKept} are kept for people` : ""
    const payouts = own.flatMap(({ rule }) => (rule.kind === "payout" ? [rule] : []))
    const planned = plannedPerDay(payouts).count
    if (Math.min(planned, permitted) > free) {
      return [
        {
          lint: "quota",
          severity: "warning",
          path: ["parties", payer.name],
          message: `${plansText(payouts)} ${planned} times in 24 h; the network lets ${payer.name} send ${transfersPerDay}${kept}`,
          remedy: `plan ${free} times at most, ${unlessMore}`,
        },
      ]
    }
    const most = Math.min(decidedByAll(own, payer, timesPerDay), permitted)
    if (most <= free) return []
    return [
      {
        lint: "quota",
        severity: "warning",
        path: ["parties", payer.name],
        message: `rules and policy permit ${payer.name} ${most} transfers in 24 h; the network lets a key send ${transfersPerDay}${kept}`,
        remedy: "once these are used, rules hold as quota: lower transfersPer24h, or set longer cooldowns",
      },
    ]
  })
}

/** A leap year lies within; a plan's months do not depend on the years beside it. */
const years = [2024, 2025, 2026, 2027]
const monthName = new Intl.DateTimeFormat("en", { month: "long", timeZone: "UTC" })

/** Months that the plan names and that have no planned time in some year. */
const skippedOf = (schedule: Schedule): ReadonlyArray<string> => {
  // Every month has each day of the week.
  if (schedule.plans.some(({ cron: { days } }) => days.size === 0)) return []
  const beginOf = (year: number, month: number): number =>
    DateTime.makeZonedUnsafe({ year, month, day: 1 }, { timeZone: schedule.location, adjustForTimeZone: true })
      .epochMilliseconds
  const isMet = (year: number, month: number): boolean => {
    const end = month === 12 ? beginOf(year + 1, 1) : beginOf(year, month + 1)
    for (const at of timesAfter(schedule, beginOf(year, month) - 1)) return at < end
    return false
  }
  return Array.from({ length: 12 }, (_, i) => i + 1)
    .filter((month) => schedule.plans.some(({ cron: { months } }) => months.size === 0 || months.has(month)))
    .filter((month) => years.some((year) => !isMet(year, month)))
    .map((month) => monthName.format(Date.UTC(2024, month - 1)))
}

/** Payouts whose plan has no day in some of the months that it names. */
export const skippedMonths = (set: RuleSet): ReadonlyArray<Finding> =>
  spotsOf(set).flatMap(({ rule, path }): ReadonlyArray<Finding> => {
    if (rule.kind !== "payout") return []
    const skipped = skippedOf(rule.schedule)
    if (skipped.length === 0) return []
    return [
      {
        lint: "skipped_months",
        severity: "warning",
        path: [...path.slice(0, 2), "schedule", "cron"],
        message: `${rule.name} is not paid in each month: "${rule.schedule.text}" lacks a day in ${skipped.join(", ")}`,
        remedy: 'write last as the day for the last of each month, such as "0 9 last * *", or a day up to 28',
      },
    ]
  })

/** Days of 2025 that the plan names, by day or by weekday. */
const daysOf = ({ days, weekdays, months }: Cron.Cron): number =>
  Array.from({ length: 365 }, (_, i) => new Date(Date.UTC(2025, 0, 1 + i)))
    .filter((day) => months.size === 0 || months.has(day.getUTCMonth() + 1))
    .filter((day) => days.has(day.getUTCDate()) || weekdays.has(day.getUTCDay())).length

/** Payouts whose plan names days and weekdays: as in every cron, either is enough. */
export const eitherDay = (set: RuleSet): ReadonlyArray<Finding> =>
  spotsOf(set).flatMap(({ rule, path }): ReadonlyArray<Finding> => {
    if (rule.kind !== "payout") return []
    const { plans, text } = rule.schedule
    const both = plans.find(({ cron }) => cron.days.size > 0 && cron.weekdays.size > 0)
    if (both === undefined) return []
    return [
      {
        lint: "either_day",
        severity: "warning",
        path: [...path.slice(0, 2), "schedule", "cron"],
        message: `${rule.name} is paid on each day that fits the day or the weekday of "${text}", ${daysOf(both.cron)} days in 2025, not only where both fit`,
        remedy: "write * for one of the two unless that is meant",
      },
    ]
  })
