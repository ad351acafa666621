import type { Payment } from "../domain/Decision.ts"
import type { Intent } from "../domain/Intent.ts"
import { feeMax, feeShare, type Policy } from "./Policy.ts"
import { commandOf, paymentName, type Subject } from "./Subject.ts"

/** A payment of a subject as it is decided. */
export const intentFor = (
  subject: Subject,
  payment: Payment,
  {
    policy,
    at,
    ...own
  }: Pick<Intent, "id" | "treasury" | "episode" | "detail"> & {
    readonly policy: Pick<Policy, "maxFee">
    /** Unix milliseconds. */
    readonly at: number
  },
): Intent => ({
  ...own,
  rule: subject.rule.name,
  subject: paymentName(subject, payment),
  command: commandOf(subject),
  payment,
  decimals: subject.asset.decimals,
  feeMax: feeMax(feeShare(commandOf(subject), policy.maxFee), payment.amount),
  state: "proposed",
  fee: undefined,
  settledAt: undefined,
  createdAt: at,
  updatedAt: at,
})
