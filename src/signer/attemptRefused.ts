import { attemptsMax } from "../domain/Attempt.ts"
import type { PolicyPayment } from "../rules/Policy.ts"
import type { Signed } from "../store/SpendLog.ts"

/**
 * Why this may not be signed as attempt `k` of an intent, by what was signed for the intent before; undefined where it
 * may. A window counts an intent once, however many attempts it has: that is sound while all of them are one payment.
 * Kinds need no look of their own: a transfer goes to a key, a withdrawal to an address.
 */
export const attemptRefused = (
  k: number,
  payment: PolicyPayment,
  earlier: ReadonlyArray<Signed>,
): string | undefined => {
  if (!Number.isInteger(k) || k < 1 || k > attemptsMax) return `attempt ${k}: an intent has ${attemptsMax} at most`
  for (let before = 1; before < k; before++) {
    if (!earlier.some((one) => one.k === before)) return `attempt ${k}: attempt ${before} was never signed`
  }
  const different = earlier.find((one) => !isSame(one, payment))
  return different === undefined ? undefined : `attempt ${k} is another payment than attempt ${different.k}`
}

const isSame = (a: PolicyPayment, b: PolicyPayment): boolean =>
  a.from === b.from && a.to === b.to && a.assetId === b.assetId && a.amount === b.amount
