import { Effect } from "effect"
import { CycleConfig } from "../config/ConfigInForce.ts"
import type { Decision } from "../domain/Decision.ts"
import { type Intent, isFinalIntent } from "../domain/Intent.ts"
import { isTogether, receiversOf, subjectOfIntent } from "../payments/backing.ts"
import type { NeedVerdict } from "../payments/planAttempt.ts"
import { decide, decidePart } from "../rules/checks/decide.ts"
import type { NeededTransfer } from "../rules/Need.ts"
import { isUnsigned } from "../rules/policy/Policy.ts"
import { memoryKey } from "../rules/RuleMemory.ts"
import type { Snapshot } from "../rules/Snapshot.ts"
import { isOfSubject, type Subject } from "../rules/Subject.ts"
import type { Memory } from "../rules/SubjectFacts.ts"
import { isEarlier } from "../rules/waiting.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { RuleStates } from "../store/rules/RuleStates.ts"
import { gatherAnswers } from "./loadRound.ts"
import { takeSnapshot } from "./snapshot.ts"

/**
 * Other parts of the same decision that wait or were dropped, and its progress: `signed` if another part is paid or
 * signed; `decided` if this one was signed before and another one is to be signed for the first time, by a judgement of
 * the whole.
 */
const partsOf = Effect.fnUntraced(function* (intent: Intent, subject: Subject) {
  const unpaid: Array<Intent> = []
  if (!isTogether(subject)) return { unpaid, begun: undefined }
  const outbox = yield* Outbox
  const isNew = (one: Intent) => Effect.map(outbox.attempts(one.id), (attempts) => attempts.length === 0)
  let decided = false
  for (const other of yield* outbox.siblings(intent)) {
    if (!isOfSubject(other, subject)) continue
    if (other.state === "confirmed") return { unpaid, begun: "signed" }
    const isOver = isFinalIntent(other.state)
    if (!isOver && !isUnsigned(other)) return { unpaid, begun: "signed" }
    if (!isOver || other.state === "cancelled") unpaid.push(other)
    if (!isOver && (yield* isNew(other))) decided = true
  }
  return { unpaid, begun: decided && !(yield* isNew(intent)) ? "decided" : undefined }
})

/** Hold reasons without a need or without means; all other reasons pass with time. */
const needless: ReadonlySet<string> = new Set(["in_band", "too_small", "short", "policy", "fee", "asset_status"])

/**
 * True if even an owed payment ends: the treasury's policy or rule never permits it as decided. The network's minimum
 * may change, and does not end it.
 */
const isHopeless = (reason: string, { payment }: Intent, { rule }: Subject): boolean =>
  reason === "policy" || (reason === "too_small" && payment.amount < (rule.min.get(payment.assetId) ?? 0n))

/**
 * Judges if the intent's rule would decide the same payment today, or a larger one, without this intent. A removed rule
 * wants nothing. A planned time is owed until it is paid, and so is a part of an all-or-nothing decision whose other
 * parts are paid. Both wait while they can be paid at all.
 */
export const isWanted = Effect.fn("Engine.isWanted")(function* (intent: Intent) {
  const { treasury } = yield* CycleConfig
  const { memories } = yield* (yield* RuleStates).byKey
  const subject = subjectOfIntent(treasury.rules, intent)
  if (subject === undefined)
    return { verdict: "gone", why: "no rule in force pays it any more", isOwed: false } as const
  const answers = subject.kind === "code" ? yield* gatherAnswers(subject.rule.name) : undefined
  const seen = yield* takeSnapshot(memories)
  const snapshot = answers === undefined ? seen : { ...seen, answers }
  const { unpaid, begun } = yield* partsOf(intent, subject)
  const isOwed = subject.kind === "payout" || begun === "signed"
  const memory = memories.get(memoryKey(intent.rule, subject.name))
  const decision =
    isOwed || begun === "decided" ? partOf(intent, subject, snapshot, isOwed) : wholeOf(subject, snapshot, memory)
  const says = (verdict: NeedVerdict["verdict"], why: string): NeedVerdict => ({ verdict, why, isOwed })
  if (decision === undefined) return says("gone", "its rule pays another amount now, or somebody else")
  if (decision._tag === "Hold") {
    const isOver = isOwed ? isHopeless(decision.reason, intent, subject) : needless.has(decision.reason)
    return says(isOver ? "gone" : "later", decision.detail)
  }
  const isPaid = ({ payment }: Intent) =>
    decision.payments.some(
      ({ fromKey, toKey, assetId, amount }) =>
        fromKey === payment.fromKey &&
        toKey === payment.toKey &&
        assetId === payment.assetId &&
        amount >= payment.amount,
    )
  const isWhole = !isOwed && begun === undefined
  if (isPaid(intent) && (!isWhole || unpaid.every(isPaid))) return says("wanted", decision.detail)
  return says(isOwed ? "later" : "gone", "its rule would pay less of it now")
})

const wholeOf = (subject: Subject, snapshot: Snapshot, memory: Memory | undefined): Decision => {
  const without = {
    ...snapshot,
    open: snapshot.open.filter((other) => !isOfSubject(other, subject) || isFinalIntent(other.state)),
  }
  return decide(subject, without, memory).decision
}

/**
 * Judges the part. Amounts of the other parts stay reserved; for an owed part only signed and earlier payments count,
 * so that two of them do not wait for each other. Undefined if the rule no longer pays this receiver.
 */
const partOf = (intent: Intent, subject: Subject, snapshot: Snapshot, isOwed: boolean): Decision | undefined => {
  const transfer = transferOf(intent, subject)
  const open = snapshot.open.filter(
    (other) => other.id !== intent.id && (!isOwed || !isUnsigned(other) || isEarlier(other, intent)),
  )
  return transfer === undefined ? undefined : decidePart(subject, { ...snapshot, open }, transfer)
}

const transferOf = ({ payment: { fromKey, toKey, assetId, amount } }: Intent, subject: Subject) => {
  const from = subject.payers.find(({ publicKey }) => publicKey === fromKey)
  const isPayout = subject.kind === "payout"
  const receivers = isPayout ? [subject.rule.to] : receiversOf(subject)
  const to = receivers.find(({ publicKey }) => publicKey === toKey)
  if (from === undefined || to === undefined || subject.asset.id !== assetId) return undefined
  if (isPayout && subject.rule.amount < amount) return undefined
  const transfer: NeededTransfer = { from, to, amount }
  return transfer
}
