import type { IntentId } from "../../src/domain/Hex.ts"
import type { Intent, IntentState } from "../../src/domain/Intent.ts"
import { feeMax, feeShare, type Policy } from "../../src/rules/Policy.ts"
import { commandOf, paymentName, type Subject } from "../../src/rules/Subject.ts"
import { intentOf } from "../support/Payments.ts"

/** What the store would keep of a payment that a subject decided. */
export const walkIntent = (
  subject: Subject,
  payment: Intent["payment"],
  { policy, state, sequence, now }: { policy: Policy; state: IntentState; sequence: number; now: number },
): Intent =>
  intentOf("", {
    id: String(sequence).padStart(64, "0") as IntentId,
    rule: subject.rule.name,
    subject: paymentName(subject, payment),
    episode: sequence,
    command: commandOf(subject),
    payment,
    decimals: subject.asset.decimals,
    feeMax: feeMax(feeShare(commandOf(subject), policy.maxFee), payment.amount),
    state,
    createdAt: now,
    updatedAt: now,
  })
