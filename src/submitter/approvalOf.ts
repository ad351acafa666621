import { type ApprovalGroup, lateFrom, signAgainText, waitText } from "../domain/Approval.ts"
import { askedFrom, type Intent } from "../domain/Intent.ts"
import { approvalFor, lineFor, namesIn, type Policy } from "../rules/Policy.ts"
import { approversOf, type GivenApproval, type PaymentTerms, paymentText } from "../tx/Approval.ts"

/** What the policy in force asks people to sign for a payment. */
export interface NeededApproval {
  readonly group: ApprovalGroup
  readonly terms: PaymentTerms
  readonly text: string
}

interface InForce {
  readonly treasury: string
  readonly chainId: string
  readonly policy: Policy
}

/** Undefined where the payment needs nobody's approval, or no line permits it at all. */
export const approvalOf = ({ treasury, chainId, policy }: InForce, intent: Intent): NeededApproval | undefined => {
  const { fromKey: from, toKey: to, assetId, amount } = intent.payment
  const group = approvalFor(lineFor(policy, { from, to, assetId }), amount)
  if (group === undefined) return undefined
  const terms: PaymentTerms = {
    treasury,
    chainId,
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

/** A signature, and what it was given for. */
interface SignedText extends GivenApproval {
  readonly text: string
}

export interface Progress {
  readonly by: ReadonlyArray<string>
  /** Operators who may still approve. */
  readonly others: ReadonlyArray<string>
  /** Those of them whose signature was for other terms, and counts no longer. */
  readonly again: ReadonlyArray<string>
  /** How many signatures count no longer. */
  readonly voided: number
  readonly isEnough: boolean
  readonly hasLapsed: boolean
  /** Whether only the last quarter of the time is left. */
  readonly isLate: boolean
  /** All of it as a sentence. */
  readonly words: string
}

/** How far the approval has come, on the signatures that hold. */
export const progressOf = (needed: NeededApproval, given: ReadonlyArray<SignedText>, now: number): Progress => {
  const { group, terms, text } = needed
  const by = approversOf(group.of, [text], given, terms.proposer)
  const others = [...group.of.keys()].filter((name) => name !== terms.proposer && !by.includes(name))
  const other = given.filter((one) => one.text !== text)
  const again = others.filter((name) => other.some(({ key }) => key === group.of.get(name)))
  const words = waitText(group, by, others, terms.expires)
  return {
    by,
    others,
    again,
    voided: other.length,
    isEnough: by.length >= group.need,
    hasLapsed: now >= terms.expires,
    isLate: now >= lateFrom(group, terms.expires),
    words: `${words}${signAgainText(again)}`,
  }
}
