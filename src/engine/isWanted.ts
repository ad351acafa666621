import { Effect } from "effect"
import type { Decision } from "../domain/Decision.ts"
import { type Intent, isFinalIntent } from "../domain/Intent.ts"
import { decide, decidePart } from "../rules/decide.ts"
import type { Memory } from "../rules/Look.ts"
import { isUnsigned } from "../rules/limits.ts"
import type { Transfer } from "../rules/Need.ts"
import { memoryKey } from "../rules/RuleMemory.ts"
import type { Snapshot } from "../rules/Snapshot.ts"
import { isOfSubject, type Subject } from "../rules/Subject.ts"
import { isEarlier } from "../rules/waiting.ts"
import { RuleStates } from "../store/RuleStates.ts"
import { EngineOptions } from "./EngineOptions.ts"
import { gatherAnswers } from "./gatherAnswers.ts"
import { takeSnapshot } from "./snapshot.ts"
import { begunBy, receiversOf, subjectOf } from "./standingOf.ts"

/** Holds that say that there is nothing to pay, or nothing to pay it with; all others pass. */
const needless: ReadonlySet<string> = new Set(["in_band", "too_small", "short", "policy", "fee", "asset_status"])

/**
 * Whether a hold ends even what is owed: by the treasury's own terms it can never be paid as it was decided. What the
 * network takes at least is a gateway's word, and passes.
 */
const isHopeless = (reason: string, { payment }: Intent, { rule }: Subject): boolean =>
  reason === "policy" || (reason === "too_small" && payment.amount < (rule.min.get(payment.assetId) ?? 0n))

/** Whether a payment would be decided today, and where not, why. `later`: for reasons that pass. */
interface Verdict {
  readonly verdict: "wanted" | "gone" | "later"
  readonly why: string
}

const gone = (why: string): Verdict => ({ verdict: "gone", why })

/**
 * Whether the intent's rule would decide the same payment today, or a larger one, if this intent were not there. A rule
 * that is gone wants nothing. A planned time is owed until it is paid; so is, of what is paid in all its parts or not
 * at all, a part whose others are paid. Both wait as long as they can be paid at all.
 */
export const isWanted = Effect.fn("Engine.isWanted")(function* (intent: Intent) {
  const options = yield* EngineOptions
  const { memories } = yield* (yield* RuleStates).byKey
  const subject = subjectOf(options.rules, intent)
  if (subject === undefined) return gone("no rule in force pays it any more")
  const answers = subject.kind === "code" ? yield* gatherAnswers(subject.rule.name) : undefined
  const seen = yield* takeSnapshot(memories)
  const snapshot = answers === undefined ? seen : { ...seen, answers }
  const begun = yield* begunBy(intent, subject)
  const isOwed = subject.kind === "payout" || begun === "signed"
  const memory = memories.get(memoryKey(intent.rule, subject.name))
  const decision =
    isOwed || begun === "decided" ? partOf(intent, subject, snapshot, isOwed) : wholeOf(subject, snapshot, memory)
  if (decision === undefined) return gone("its rule pays another amount now, or somebody else")
  if (decision._tag === "Hold") {
    const isOver = isOwed ? isHopeless(decision.reason, intent, subject) : needless.has(decision.reason)
    return { verdict: isOver ? "gone" : "later", why: decision.detail } satisfies Verdict as Verdict
  }
  const same = decision.payments.some(
    ({ fromKey, toKey, assetId, amount }) =>
      fromKey === intent.payment.fromKey &&
      toKey === intent.payment.toKey &&
      assetId === intent.payment.assetId &&
      amount >= intent.payment.amount,
  )
  if (same) return { verdict: "wanted", why: decision.detail } satisfies Verdict as Verdict
  const why = "today the rule would pay less of it"
  return { verdict: isOwed ? "later" : "gone", why } satisfies Verdict as Verdict
})

const wholeOf = (subject: Subject, snapshot: Snapshot, memory: Memory | undefined): Decision => {
  const without = {
    ...snapshot,
    open: snapshot.open.filter((other) => !isOfSubject(other, subject) || isFinalIntent(other.state)),
  }
  return decide(subject, without, memory).decision
}

/**
 * What the other parts take stays reserved; of what is owed only what signed and earlier payments take, so that two of
 * them do not wait for each other. Undefined where the rule pays this receiver no more.
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
  const transfer: Transfer = { from, to, amount }
  return transfer
}
