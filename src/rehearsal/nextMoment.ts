import { hoursAt } from "../rules/Hours.ts"
import { history } from "../rules/history.ts"
import type { Look } from "../rules/Look.ts"
import { lateTimes } from "../rules/payoutNotices.ts"
import { plannedAfter } from "../rules/Schedule.ts"
import { observationsMin } from "../rules/Timer.ts"

const cooldown = history.find(({ reason }) => reason === "cooldown")!

/** Times of the plan and the calendar, whatever the balances are. */
const calendar = function* ({ subject: { rule }, snapshot, need }: Look): Iterable<number> {
  const { now } = snapshot
  if (rule.during !== undefined) yield hoursAt(rule.during, now).until
  for (const { from, until } of rule.maintenance) yield from > now ? from : until
  if (need?.next !== undefined) yield need.next
}

/** Whether the next look is another observation. */
const isFresh = ({ snapshot: { now, asOf } }: Look): boolean => asOf === BigInt(now) * 1_000_000n

/** Times that matter while there is a need. */
const waits = function* (look: Look): Iterable<number> {
  const { subject, snapshot, need, timer } = look
  const { now, settled } = snapshot
  if (timer.firingSince !== undefined) {
    yield timer.firingSince + subject.rule.forMillis
    if (timer.observations < observationsMin && isFresh(look)) yield now + 1
  }
  yield cooldown.ends?.(look) ?? now
  for (const { settledAt } of settled) {
    if (settledAt !== undefined) yield Number(settledAt / 1_000_000n) + subject.rule.settleMillis + 1
  }
  if (subject.kind !== "payout" || need?._tag !== "Wanted") return
  yield plannedAfter(subject.rule.schedule, now)
  yield* lateTimes(look)
  yield (need.episode ?? 0) * 1_000 + subject.rule.schedule.lateMillis + 1
}

/** When the knowledge of a moment (Unix milliseconds) is too old for the subject, if nothing newer comes. */
export const tooOldAt = ({ subject: { rule }, snapshot }: Look, known: number): number =>
  known + (rule.maxAgeMillis ?? snapshot.maxAgeMillis) + 1

/**
 * The first moment (Unix milliseconds) after the look at which time alone may change what is decided; infinite where it
 * never does. Windows of the policy, epochs of the network and the age of the knowledge are not in it. It may come too
 * early, never too late.
 */
export const nextMoment = (look: Look): number => {
  const { now } = look.snapshot
  let next = Number.POSITIVE_INFINITY
  for (const at of calendar(look)) if (at > now && at < next) next = at
  if (look.need !== undefined && look.need._tag !== "Wanted") return next
  for (const at of waits(look)) if (at > now && at < next) next = at
  return next
}
