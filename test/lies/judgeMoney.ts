import type { Chain } from "../../src/sandbox/Chain.ts"
import { decodeTransaction, transferId } from "../../src/tx/Transaction.ts"
import { maxFeeDivisor, payer, perDay, perTransfer, receivers } from "./LieTreasury.ts"

/** What the policy forbids, whatever gateways say, as the ledger shows it; and what executed more than once. */
export const judgeMoney = (chain: Chain, intentOf: ReadonlyMap<string, string>): ReadonlyArray<string> => {
  const wrong: Array<string> = []
  const executed = new Map<string, number>()
  let sum = 0n
  for (const { party, code, bytes } of chain.included) {
    if (party !== payer || code !== 0) continue
    const id = transferId(decodeTransaction(bytes)?.signature?.value ?? "")
    const paid = chain.transfers.get(id)
    const intent = intentOf.get(id)
    if (intent === undefined) wrong.push(`transfer ${id.slice(0, 8)} executed, and no attempt knows it`)
    else executed.set(intent, (executed.get(intent) ?? 0) + 1)
    if (paid === undefined) {
      wrong.push("the key signed another command than a transfer")
      continue
    }
    const fee = paid.fees.reduce((all, { amount }) => all + amount, 0n)
    if (!receivers.has(paid.to)) wrong.push(`money went to ${paid.to}`)
    if (paid.amount > perTransfer) wrong.push(`one transfer moved ${paid.amount}`)
    if (fee * maxFeeDivisor > paid.amount) wrong.push(`a fee of ${fee} was paid for ${paid.amount}`)
    sum += paid.amount
  }
  if (sum > perDay) wrong.push(`${sum} left within a day, ${perDay} are allowed`)
  for (const [intent, times] of executed) {
    if (times > 1) wrong.push(`intent ${intent.slice(0, 8)} executed ${times} times`)
  }
  return wrong
}
