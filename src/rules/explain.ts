import { formatAmount } from "../domain/Amount.ts"
import type { Decision, HoldReason } from "../domain/Decision.ts"
import type { Check } from "./Check.ts"
import { judge } from "./decide.ts"
import { endedBy } from "./endedBy.ts"
import { funds } from "./funds.ts"
import { history } from "./history.ts"
import { knowledge } from "./knowledge.ts"
import type { Look } from "./Look.ts"
import { type Means, meansOf } from "./means.ts"
import { stops } from "./stops.ts"

/** holds: the reason. also_holds: would be, had none before it. not_reached: needs what is not known or wanted. */
export type Sign = "passed" | "holds" | "also_holds" | "not_reached"

/** What one check said. */
export interface Answer {
  readonly reason: HoldReason
  readonly sign: Sign
  /** The sentence with the numbers; empty where it was not reached. */
  readonly detail: string
  /** Unix milliseconds at which it ends by itself; null where it does not hold, or time does not end it. */
  readonly endsAt: number | null
}

/** When the subject could pay, if nothing else changes. */
interface Next {
  /** Unix milliseconds before which time alone keeps it silent; null where time does not. */
  readonly notBefore: number | null
  /** What else has to happen, in words. */
  readonly after: ReadonlyArray<string>
}

/** All that one decision rests on, as plain values. Amounts are decimal text in units of the asset. */
export interface Explanation extends Means {
  readonly rule: string
  readonly kind: string
  readonly subject: string
  readonly verdict: "acts" | "asks" | "holds"
  /** The first that holds; null where it acts. */
  readonly reason: HoldReason | null
  /** "keep-hot-funded hot/USDT is silent: cooldown, 12 s left" */
  readonly sentence: string
  /** What would be paid or asked for now. */
  readonly payments: ReadonlyArray<ExplainedPayment>
  /** All checks, in order of precedence. */
  readonly checks: ReadonlyArray<Answer>
  readonly next: Next
}

export interface ExplainedPayment {
  readonly from: string
  readonly to: string
  readonly asset: string
  readonly amount: string
  /** Base units as digits: what is the same under other decimals too. */
  readonly units: string
}

const all: ReadonlyArray<Check> = [...stops, ...knowledge, ...history, ...funds]

/** Checks that speak of the payments that are wanted: without a need they say nothing. */
const ofNeed: ReadonlySet<HoldReason> = new Set([
  "pending",
  "settling",
  "too_small",
  "policy",
  "limit",
  "quota",
  "fee",
  "short",
  "yielded",
])

/** Checks of money of ours: people pay what they are asked for from elsewhere. */
const ofOurMoney: ReadonlySet<HoldReason> = new Set(["policy", "limit", "quota", "fee", "short", "yielded"])

/** Why the subject pays or is silent: every check, what it looked at, and what would have to change. */
export const explainSubject = (look: Look): Explanation => {
  const { subject } = look
  const { decision } = judge(look)
  const reason = decision._tag === "Hold" ? decision.reason : null
  const isSound = knowledge.every(({ held }) => held(look) === undefined)
  const checks = all.map((check) => answerOf(check, { look, reason, isSound }))
  return {
    rule: subject.rule.name,
    kind: subject.kind,
    subject: subject.name,
    verdict: decision._tag === "Hold" ? "holds" : decision._tag === "Act" ? "acts" : "asks",
    reason,
    sentence: `${subject.rule.name} ${subject.name} ${verdictText(decision, subject.asset.decimals)}`,
    payments: paymentsOf(decision, subject.asset.decimals),
    checks,
    next: nextOf(checks, look),
    ...meansOf(look),
  }
}

interface Asked {
  readonly look: Look
  readonly reason: HoldReason | null
  /** Whether the knowledge may be judged by. */
  readonly isSound: boolean
}

const isReached = ({ reason }: Check, { look, isSound }: Asked): boolean => {
  if (reason === "stale") return look.snapshot.asOf !== undefined
  if (reason === "in_band") return isSound && look.need !== undefined && look.need._tag !== "NotDue"
  return !ofNeed.has(reason) || (isSound && look.need?._tag === "Wanted")
}

const answerOf = (check: Check, asked: Asked): Answer => {
  const { reason } = check
  const { look } = asked
  if (!isReached(check, asked)) return { reason, sign: "not_reached", detail: "", endsAt: null }
  const detail = check.held(look)
  if (detail === undefined) {
    const byPeople = look.subject.kind === "request" && ofOurMoney.has(reason)
    return {
      reason,
      sign: "passed",
      detail: byPeople ? "people pay it from elsewhere" : check.passed(look),
      endsAt: null,
    }
  }
  const sign = reason === asked.reason ? "holds" : "also_holds"
  return { reason, sign, detail, endsAt: check.ends?.(look) ?? null }
}

const nextOf = (checks: ReadonlyArray<Answer>, look: Look): Next => {
  const holding = checks.filter(({ sign }) => sign === "holds" || sign === "also_holds")
  const times = holding.flatMap(({ endsAt }) => (endsAt === null ? [] : [endsAt]))
  return {
    notBefore: times.length === 0 ? null : Math.max(...times),
    after: holding.filter(({ endsAt }) => endsAt === null).map(({ reason }) => endedBy[reason](look)),
  }
}

const paymentsOf = (decision: Decision, decimals: number): ReadonlyArray<ExplainedPayment> =>
  decision._tag === "Hold"
    ? []
    : decision.payments.map((payment) => ({
        from: payment.from,
        to: payment.to,
        asset: payment.asset,
        amount: formatAmount(payment.amount, decimals),
        units: String(payment.amount),
      }))

/** "is silent: cooldown, 12 s left"; "pays 16,210.00 USDT reserve -> hot: 8,790.00 is below 10,000". */
const verdictText = (decision: Decision, decimals: number): string => {
  if (decision._tag === "Hold") return `is silent: ${decision.reason.replaceAll("_", " ")}, ${decision.detail}`
  const what = paymentsOf(decision, decimals).map((p) => `${p.amount} ${p.asset} ${p.from} -> ${p.to}`)
  return `${decision._tag === "Act" ? "pays" : "asks people for"} ${what.join(", ")}: ${decision.detail}`
}
