import { formerPaymentText, isApproval, paymentText } from "../tx/Approval.ts"
import type { ReceiptApproval, ReceiptAttempt, Statement } from "./receipt.ts"

/** Times beyond it are none. */
const millisMax = 8.64e15

/** The text that the operator signed, from what the receipt states; undefined where it states too little. */
const textOf = (approval: ReceiptApproval, { treasury, payment }: Statement): string | undefined => {
  const { expires } = approval
  const { units, feeMax } = payment
  const isAmount = (value: unknown): value is string => typeof value === "string" && /^[0-9]{1,78}$/.test(value)
  if (typeof expires !== "number" || !(Math.abs(expires) <= millisMax)) return undefined
  if (!isAmount(units) || !isAmount(feeMax)) return undefined
  const terms = {
    treasury,
    chainId: String(approval.chainId),
    intentId: String(payment.id),
    rule: String(payment.rule),
    proposer: payment.submittedBy,
    from: String(payment.fromKey),
    to: String(payment.toKey),
    assetId: String(payment.assetId),
    amount: BigInt(units),
    feeMax: BigInt(feeMax),
    policy: String(approval.policy),
    group: String(approval.group),
    expires,
  }
  const { version, fromName, toName, symbol, decimals } = approval
  if (version === undefined) return formerPaymentText(terms)
  if (version !== 2 || typeof decimals !== "number" || !(decimals >= 0 && decimals <= 255)) return undefined
  const named = { fromName: String(fromName), toName: String(toName), symbol: String(symbol), decimals }
  return paymentText({ ...terms, ...named })
}

/** Whether operators signed this very payment, and what the signer relied on is among it; else what is wrong. */
export const approvalProblem = (statement: Statement): string | undefined => {
  const { approvals = [], attempts, decision } = statement
  for (const approval of approvals) {
    const text = textOf(approval, statement)
    if (text === undefined || !isApproval(String(approval.key), text, String(approval.signature))) {
      return `the approval of ${approval.operator} is not of this payment`
    }
    if (approval.operator === statement.payment.submittedBy) return `${approval.operator} approved their own payment`
  }
  for (const attempt of attempts) {
    const asked = attempt.permit?.policy === decision?.policy ? decision?.approval : undefined
    const problem = permitProblem(attempt, approvals, asked)
    if (problem !== undefined) return `attempt ${attempt.k}: ${problem}`
  }
  return undefined
}

const permitProblem = (
  { permit, signedAt, chainId }: ReceiptAttempt,
  approvals: ReadonlyArray<ReceiptApproval>,
  asked: string | undefined,
): string | undefined => {
  const relied = permit?.approval
  if (relied === undefined) return asked === undefined ? undefined : `it was signed without the approval of ${asked}`
  const holding = approvals.filter(
    ({ operator, group, policy, expires, chainId: chain }) =>
      relied.by.includes(String(operator)) &&
      group === relied.group &&
      chain === chainId &&
      String(policy).startsWith(String(permit?.policy)) &&
      Number(expires) > Date.parse(signedAt),
  )
  const people = new Set(holding.map(({ operator }) => operator))
  const keys = new Set(holding.map(({ key }) => key))
  return Math.min(people.size, keys.size) >= relied.need
    ? undefined
    : `the signer relied on ${relied.need} approvals of ${relied.group}, and ${people.size} are here`
}
