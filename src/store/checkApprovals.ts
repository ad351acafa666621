import { isApproval, type PaymentTerms, readPaymentTerms } from "../tx/Approval.ts"
import type { ReceiptApproval, ReceiptAttempt, Statement } from "./receipt.ts"

/** What the operator signed, and under which terms. */
type Verified = Pick<ReceiptApproval, "operator" | "key"> & { readonly terms: PaymentTerms }

/** Undefined where the operator signed no such text, or that of another payment. */
const verified = (approval: ReceiptApproval, { treasury, payment }: Statement): Verified | undefined => {
  const { operator, key, text, signature } = approval
  const terms = readPaymentTerms(String(text))
  if (terms === undefined || !isApproval(String(key), String(text), String(signature))) return undefined
  const { intentId, proposer, from, to } = terms
  const sums = [String(terms.amount), String(terms.feeMax)]
  const said = [terms.treasury, intentId, terms.rule, proposer, from, to, terms.assetId, ...sums]
  const { id, rule, submittedBy, fromKey, toKey, assetId, units, feeMax } = payment
  const is = [treasury, id, rule, submittedBy, fromKey, toKey, assetId, units, feeMax]
  return said.every((value, i) => value === is[i]) ? { operator, key, terms } : undefined
}

/** Whether operators signed this very payment, and what the signer relied on is among it; else what is wrong. */
export const approvalProblem = (statement: Statement): string | undefined => {
  const { approvals = [], attempts, decision } = statement
  const given: Array<Verified> = []
  for (const approval of approvals) {
    const one = verified(approval, statement)
    if (one === undefined) return `the approval of ${approval.operator} is not of this payment`
    if (approval.operator === statement.payment.submittedBy) return `${approval.operator} approved their own payment`
    given.push(one)
  }
  for (const attempt of attempts) {
    const asked = attempt.permit?.policy === decision?.policy ? decision?.approval : undefined
    const problem = permitProblem(attempt, given, asked)
    if (problem !== undefined) return `attempt ${attempt.k}: ${problem}`
  }
  return undefined
}

const permitProblem = (
  { permit, signedAt, chainId }: ReceiptAttempt,
  given: ReadonlyArray<Verified>,
  asked: string | undefined,
): string | undefined => {
  const relied = permit?.approval
  if (relied === undefined) return asked === undefined ? undefined : `it was signed without the approval of ${asked}`
  const holding = given.filter(
    ({ operator, terms }) =>
      relied.by.includes(String(operator)) &&
      terms.group === relied.group &&
      terms.chainId === chainId &&
      terms.policy.startsWith(String(permit?.policy)) &&
      terms.expires > Date.parse(signedAt),
  )
  const people = new Set(holding.map(({ operator }) => operator))
  const keys = new Set(holding.map(({ key }) => key))
  return Math.min(people.size, keys.size) >= relied.need
    ? undefined
    : `the signer relied on ${relied.need} approvals of ${relied.group}, and ${people.size} are here`
}
