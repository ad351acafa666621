import { formatLevel } from "../domain/Amount.ts"
import { instantText } from "../rules/Check.ts"
import type { Waiting } from "./Approving.ts"
import { type Course, type Fault, type Judged, paidText, silence, since, whenText, within } from "./Course.ts"
import type { Expectation } from "./Plan.ts"
import type { Miss, Paid } from "./World.ts"

type Wanted = Extract<Expectation, { amount: bigint }>

/** Whether it is the payment that is expected. */
export const isWanted = ({ rule: payer, intent: { payment } }: Paid, wanted: Wanted): boolean =>
  payment.amount === wanted.amount &&
  payment.asset === wanted.asset &&
  payment.from === wanted.from &&
  payment.to === wanted.to &&
  (wanted.rule === undefined || payer === wanted.rule)

/** "16,000 USDT reserve -> hot by keep-hot-funded" */
export const wantedText = ({ amount, asset, decimals, from, to, rule }: Wanted): string =>
  `${formatLevel(amount, decimals)} ${asset} ${from} -> ${to}${rule === undefined ? "" : ` by ${rule}`}`

const between = ({ from, to }: Wanted) => {
  return (names: ReadonlyArray<string>) => names.includes(from) || names.includes(to)
}

const signedText = (by: ReadonlyArray<string>): string =>
  by.length === 0 ? "nobody has signed" : `signed by ${by.join(" and ")}`

const waitingText = ({ paid, by, expires }: Waiting): string =>
  `${paidText(paid)} by ${paid.rule}, ${signedText(by)}, until ${instantText(expires)}`

/** Whether the payment waits for approval at this moment. */
export const judgeWaits = (course: Course, wanted: Wanted): Judged => {
  const all = course.rehearsal.waiting()
  const isSigned = (by: ReadonlyArray<string>) =>
    wanted.by === undefined || (by.length === wanted.by.length && wanted.by.every((name) => by.includes(name)))
  if (all.some(({ paid, by }) => isWanted(paid, wanted) && isSigned(by))) return undefined
  const signed = wanted.by === undefined ? "" : `, ${signedText(wanted.by)}`
  return {
    expected: `${wantedText(wanted)} waits for approval${signed}`,
    got: all.length === 0 ? "nothing waits for approval" : all.map(waitingText).join("; "),
    why: silence(course, wanted.rule, between(wanted)),
  }
}

const hasLapsed = ({ group, at, intent }: Paid): boolean =>
  group !== undefined && intent.updatedAt >= at + group.withinMillis

/** Whether nobody approved the payment in time, since the expectations before. */
export const judgeExpires = (course: Course, wanted: Wanted, after: number): Judged => {
  const fresh = course.rehearsal.ledger.paid.filter(
    ({ state, intent }) => state === "rejected" && within(course, intent.updatedAt) && !course.paid.has(intent.id),
  )
  const found = fresh.find((paid) => isWanted(paid, wanted) && hasLapsed(paid))
  if (found !== undefined) {
    course.paid.add(found.intent.id)
    return undefined
  }
  const { start } = course.plan.settings
  const others = fresh.map(
    (paid) => `${paidText(paid)} by ${paid.rule} at ${whenText(paid.intent.updatedAt - start)}: ${paid.intent.detail}`,
  )
  return {
    expected: `the approval of ${wantedText(wanted)} lapses`,
    got: others.length === 0 ? `no approval lapsed ${since(course, after)}` : others.join("; "),
    why: silence(course, wanted.rule, between(wanted)),
  }
}

/** What people said of payments in vain. */
export const missFault = ({ plan: { settings } }: Course, { at, place, by, meant, detail }: Miss): Fault => {
  const verb = by.length === 0 ? "is rejected" : `is approved by ${by.join(" and ")}`
  const after = at - settings.start
  return { at: place, when: whenText(after), expected: `${meant.words} ${verb}`, got: detail, why: [] }
}
