import { Effect } from "effect"
import type { InForce } from "../config/ConfigInForce.ts"
import { agreementToTerms } from "./termsApproval.ts"

/** Whether the operators in force agreed to exactly these terms; else what they can do about it. */
export const approvalOfTerms = Effect.fnUntraced(function* (old: InForce, next: InForce) {
  const { by, others, missing, change } = yield* agreementToTerms(old, next)
  if (by.length + others.length === 0) return { isEnough: false, by, advice: "" }
  const so = by.length === 0 ? `${missing} of` : `approved by ${by.join(", ")}, ${missing} more of`
  const advice = `operators "cofferer approve terms ${change.terms.slice(0, 8)}" (${so} ${others.join(", ")})`
  return { isEnough: missing === 0, by, advice }
})
