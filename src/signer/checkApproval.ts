import type { ApprovalGroup } from "../domain/Approval.ts"
import { type Approved, type GivenApproval, judgeApproval } from "../tx/Approval.ts"

/** What the signer cannot read from the bytes. Said wrongly, no signature of an operator fits. */
export interface ApprovalClaim {
  readonly rule: string
  readonly proposer: string | undefined
  /** Unix milliseconds: the time of the group runs from here. */
  readonly askedAt: number
  readonly given: ReadonlyArray<GivenApproval>
}

/** What the signer itself knows of the payment. */
export interface KnownPayment {
  readonly treasury: string
  readonly chainId: string
  readonly intentId: string
  readonly from: string
  readonly fromName: string
  readonly to: string
  readonly toName: string
  readonly assetId: string
  readonly symbol: string
  readonly decimals: number
  readonly amount: bigint
  readonly feeMax: bigint
  /** Digest of the policy in force. */
  readonly policy: string
}

/** Verifies the signatures of the group over this payment as it will be signed. */
export const checkApproval = (
  group: ApprovalGroup,
  known: KnownPayment,
  claim: ApprovalClaim | undefined,
  now: number,
): Approved => {
  if (claim === undefined) return { lacking: `nobody of ${group.name} has approved it` }
  const { rule, proposer, askedAt, given } = claim
  const terms = { ...known, rule, proposer, group: group.name, expires: askedAt + group.withinMillis }
  return judgeApproval(group, terms, given, now)
}
