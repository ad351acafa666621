import type { ApprovalGroup } from "../domain/Approval.ts"
import { askedFrom, type Intent } from "../domain/Intent.ts"
import { approvalFor, lineFor, namesIn, type Policy } from "../rules/policy/Policy.ts"
import { type PaymentTerms, paymentText } from "../tx/Approval.ts"

/** Approval that the policy in force requires for a payment. */
export interface NeededApproval {
  readonly group: ApprovalGroup
  readonly terms: PaymentTerms
  readonly text: string
}

/** The parts of a treasury that approvals depend on. */
interface Approving {
  readonly name: string
  readonly network: { readonly chainId: string }
  readonly policy: Policy
}

/** Undefined where the payment needs nobody's approval, or no line permits it at all. */
export const approvalOf = ({ name, network, policy }: Approving, intent: Intent): NeededApproval | undefined => {
  const { fromKey: from, toKey: to, assetId, amount } = intent.payment
  const group = approvalFor(lineFor(policy, { from, to, assetId }), amount)
  if (group === undefined) return undefined
  const terms: PaymentTerms = {
    treasury: name,
    chainId: network.chainId,
    intentId: intent.id,
    rule: intent.rule,
    proposer: intent.submittedBy,
    from,
    to,
    assetId,
    amount,
    ...namesIn(policy, { from, to, assetId }),
    feeMax: intent.feeMax,
    policy: policy.digest,
    group: group.name,
    expires: askedFrom(intent) + group.withinMillis,
  }
  return { group, terms, text: paymentText(terms) }
}
