import { formatAmount } from "../../domain/Amount.ts"
import { type Decision, type HoldReason, holdText } from "../../domain/Decision.ts"
import { shortId } from "../../domain/Hex.ts"
import type { Intent } from "../../domain/Intent.ts"
import { timeText } from "../../domain/Time.ts"
import { accountName } from "../Account.ts"
import { judgeSubject } from "../checks/decide.ts"
import { funds } from "../checks/funds.ts"
import { history, openOf, waits } from "../checks/history.ts"
import { knowledge } from "../checks/knowledge.ts"
import { lockScope, pausesOf, stops } from "../checks/stops.ts"
import { levelIn } from "../Subject.ts"
import { amountText, type Check, leastOf, levelText, type SubjectFacts } from "../SubjectFacts.ts"
import { machineForm, meansOf, peopleForm } from "./means.ts"

/** holds: the reason. also_holds: would be, had none before it. not_reached: needs what is not known or wanted. */
export type Sign = "passed" | "holds" | "also_holds" | "not_reached"

/** Result of one check. */
export interface Answer {
  readonly reason: HoldReason
  readonly sign: Sign
  /** The sentence with the numbers; empty where it was not reached. */
  readonly detail: string
  /** Unix milliseconds at which it ends by itself; null where it does not hold, or time does not end it. */
  readonly endsAt: number | null
}

export type Explanation = ReturnType<typeof explainSubject>
export type ExplainedPayment = Explanation["payments"][number]

const all: ReadonlyArray<Check> = [...stops, ...knowledge, ...history, ...funds]

const ofBalances: ReadonlySet<HoldReason> = new Set([...history, ...funds].map(({ reason }) => reason))

/** Checks of the wanted payments: without a need they have no result. */
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

/** Checks of our own money: people pay funding requests from elsewhere. */
const ofOurMoney: ReadonlySet<HoldReason> = new Set(["policy", "limit", "quota", "fee", "short", "yielded"])

const verdicts = { Hold: "holds", Act: "acts", Ask: "asks" } as const

/**
 * Explains why the subject pays or not: every check, its inputs, and what must change, as plain values. Amounts are
 * decimal text in units of the asset.
 */
export const explainSubject = (facts: SubjectFacts) => {
  const { subject } = facts
  const { decision } = judgeSubject(facts)
  const reason = decision._tag === "Hold" ? decision.reason : null
  const isSound = knowledge.every(({ held }) => held(facts) === undefined)
  const checks = all.map((check) => answerOf(check, { facts, reason, isSound }))
  return {
    rule: subject.rule.name,
    kind: subject.kind,
    subject: subject.name,
    verdict: verdicts[decision._tag],
    /** The first that holds; null where it acts. */
    reason,
    /** "keep-hot-funded hot/USDT holds: cooldown, 12 s left" */
    sentence: `${subject.rule.name} ${subject.name} ${verdictText(decision, subject.asset.decimals)}`,
    /** Payments or funding requests due now. */
    payments: paymentsOf(decision, subject.asset.decimals),
    /** All checks, in order of precedence. */
    checks,
    next: nextOf(checks, facts),
    ...meansOf(facts, peopleForm),
  }
}

/**
 * The numbers behind a hold as plain values, without separators: when time alone ends it (Unix milliseconds), and, if
 * balances, limits or payments decided it, what the subject was judged by.
 */
export const numbersOf = (facts: SubjectFacts, reason: HoldReason) => ({
  endsAt: all.find((check) => check.reason === reason)?.ends?.(facts),
  inputs: ofBalances.has(reason)
    ? {
        subject: facts.subject.name,
        ...meansOf(facts, machineForm),
        trigger: triggerOf(facts),
        least: machineForm.level(facts, leastOf(facts)),
        wanted: facts.sized.map(({ transfer: { from, to }, wanted, spendable }) => ({
          from: from.name,
          to: to.name,
          amount: machineForm.amount(facts, wanted),
          spendable: machineForm.amount(facts, spendable),
        })),
      }
    : undefined,
})

const triggerOf = (facts: SubjectFacts): string | undefined => {
  const level = levelIn(facts.subject)
  return level && machineForm.level(facts, level.trigger)
}

interface Asked {
  readonly facts: SubjectFacts
  readonly reason: HoldReason | null
  /** True if the data is reliable enough to decide on. */
  readonly isSound: boolean
}

const isReached = ({ reason }: Check, { facts, isSound }: Asked): boolean => {
  if (reason === "stale") return facts.snapshot.asOf !== undefined
  if (reason !== "in_band" && !ofNeed.has(reason)) return true
  return isSound && (facts.need?._tag === "Wanted" || (reason === "in_band" && facts.need?._tag === "InBand"))
}

const answerOf = (check: Check, asked: Asked): Answer => {
  const { reason } = check
  const { facts } = asked
  if (!isReached(check, asked)) return { reason, sign: "not_reached", detail: "", endsAt: null }
  const detail = check.held(facts)
  if (detail === undefined) {
    const byPeople = facts.subject.kind === "request" && ofOurMoney.has(reason)
    return {
      reason,
      sign: "passed",
      detail: byPeople ? "people pay it with another key" : check.passed(facts),
      endsAt: null,
    }
  }
  const sign = reason === asked.reason ? "holds" : "also_holds"
  return { reason, sign, detail, endsAt: check.ends?.(facts) ?? null }
}

/** When the subject could pay, if nothing else changes. */
const nextOf = (checks: ReadonlyArray<Answer>, facts: SubjectFacts) => {
  const holding = checks.filter(({ sign }) => sign === "holds" || sign === "also_holds")
  const times = holding.flatMap(({ endsAt }) => (endsAt === null ? [] : [endsAt]))
  return {
    /** Unix milliseconds before which time alone keeps it from paying; null if time does not. */
    notBefore: times.length === 0 ? null : Math.max(...times),
    /** Other steps that must happen first, as text. */
    after: holding.filter(({ endsAt }) => endsAt === null).map(({ reason }) => endedBy[reason](facts)),
  }
}

const paymentsOf = (decision: Decision, decimals: number) =>
  decision._tag === "Hold"
    ? []
    : decision.payments.map((payment) => ({
        from: payment.from,
        to: payment.to,
        asset: payment.asset,
        amount: formatAmount(payment.amount, decimals),
        /** Base units as digits: what is the same under other decimals too. */
        units: String(payment.amount),
      }))

/** "holds: cooldown, 12 s left"; "pays 16,210.00 USDT reserve -> hot: 8,790.00 is below 10,000". */
const verdictText = (decision: Decision, decimals: number): string => {
  if (decision._tag === "Hold") return holdText(decision.reason, decision.detail)
  const what = paymentsOf(decision, decimals).map((p) => `${p.amount} ${p.asset} ${p.from} -> ${p.to}`)
  return `${decision._tag === "Act" ? "pays" : "asks people for"} ${what.join(", ")}: ${decision.detail}`
}

const fixed = (words: string) => () => words

/** Describes the balance at which the subject leaves its band. */
const needBegins = (facts: SubjectFacts): string => {
  const { subject } = facts
  const { forMillis } = subject.rule
  const stays = forMillis === 0 ? "is seen so twice" : `stays so for ${timeText(forMillis)}, seen twice`
  const level = levelText(facts, levelIn(subject)?.trigger ?? 0n)
  switch (subject.kind) {
    case "topUp":
    case "request":
      return `${subject.name} falls below ${level} and ${stays}`
    case "sweep":
    case "split":
    case "withdraw":
      return `${subject.name} rises above ${level} and ${stays}`
    case "rebalance":
      return `an account is further from its share than the tolerance and ${stays}`
    case "code":
      return `its code asks for a payment and ${stays}`
    case "payout":
      return "its planned time comes"
  }
}

const shown = ({ id }: Intent): string => shortId(id).slice(0, 4)

const showing = (intent: Intent | undefined): string =>
  intent === undefined ? "" : `: "cofferer intents show ${shown(intent)}"`

/** Event that ends a reason where time alone does not; `needs` lists acts of people. */
export const endedBy: Readonly<Record<HoldReason, (facts: SubjectFacts) => string>> = {
  halted: ({ snapshot }) => `the halt ends: ${[...new Set(snapshot.halts.map(({ remedy }) => remedy))].join("; ")}`,
  paused: (facts) => {
    const scopes = [...new Set(pausesOf(facts).map(({ scope }) => scope))]
    const commands = scopes.map((scope) => `"cofferer resume --scope ${scope} --reason TEXT"`)
    return `a person ends ${scopes.length === 1 ? "the pause" : "each pause"}: ${commands.join(", ")}`
  },
  maintenance: fixed("the window ends"),
  outside_hours: fixed("the hours open"),
  not_due: fixed("the planned time comes"),
  locked: ({ subject }) =>
    `a person unlocks it: "cofferer resume --scope ${lockScope(subject.rule.name)} --reason TEXT"`,
  code: ({ need }) =>
    need?._tag === "Broken"
      ? 'its code gives a valid answer: correct it, then "cofferer reload --reason TEXT"'
      : "its code answers in time",
  inhibited: ({ subject, snapshot }) =>
    `${subject.rule.inhibitedBy.filter((name) => snapshot.firing.has(name)).join(" and ")} no longer fires`,
  no_data: ({ subject, snapshot }) => {
    const seen = `a balance of ${subject.accounts.map(accountName).join(", ") || subject.name} is seen`
    return snapshot.asOf === undefined ? seen : `${seen}, or the rule has onNoData: zero`
  },
  stale: fixed('a newer block is read: "cofferer status" says what prevents it'),
  catching_up: fixed("all is read and compared"),
  disagreement: fixed("enough gateways agree"),
  drift: fixed("rows and balances agree twice: see reconcile, and balances rebase"),
  chain_unsettled: fixed("the network's work parameters are valid"),
  in_band: needBegins,
  pending: fixed("it is seen once more in a newer block"),
  in_flight: (facts) => `what is under way ends${showing(openOf(facts).find(({ state }) => !waits.has(state)))}`,
  settling: fixed("balances of a newer block are read"),
  cooldown: fixed("the cooldown ends"),
  unresolved: (facts) => {
    const manual = openOf(facts).find(({ state }) => state === "manual")
    if (manual !== undefined) return `a person resolves it: "cofferer intents resolve ${shown(manual)} --reason TEXT"`
    const unknown = openOf(facts).find(({ state }) => state === "unknown")
    return `the ledger shows by itself how the payment ended${showing(unknown)}`
  },
  awaiting_approval: (facts) => {
    const asked = openOf(facts).find(({ state }) => state === "awaiting_approval")
    return `operators approve or reject it${showing(asked)}`
  },
  too_small: (facts) => `the need grows to ${amountText(facts, leastOf(facts))}`,
  asset_status: ({ subject }) => `${subject.asset.symbol} is listed as pinned, and no pause of its pin is in force`,
  policy: fixed("a policy line permits it"),
  limit: fixed("earlier payments are more than 24 h old"),
  quota: fixed("the network's next epoch begins"),
  fee: fixed("the network takes less, or maxFee allows more"),
  short: ({ sized }) => `${[...new Set(sized.map(({ transfer }) => transfer.from.name))].join(", ")} is funded`,
  yielded: fixed("what rules of a higher priority took is paid and free again"),
}
