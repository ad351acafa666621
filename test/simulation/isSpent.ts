import type { View } from "../../src/http/View.ts"
import type { Chain } from "../../src/sandbox/Chain.ts"
import { plainBook, unit } from "./Book.ts"
import { reserve, targets } from "./Replica.ts"

const perDay = BigInt(plainBook.per24h) * unit

/** What rules may say beside it: that nothing is needed. */
const idle: ReadonlySet<string> = new Set(["in_band", "too_small"])

/**
 * Whether nothing but the policy's sum of a day keeps the account from being filled that was emptied last, and the
 * ledger itself shows that so much was paid: this ends by itself, once the payments are a day old. What is counted and
 * never left ends nothing.
 */
export const isSpent = (view: View, chain: Chain, now: number): boolean => {
  const reasons = view.rules.map(({ reason }) => reason ?? "")
  if (!reasons.includes("limit") || reasons.some((reason) => reason !== "limit" && !idle.has(reason))) return false
  if (view.intents.some(({ open }) => open)) return false
  const since = BigInt(now - 86_400_000) * 1_000_000n
  const paid = [...chain.transfers.values()]
    .filter(({ from, status, time }) => from === reserve && status === "STATUS_DONE" && time > since)
    .reduce((sum, { amount }) => sum + amount, 0n)
  // The account that was emptied last.
  const [[party, target] = ["", 0n]] = [...targets]
  const holder = [...chain.ledger.accounts.values()].find(
    (account) => account.party === party && account.type === "ACCOUNT_TYPE_GENERAL",
  )
  return paid + target - (holder?.balance ?? 0n) > perDay
}
