import { formatAmount } from "../../domain/Amount.ts"
import { type Decision, type HoldReason, holdText } from "../../domain/Decision.ts"
import { shortId } from "../../domain/Hex.ts"
import { timeText } from "../../domain/Time.ts"
import { accountName, type Party, type Receiver, type RuleAccount, receiverKey } from "../Account.ts"
import { judgeSubject } from "../checks/decide.ts"
import { funds } from "../checks/funds.ts"
import { history } from "../checks/history.ts"
import { knowledge } from "../checks/knowledge.ts"
import { lockScope, pausesOf, stops } from "../checks/stops.ts"
import { isSlot, lineFor, type PeriodUse, periodUse } from "../policy/Policy.ts"
import { reservedFrom } from "../Snapshot.ts"
import { isOfSubject, waysOf } from "../Subject.ts"
import { amountText, type Check, floorOf, leastOf, levelText, type SubjectFacts } from "../SubjectFacts.ts"

/** Inputs of a decision: balances, limits and open payments. Amounts are decimal text. */
interface Means {
  readonly asset: string
  readonly accounts: ReadonlyArray<SeenAccount>
  /** How long the condition has been true, and in how many observations. */
  readonly firing: { readonly since: number; readonly observations: number } | null
  readonly lines: ReadonlyArray<SeenLine>
  readonly quotas: ReadonlyArray<SeenQuota>
  readonly underWay: ReadonlyArray<SeenPayment>
}

interface SeenAccount {
  readonly account: string
  /** watched: its balance decides. pays: its funds do. */
  readonly role: "watched" | "pays"
  /** null: no balance was ever seen. */
  readonly balance: string | null
  /** Amount reserved by open payments, and the floor. */
  readonly reserved: string
  readonly floor: string
}

/** The policy line for one way of the money, and how much of it is used, what is decided included. */
interface SeenLine {
  readonly from: string
  readonly to: string
  /** null: no line allows it. */
  readonly line: number | null
  readonly perTransfer: string
  readonly used: string
  readonly per24h: string
  readonly left: string
  /** The next that leaves the period, Unix milliseconds; null where time alone frees nothing. */
  readonly nextFree: { readonly amount: string; readonly at: number } | null
  readonly transfers: number
  readonly transfersPer24h: number
}

/** The network's transfers of this epoch; all but the name null if it does not report them. */
interface SeenQuota {
  readonly party: string
  readonly used: number | null
  readonly limit: number | null
  readonly kept: number
  readonly endsAt: number | null
}

interface SeenPayment {
  readonly id: string
  readonly short: string
  readonly state: string
  readonly rule: string
  readonly from: string
  readonly to: string
  readonly amount: string
}

const meansOf = (facts: SubjectFacts): Means => {
  const { subject, snapshot, timer } = facts
  const payers = subject.payers.filter(({ publicKey }) =>
    subject.accounts.every(({ party, balance }) => party.publicKey !== publicKey || balance !== "free"),
  )
  const free = (party: Party): RuleAccount => ({ party, asset: subject.asset, balance: "free" })
  return {
    asset: subject.asset.symbol,
    accounts: [
      ...subject.accounts.map((account) => accountOf(facts, account, "watched")),
      ...payers.map((party) => accountOf(facts, free(party), "pays")),
    ],
    firing: timer.firingSince === undefined ? null : { since: timer.firingSince, observations: timer.observations },
    lines: waysOf(subject).map(({ from, to }) => lineOf(facts, from, to)),
    quotas: subject.payers.map((payer) => quotaOf(facts, payer)),
    underWay: snapshot.open
      .filter((intent) => isOfSubject(intent, subject) || touchesSubject(facts, intent.payment))
      .map(({ id, state, rule, payment }) => ({
        id,
        short: shortId(id).slice(0, 4),
        state,
        rule,
        from: payment.from,
        to: payment.to,
        amount: amountText(facts, payment.amount),
      })),
  }
}

const touchesSubject = (
  { subject }: SubjectFacts,
  payment: { readonly assetId: string; readonly fromKey: string; readonly toKey: string },
): boolean => {
  if (payment.assetId !== subject.asset.id) return false
  const keys = [...subject.accounts.map(({ party }) => party.publicKey), ...subject.payers.map((p) => p.publicKey)]
  return keys.some((key) => payment.fromKey === key || payment.toKey === key)
}

const accountOf = (facts: SubjectFacts, account: RuleAccount, role: SeenAccount["role"]): SeenAccount => {
  const { subject, snapshot } = facts
  const { party, asset, balance } = account
  const units = snapshot.balance(party.publicKey, asset.id, balance)
  return {
    account: balance === "free" ? accountName(account) : `${accountName(account)} (total)`,
    role,
    balance: units === undefined ? null : amountText(facts, units),
    reserved: amountText(facts, reservedFrom(snapshot, party.publicKey, asset.id)),
    floor: levelText(facts, floorOf(subject, party)),
  }
}

const lineOf = (facts: SubjectFacts, from: Party, to: Receiver): SeenLine => {
  const { subject, snapshot } = facts
  const way = { from: from.publicKey, to: receiverKey(to), assetId: subject.asset.id }
  const line = lineFor(snapshot.policy, way)
  const use: PeriodUse = line === undefined ? { amount: 0n, count: 0 } : periodUse(snapshot, line, [])
  const next = use.leaving?.[0]
  const per24h = line?.per24h ?? 0n
  return {
    from: from.name,
    to: to.name,
    line: line?.line ?? null,
    perTransfer: levelText(facts, line?.perTransfer ?? 0n),
    used: levelText(facts, use.amount),
    per24h: levelText(facts, per24h),
    left: levelText(facts, per24h > use.amount ? per24h - use.amount : 0n),
    nextFree: next === undefined ? null : { amount: levelText(facts, next.amount), at: next.at },
    transfers: use.count,
    transfersPer24h: line?.transfersPer24h ?? 0,
  }
}

const quotaOf = ({ snapshot }: SubjectFacts, payer: Party): SeenQuota => {
  const quota = snapshot.quota(payer.publicKey)
  const unsigned = snapshot.open.filter((i) => isSlot(i) && i.payment.fromKey === payer.publicKey).length
  return {
    party: payer.name,
    used: quota === undefined ? null : quota.used + unsigned,
    limit: quota?.limit ?? null,
    kept: payer.transfersKept,
    endsAt: quota?.endsAt ?? null,
  }
}

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

/** When the subject could pay, if nothing else changes. */
interface Next {
  /** Unix milliseconds before which time alone keeps it from paying; null if time does not. */
  readonly notBefore: number | null
  /** Other steps that must happen first, as text. */
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
  /** "keep-hot-funded hot/USDT holds: cooldown, 12 s left" */
  readonly sentence: string
  /** Payments or funding requests due now. */
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

/** Explains why the subject pays or not: every check, its inputs, and what must change. */
export const explainSubject = (facts: SubjectFacts): Explanation => {
  const { subject } = facts
  const { decision } = judgeSubject(facts)
  const reason = decision._tag === "Hold" ? decision.reason : null
  const isSound = knowledge.every(({ held }) => held(facts) === undefined)
  const checks = all.map((check) => answerOf(check, { facts, reason, isSound }))
  return {
    rule: subject.rule.name,
    kind: subject.kind,
    subject: subject.name,
    verdict: decision._tag === "Hold" ? "holds" : decision._tag === "Act" ? "acts" : "asks",
    reason,
    sentence: `${subject.rule.name} ${subject.name} ${verdictText(decision, subject.asset.decimals)}`,
    payments: paymentsOf(decision, subject.asset.decimals),
    checks,
    next: nextOf(checks, facts),
    ...meansOf(facts),
  }
}

interface Asked {
  readonly facts: SubjectFacts
  readonly reason: HoldReason | null
  /** True if the data is reliable enough to decide on. */
  readonly isSound: boolean
}

const isReached = ({ reason }: Check, { facts, isSound }: Asked): boolean => {
  if (reason === "stale") return facts.snapshot.asOf !== undefined
  if (reason === "in_band") return isSound && facts.need !== undefined && facts.need._tag !== "NotDue"
  return !ofNeed.has(reason) || (isSound && facts.need?._tag === "Wanted")
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

const nextOf = (checks: ReadonlyArray<Answer>, facts: SubjectFacts): Next => {
  const holding = checks.filter(({ sign }) => sign === "holds" || sign === "also_holds")
  const times = holding.flatMap(({ endsAt }) => (endsAt === null ? [] : [endsAt]))
  return {
    notBefore: times.length === 0 ? null : Math.max(...times),
    after: holding.filter(({ endsAt }) => endsAt === null).map(({ reason }) => endedBy[reason](facts)),
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
  switch (subject.kind) {
    case "topUp":
      return `${subject.name} falls below ${levelText(facts, subject.level.trigger)} and ${stays}`
    case "sweep":
      return `${subject.name} rises above ${levelText(facts, subject.level.trigger)} and ${stays}`
    case "split":
    case "withdraw":
      return `${subject.name} rises above ${levelText(facts, subject.rule.level.trigger)} and ${stays}`
    case "request":
      return `${subject.name} falls below ${levelText(facts, subject.rule.level.trigger)} and ${stays}`
    case "rebalance":
      return `an account is further from its share than the tolerance and ${stays}`
    case "code":
      return `its code asks for a payment and ${stays}`
    case "payout":
      return "its planned time comes"
  }
}

/** Event that ends a reason where time alone does not; `needs` lists acts of people. */
export const endedBy: Readonly<Record<HoldReason, (facts: SubjectFacts) => string>> = {
  halted: fixed('a person ends the halt: "cofferer resume --reason TEXT"'),
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
  no_data: ({ subject }) => `a balance of ${subject.accounts.map(accountName).join(", ") || subject.name} is seen`,
  stale: fixed("a newer block is read"),
  catching_up: fixed("all is read and compared"),
  disagreement: fixed("enough gateways agree"),
  drift: fixed("rows and balances agree twice: see reconcile, and balances rebase"),
  chain_unsettled: fixed("the network's work parameters are valid"),
  in_band: needBegins,
  pending: fixed("it is seen once more in a newer block"),
  in_flight: fixed("what is under way ends"),
  settling: fixed("balances of a newer block are read"),
  cooldown: fixed("the cooldown ends"),
  unresolved: fixed('the earlier payment is resolved: "cofferer intents resolve ID --reason TEXT"'),
  awaiting_approval: fixed("operators approve or reject it"),
  too_small: (facts) => `the need grows to ${amountText(facts, leastOf(facts))}`,
  asset_status: ({ subject }) => `${subject.asset.symbol} is listed as pinned, and no pause of its pin is in force`,
  policy: fixed("a policy line permits it"),
  limit: fixed("earlier payments are more than 24 h old"),
  quota: fixed("the network's next epoch begins"),
  fee: fixed("the network takes less, or maxFee allows more"),
  short: ({ sized }) => `${[...new Set(sized.map(({ transfer }) => transfer.from.name))].join(", ")} is funded`,
  yielded: fixed("what rules of a higher priority took is paid and free again"),
}
