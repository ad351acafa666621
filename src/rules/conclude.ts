import { formatAmount } from "../domain/Amount.ts"
import { alertOf, overOf } from "../domain/alerts/Alert.ts"
import type { Decision, Payment, RuleState } from "../domain/Decision.ts"
import { payoutNotices } from "./kinds/payoutNotices.ts"
import type { Notice } from "./Need.ts"
import type { RuleMemory } from "./RuleMemory.ts"
import type { Outcome } from "./round.ts"
import type { FundingRequest } from "./Snapshot.ts"
import type { Subject } from "./Subject.ts"
import type { Timer } from "./SubjectFacts.ts"

/** Everything that follows from a round's outcome for one subject. */
export interface Conclusion {
  readonly outcome: Outcome
  /** If it pays, with the first possible number of its episode: numbers in use are skipped. */
  readonly memory: RuleMemory
  readonly before: RuleMemory | undefined
  readonly notices: ReadonlyArray<Notice>
}

/** `isRehearsed`: nothing is paid, and no alert is raised for its money. */
export const conclude = (outcome: Outcome, before: RuleMemory | undefined, isRehearsed: boolean): Conclusion => {
  const { subject, snapshot } = outcome.facts
  const { decision, timer, planned, concluded } = outcome.judgement
  const { now } = snapshot
  const begins = before?.firingSince === undefined && timer.firingSince !== undefined && subject.kind !== "payout"
  const counted = (before?.episode ?? 0) + (begins ? 1 : 0)
  const reason = decision._tag === "Hold" ? decision.reason : undefined
  const { firingSince, observations, lastObservation } = timer
  const memory: RuleMemory = {
    rule: subject.rule.name,
    subject: subject.name,
    episode: (decision._tag === "Act" ? planned : concluded) ?? counted,
    firingSince,
    observations,
    lastObservation,
    state: stateOf(decision, timer),
    reason,
    detail: decision.detail,
    reasonSince: reasonSinceOf(subject, reason, { before, now }),
    decidedAt: now,
  }
  const ofMoney = isRehearsed ? [] : [...payoutNotices(outcome, memory, before), ...asking(subject, decision, counted)]
  return { outcome, memory, before, notices: [...ofMoney, ...received(outcome)] }
}

/** Since when it holds for the reason. A time later than now is of a clock that was ahead: it counts from now. */
const reasonSinceOf = (
  { kind }: Subject,
  reason: RuleMemory["reason"],
  { before, now }: { readonly before: RuleMemory | undefined; readonly now: number },
): number => {
  // Alerts name the times before a payout sees a balance, from its first evaluation on, whatever stops it meanwhile.
  if (kind === "payout" && before?.episode === 0) return before.reasonSince
  return before !== undefined && before.reason === reason ? Math.min(before.reasonSince, now) : now
}

const stateOf = (decision: Decision, timer: Timer): RuleState => {
  if (decision._tag !== "Hold") return "acting"
  if (decision.reason === "pending") return "pending"
  return timer.firingSince === undefined ? "inactive" : "holding"
}

/** Creates the funding request that a rule needs. */
const asking = ({ rule, name, asset }: Subject, decision: Decision, episode: number): ReadonlyArray<Notice> => {
  const payment = decision._tag === "Ask" ? decision.payments[0] : undefined
  if (payment === undefined) return []
  const { from, to, amount } = payment
  const units = formatAmount(amount, asset.decimals)
  const alert = alertOf("request", {
    rule: rule.name,
    account: name,
    episode,
    from,
    to,
    asset: asset.symbol,
    amount: units,
    detail: decision.detail,
    command: commandText(payment),
  })
  const request = { episode, from, to, asset: asset.symbol, amount, decimals: asset.decimals }
  return [{ topic: "request", rule: rule.name, subject: name, brief: decision.detail, request, alert }]
}

/** Payment as unsigned input of a wallet: base units, the receiver's key, the asset's id. */
const commandText = ({ toKey, assetId, amount }: Payment): string =>
  JSON.stringify({
    transfer: {
      fromAccountType: "ACCOUNT_TYPE_GENERAL",
      to: toKey,
      toAccountType: "ACCOUNT_TYPE_GENERAL",
      asset: assetId,
      amount: String(amount),
      oneOff: {},
    },
  })

/** The subject's open funding request. */
const openAskOf = ({ rule, name }: Subject, asked: ReadonlyArray<FundingRequest>): FundingRequest | undefined =>
  asked.find((one) => one.endedAt === undefined && one.rule === rule.name && one.subject === name)

/** The account is back in its band: the requested money counts as received. */
const received = ({ facts: { subject, snapshot }, judgement: { decision } }: Outcome): ReadonlyArray<Notice> => {
  if (subject.kind !== "request" || decision._tag !== "Hold" || decision.reason !== "in_band") return []
  const open = openAskOf(subject, snapshot.requests)
  if (open === undefined) return []
  const { rule, subject: name, episode, from, to, asset, amount, decimals } = open
  const units = formatAmount(amount, decimals)
  const brief = decision.detail
  const alert = overOf("request", { rule, account: name, episode, from, to, asset, amount: units, detail: brief })
  return [{ topic: "received", rule, subject: name, brief, request: open, alert, isOver: true }]
}

/** Funding requests after a notice: a new request is added, an answered one is ended. */
export const askedAfter = (
  all: ReadonlyArray<FundingRequest>,
  notice: Notice,
  now: number,
): ReadonlyArray<FundingRequest> => {
  const { topic, rule, subject, request } = notice
  if (request === undefined) return all
  if (topic === "request") return [...all, { ...request, rule, subject, at: now, endedAt: undefined }]
  const isIt = (one: FundingRequest) => one.endedAt === undefined && one.rule === rule && one.subject === subject
  return all.map((one) => (isIt(one) ? { ...one, endedAt: now } : one))
}
