import { formatAmount } from "./Amount.ts"
import { isCancellation, type Payment } from "./Decision.ts"

/** What is moved, before "FROM -> TO": "16,210.00 USDT", or "cancel" where a standing order is ended. */
export const sumText = (payment: Pick<Payment, "amount" | "asset" | "assetId">, decimals: number): string =>
  isCancellation(payment) ? "cancel" : `${formatAmount(payment.amount, decimals)} ${payment.asset}`
