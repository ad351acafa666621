import { Result } from "effect"
import { leadingZeroBits, powHash } from "../../tx/ProofOfWork.ts"
import { decodeTransaction } from "../../tx/Transaction.ts"
import type { Chain, Epoch, Included } from "../Chain.ts"
import { checkStatic } from "../checkStatic.ts"
import { emptyGuard, type ReplayGuard, recordSeen } from "../ReplayGuard.ts"
import type { Moment } from "./Moment.ts"

/** What the guard knew at the end of an earlier block, read again from the blocks. */
export const guardAt = (chain: Chain, then: Moment, included: ReadonlyArray<Included>): ReplayGuard => {
  const guard = { ...emptyGuard(), prunedTo: then.prunedTo }
  for (const entry of included) {
    if (entry.signedHeight <= then.prunedTo) continue
    const { hash, party, nonce, signedHeight: height } = entry
    const { tid, nonce: solution } = decodeTransaction(entry.bytes)?.pow ?? { tid: "", nonce: 0n }
    const blockHash = chain.hashes.get(height)
    const zeros = blockHash === undefined ? 0 : leadingZeroBits(powHash({ blockHash, tid }, solution))
    recordSeen(guard, { hash, party, nonce, tid, height, zeros })
  }
  return guard
}

/** What parties had used of an epoch's limits. The transactions of its first block belong to the one before. */
export const epochAt = (chain: Chain, then: Moment, included: ReadonlyArray<Included>): Epoch => {
  const transfers = new Map<string, number>()
  const votes = new Map<string, number>()
  const count = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1)
  for (const entry of included) {
    if (entry.height <= then.epoch.firstBlock) continue
    if (entry.command === "Transfer Funds" || entry.command === "Cancel Transfer Funds") count(transfers, entry.party)
    if (entry.command !== "Vote on Proposal") continue
    const tx = checkStatic(entry.bytes, { profile: chain.profile, chainId: chain.scenario.chainId })
    if (Result.isFailure(tx) || tx.success.command.case !== "voteSubmission") continue
    count(votes, `${entry.party} ${tx.success.command.value.proposalId}`)
  }
  return { ...then.epoch, transfers, votes }
}
