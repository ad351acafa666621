import type { Hours } from "../Hours.ts"
import { type Finding, type RuleSet, spotsOf } from "./Finding.ts"

const weekMinutes = 10_080
const dayMinutes = 1_440
const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]

/** The longest closed stretch of a week by the clock on the wall: when it begins, in minutes, and how long it lasts. */
const longestClosed = (hours: Hours): { readonly from: number; readonly minutes: number } => {
  const open = new Array<boolean>(weekMinutes).fill(false)
  for (const day of hours.weekdays) {
    for (const { from, until } of hours.spans) {
      const end = from < until ? until : until + dayMinutes
      for (let minute = from; minute < end; minute++) open[(day * dayMinutes + minute) % weekMinutes] = true
    }
  }
  const opening = open.indexOf(true)
  if (opening < 0) return { from: 0, minutes: weekMinutes }
  let longest = { from: 0, minutes: 0 }
  let closed = 0
  for (let i = 1; i <= weekMinutes; i++) {
    const at = (opening + i) % weekMinutes
    if (open[at]) closed = 0
    else closed++
    if (closed > longest.minutes) longest = { from: (at - closed + 1 + weekMinutes) % weekMinutes, minutes: closed }
  }
  return longest
}

const need = {
  topUp: "a lack",
  sweep: "a surplus",
  split: "a surplus",
  withdraw: "a surplus",
  rebalance: "an imbalance",
  code: "a need",
} as const

/** Rules that wait for their hours: how long a need may have to. */
export const hours = (set: RuleSet): ReadonlyArray<Finding> =>
  [...new Map(spotsOf(set).map((spot) => [spot.rule, spot])).values()].flatMap(({ rule, path }) => {
    if (rule.during === undefined || rule.kind === "payout" || rule.kind === "request") return []
    const { from, minutes } = longestClosed(rule.during)
    if (minutes === 0) return []
    const at = [...path.slice(0, 2), "during"]
    const base = { lint: "hours", severity: "warning", path: at } as const
    if (minutes === weekMinutes) {
      return [{ ...base, message: `${rule.name} never acts: ${rule.during.name} is never open`, remedy: "open it" }]
    }
    const minute = from % dayMinutes
    const clock = `${String(Math.floor(minute / 60)).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}`
    const day = days[Math.floor(from / dayMinutes)]!
    const wait = Number((minutes / 60).toFixed(1))
    return [
      {
        ...base,
        message: `${rule.name} acts in ${rule.during.name} hours only: ${need[rule.kind]} of ${day} ${clock} waits up to ${wait} h`,
        remedy: "leave it where that is meant",
      },
    ]
  })
