import { Effect } from "effect"
import type { Decision } from "../domain/Decision.ts"
import { type Intent, isFinalIntent } from "../domain/Intent.ts"
import { decide, decidePart } from "../rules/decide.ts"
import type { Memory } from "../rules/Look.ts"
import type { Transfer } from "../rules/Need.ts"
import { isPaying, type Party } from "../rules/Rule.ts"
import type { Snapshot } from "../rules/Snapshot.ts"
import { isOfSubject, type Subject, subjectsOf } from "../rules/Subject.ts"
import { Outbox } from "../store/Outbox.ts"
import { RuleStates } from "../store/RuleStates.ts"
import { EngineOptions } from "./EngineOptions.ts"
import { takeSnapshot } from "./snapshot.ts"

/** Holds that say that there is nothing to pay, or nothing to pay it with; all others pass. */
const needless: ReadonlySet<string> = new Set(["in_band", "too_small", "short", "policy", "fee", "asset_status"])

/**
 * Whether the intent's rule would decide the same payment today, or a larger one, if this intent were not there. A rule
 * that is gone wants nothing. Of what is paid in all its parts or not at all, a part whose others are paid is wanted as
 * long as it can be.
 */
export const isWanted = Effect.fn("Engine.isWanted")(function* (intent: Intent) {
  const options = yield* EngineOptions
  const memories = yield* (yield* RuleStates).all
  const rule = options.rules.filter(isPaying).find((r) => r.name === intent.rule)
  const subject = rule === undefined ? undefined : subjectsOf(rule).find((s) => isOfSubject(intent, s))
  if (subject === undefined) return "gone"
  const memory = memories.find((m) => m.rule === intent.rule && m.subject === subject.name)
  const snapshot = yield* takeSnapshot(memories)
  const decision = (yield* isBegun(intent, subject, snapshot))
    ? partOf(intent, subject, snapshot)
    : wholeOf(subject, snapshot, memory)
  if (decision === undefined) return "gone"
  if (decision._tag === "Hold") return needless.has(decision.reason) ? "gone" : "later"
  const same = decision.payments.some(
    ({ fromKey, toKey, assetId, amount }) =>
      fromKey === intent.payment.fromKey &&
      toKey === intent.payment.toKey &&
      assetId === intent.payment.assetId &&
      amount >= intent.payment.amount,
  )
  return same ? "wanted" : "gone"
})

const wholeOf = (subject: Subject, snapshot: Snapshot, memory: Memory | undefined): Decision => {
  const without = { ...snapshot, open: snapshot.open.filter((other) => !isOfSubject(other, subject)) }
  // A planned time is concluded by its payment; without it, it would be due again.
  const before = memory !== undefined && subject.kind === "payout" ? { ...memory, episode: memory.episode - 1 } : memory
  return decide(subject, without, before).decision
}

/** What the other parts take stays reserved. Undefined where the rule pays this receiver no more. */
const partOf = (intent: Intent, subject: Subject, snapshot: Snapshot): Decision | undefined => {
  const transfer = transferOf(intent, subject)
  const without = { ...snapshot, open: snapshot.open.filter(({ id }) => id !== intent.id) }
  return transfer === undefined ? undefined : decidePart(subject, without, transfer)
}

const transferOf = ({ payment: { fromKey, toKey, amount } }: Intent, subject: Subject): Transfer | undefined => {
  const from = subject.payers.find(({ publicKey }) => publicKey === fromKey)
  const to = receiversOf(subject).find(({ publicKey }) => publicKey === toKey)
  return from === undefined || to === undefined ? undefined : { from, to, amount }
}

/** Receivers of which all are paid, or none; of other kinds each payment stands for itself. */
const receiversOf = (subject: Subject): ReadonlyArray<Party> => {
  if (subject.kind === "split") return subject.rule.to.map(({ party }) => party)
  return subject.kind === "code" ? subject.rule.to : []
}

/**
 * Whether another part of the same decision is paid, or will be unless somebody stops it. One that itself needs another
 * attempt is not: both are asked about, and the first answer is for the whole.
 */
const isBegun = Effect.fnUntraced(function* (intent: Intent, subject: Subject, { open, settled }: Snapshot) {
  if (receiversOf(subject).length < 2) return false
  const outbox = yield* Outbox
  for (const other of [...open, ...settled]) {
    const { id, episode, state } = other
    if (id === intent.id || episode !== intent.episode || !isOfSubject(other, subject)) continue
    if (state === "confirmed") return true
    if (isFinalIntent(state)) continue
    if (state !== "reserved" || (yield* outbox.attempts(id)).length === 0) return true
  }
  return false
})
