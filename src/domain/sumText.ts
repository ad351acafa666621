import { formatAmount } from "./Amount.ts"
import type { Payment } from "./Decision.ts"

/** Amount moved, before "FROM -> TO": "16,210.00 USDT". */
export const sumText = (payment: Pick<Payment, "amount" | "asset">, decimals: number): string =>
  `${formatAmount(payment.amount, decimals)} ${payment.asset}`
