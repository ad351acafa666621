import type { Place } from "../config/Placed.ts"
import { formatAmount, formatLevel } from "../domain/Amount.ts"
import { sumText } from "../domain/sumText.ts"
import { timeText } from "../rules/Check.ts"
import { explain } from "./explain.ts"
import type { Expectation, Plan } from "./Plan.ts"
import { makeRehearsal, type Rehearsal } from "./Rehearsal.ts"
import type { Paid, Told } from "./World.ts"

/** One expectation that was not met. */
export interface Fault {
  readonly at: Place
  /** "45 s": since the test's start. */
  readonly when: string
  readonly expected: string
  readonly got: string
  /** Why rules were silent, one line each. */
  readonly why: ReadonlyArray<string>
}

export interface TestResult {
  readonly plan: Plan
  readonly faults: ReadonlyArray<Fault>
  readonly paid: ReadonlyArray<Paid>
  readonly told: ReadonlyArray<Told>
}

/** One test on its way: what expectations have named already, and since when they look. */
interface Course {
  readonly plan: Plan
  readonly rehearsal: Rehearsal
  readonly paid: Set<Paid["intent"]["id"]>
  readonly told: Set<Told>
  readonly faults: Array<Fault>
  /** Milliseconds since the start of the expectations before. */
  since: number
}

/** Plays a test and compares what happened with what it expects. */
export const runPlan = (plan: Plan): TestResult => {
  const { start } = plan.settings
  const rehearsal = makeRehearsal(plan.settings)
  const course: Course = { plan, rehearsal, paid: new Set(), told: new Set(), faults: [], since: -1 }
  for (const { after, events, expected } of plan.moments) {
    rehearsal.advance(events, start + after)
    for (const { at, expectation } of expected) {
      const fault = judge(course, expectation, after)
      if (fault !== undefined) course.faults.push({ at, when: whenText(after), ...fault })
    }
    if (expected.length > 0) course.since = after
  }
  const { paid } = rehearsal.ledger
  judgeEnd(course, plan.moments.at(-1)?.after ?? 0)
  return { plan, faults: course.faults, paid, told: rehearsal.told }
}

type Judged = Pick<Fault, "expected" | "got" | "why"> | undefined

/** "45 s", or "25 h" where that is exact. */
const whenText = (after: number): string => {
  if (after > 0 && after % 86_400_000 === 0) return `${after / 86_400_000} d`
  if (after > 0 && after % 3_600_000 === 0) return `${after / 3_600_000} h`
  return after > 0 && after % 60_000 === 0 ? `${after / 60_000} min` : `${after / 1_000} s`
}

export const paidText = ({ intent: { payment, decimals } }: Paid): string =>
  `${sumText(payment, decimals)} ${payment.from} -> ${payment.to}`

const within = (course: Course, at: number): boolean => at > course.plan.settings.start + course.since

const judge = (course: Course, expectation: Expectation, after: number): Judged => {
  switch (expectation.kind) {
    case "pays":
      return judgePays(course, expectation, after)
    case "cancels":
      return judgeCancels(course, expectation, after)
    case "asks":
    case "alert":
      return judgeTold(course, expectation, after)
    case "holds":
      return judgeHolds(course, expectation)
    case "balance":
      return judgeBalance(course, expectation)
  }
}

const since = (course: Course, after: number): string =>
  course.since < 0 ? `up to ${whenText(after)}` : `after ${whenText(course.since)}, up to ${whenText(after)}`

/** What was decided since the expectations before, and was named by none. */
const freshOf = (course: Course): ReadonlyArray<Paid> =>
  course.rehearsal.ledger.paid.filter(({ at, intent }) => within(course, at) && !course.paid.has(intent.id))

const gotText = (course: Course, fresh: ReadonlyArray<Paid>, after: number): string => {
  const { start } = course.plan.settings
  const got = fresh.map((paid) => `${paidText(paid)} by ${paid.rule} at ${whenText(paid.at - start)}`)
  return got.length === 0 ? `nothing was paid ${since(course, after)}` : got.join("; ")
}

const judgeCancels = (course: Course, wanted: Extract<Expectation, { kind: "cancels" }>, after: number): Judged => {
  const { order, rule } = wanted
  const fresh = freshOf(course)
  const found = fresh.find(
    ({ intent, rule: by }) =>
      intent.command === "cancel" && intent.payment.toKey === order && (rule === undefined || by === rule),
  )
  if (found !== undefined) {
    course.paid.add(found.intent.id)
    return undefined
  }
  return {
    expected: `standing order ${order.slice(0, 8)} cancelled${rule === undefined ? "" : ` by ${rule}`}`,
    got: gotText(course, fresh, after),
    why: rule === undefined ? [] : silence(course, rule, () => true),
  }
}

const judgePays = (course: Course, wanted: Extract<Expectation, { kind: "pays" | "asks" }>, after: number): Judged => {
  const { amount, asset, decimals, from, to, rule } = wanted
  const fresh = freshOf(course)
  const found = fresh.find(
    ({ intent: { payment }, rule: payer }) =>
      payment.amount === amount &&
      payment.asset === asset &&
      payment.from === from &&
      payment.to === to &&
      (rule === undefined || payer === rule),
  )
  if (found !== undefined) {
    course.paid.add(found.intent.id)
    return undefined
  }
  const by = rule === undefined ? "" : ` by ${rule}`
  return {
    expected: `a payment of ${formatLevel(amount, decimals)} ${asset} ${from} -> ${to}${by}`,
    got: gotText(course, fresh, after),
    why: silence(course, rule, (names) => names.includes(from) || names.includes(to)),
  }
}

/** What the rules say that might have been meant: the named one, or those between the parties. */
const silence = (
  { rehearsal }: Course,
  rule: string | undefined,
  concerns: (parties: ReadonlyArray<string>) => boolean,
): ReadonlyArray<string> =>
  rehearsal.entries
    .filter(({ subject }) => rule === undefined || subject.rule.name === rule)
    .filter(({ subject }) => concerns(subject.parties.map(({ name }) => name)))
    .flatMap(({ subject }) => {
      const outcome = rehearsal.outcome(subject.rule.name, subject.name)
      return outcome === undefined ? [] : [explain(outcome)]
    })

const judgeTold = (
  course: Course,
  wanted: Extract<Expectation, { kind: "alert" | "asks" | "pays" }>,
  after: number,
): Judged => {
  const fresh = course.rehearsal.told.filter((told) => within(course, told.at) && !course.told.has(told))
  const found = fresh.find((told) => meets(told, wanted))
  if (found !== undefined) {
    course.told.add(found)
    return undefined
  }
  const expected =
    wanted.kind === "alert"
      ? `an alert: ${[wanted.alert, wanted.rule, wanted.subject, wanted.because].filter((word) => word !== undefined).join(" ")}`
      : `people asked for ${formatLevel(wanted.amount, wanted.decimals)} ${wanted.asset} ${wanted.from} -> ${wanted.to}`
  const got = fresh.map(({ kind, rule, subject, detail }) => `${kind} ${rule} ${subject}: ${detail}`).join("; ")
  return {
    expected,
    got: got === "" ? `nobody was told anything ${since(course, after)}` : got,
    why: wanted.rule === undefined ? [] : [...silence(course, wanted.rule, () => true), ...saying(course, wanted.rule)],
  }
}

const meets = (told: Told, wanted: Extract<Expectation, { kind: "alert" | "asks" | "pays" }>): boolean => {
  if (wanted.rule !== undefined && told.rule !== wanted.rule) return false
  if (wanted.kind === "alert") {
    const { alert, subject, because = "" } = wanted
    return told.kind === alert && (subject === undefined || told.subject === subject) && told.detail.includes(because)
  }
  const { asked } = told
  return (
    told.kind === "request" &&
    asked?.amount === wanted.amount &&
    asked.asset === wanted.asset &&
    asked.from === wanted.from &&
    asked.to === wanted.to
  )
}

/** What a rule says that tells people of a condition. */
const saying = ({ rehearsal }: Course, rule: string): ReadonlyArray<string> => {
  const alerted = rehearsal.alerted(rule)
  if (alerted === undefined) return []
  const { reason, detail } = alerted
  return [`${rule} ${reason === undefined ? "fires" : `is silent: ${reason.replaceAll("_", " ")}`}, ${detail}`]
}

const judgeHolds = (course: Course, wanted: Extract<Expectation, { kind: "holds" }>): Judged => {
  const { rule, subject, reason, because = "" } = wanted
  const expected = `${rule} ${subject} holds: ${reason}${because === "" ? "" : ` because "${because}"`}`
  const alerted = course.rehearsal.alerted(rule)
  if (alerted !== undefined) {
    if (alerted.reason === reason && alerted.detail.includes(because)) return undefined
    return { expected, got: saying(course, rule).join(), why: [] }
  }
  const outcome = course.rehearsal.outcome(rule, subject)
  if (outcome === undefined) return { expected, got: "it was never looked at", why: [] }
  const { decision } = outcome.judgement
  const isReason = decision._tag === "Hold" && decision.reason === reason
  if (isReason && decision.detail.includes(because)) return undefined
  return { expected, got: explain(outcome), why: [] }
}

const judgeBalance = ({ rehearsal }: Course, wanted: Extract<Expectation, { kind: "balance" }>): Judged => {
  const { account, name, units, decimals } = wanted
  const holding = rehearsal.ledger.holdings.get(account)
  if (holding?.known === true && holding.free === units) return undefined
  return {
    expected: `${name} holds ${formatLevel(units, decimals)}`,
    got: holding?.known === true ? formatAmount(holding.free, decimals) : "its balance was never told",
    why: [],
  }
}

const judgeEnd = (course: Course, after: number): void => {
  const { plan, rehearsal, faults } = course
  const { start } = plan.settings
  const { paid } = rehearsal.ledger
  const when = whenText(after)
  const others = paid.filter(({ intent }) => !course.paid.has(intent.id))
  for (const one of plan.anyPayments || plan.payments?.count === paid.length ? [] : others) {
    const at = whenText(one.at - start)
    const got = `${paidText(one)} by ${one.rule} at ${at}: ${one.intent.detail}`
    faults.push({ at: plan.at, when: at, expected: "no payment that no expectation names", got, why: [] })
  }
  const count = (wanted: Plan["payments"], what: string, all: ReadonlyArray<string>) => {
    if (wanted === undefined || wanted.count === all.length) return
    const got = all.length === 0 ? `no ${what}` : `${all.length}: ${all.slice(0, 5).join("; ")}`
    faults.push({ at: wanted.at, when, expected: `${wanted.count} ${what}`, got, why: [] })
  }
  count(
    plan.payments,
    "payments in all",
    paid.map((one) => `${paidText(one)} at ${whenText(one.at - start)}`),
  )
  count(
    plan.alerts,
    "alerts in all",
    rehearsal.told.map(({ kind, rule, at }) => `${kind} of ${rule} at ${timeText(at - start)}`),
  )
}
