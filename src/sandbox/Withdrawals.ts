import type { WithdrawSubmission } from "../tx/proto/transaction_pb.ts"
import type { Chain, Withdrawal } from "./Chain.ts"
import { parseFraction, timesFloor } from "./Fraction.ts"
import { findAccount, withdraw } from "./Ledger.ts"
import type { Tx } from "./Tx.ts"

/**
 * Executes a withdrawal in the block being made: nothing of it is checked before. Money of a built-in asset is gone at
 * once, that of a bridged one leaves the ledger and waits for its owner on the bridge. Returns the text of a failure.
 */
export const executeWithdrawal = (chain: Chain, tx: Tx, command: WithdrawSubmission): string | undefined => {
  const asset = chain.assets.get(command.asset)
  if (asset?.status !== "STATUS_ENABLED") return "asset does not exist"
  const amount = BigInt(command.amount.replace(/^\+/, "").slice(0, 80))
  const minimum = timesFloor(parseFraction(chain.scenario.minWithdrawalQuantum), asset.quantum)
  if (amount < minimum) return "invalid withdrawal, the amount is less than the minimum"
  const receiver = command.ext?.erc20?.receiverAddress
  if (asset.source.kind === "erc20" && receiver === undefined) return "missing withdraw submission erc20 ext"
  const from = findAccount(chain.ledger, {
    party: tx.party,
    asset: asset.id,
    market: "",
    type: "ACCOUNT_TYPE_GENERAL",
  })
  const covered = from !== undefined && from.balance >= amount
  if (covered) withdraw(chain.ledger, from, amount)
  const withdrawal: Withdrawal = {
    id: tx.id,
    party: tx.party,
    asset: asset.id,
    amount,
    status: covered ? "STATUS_FINALIZED" : "STATUS_REJECTED",
    time: chain.time,
    receiver: receiver ?? "",
  }
  chain.withdrawals.set(withdrawal.id, withdrawal)
  chain.newWithdrawals.push(withdrawal)
  return covered ? undefined : "not enough funds to withdraw"
}
