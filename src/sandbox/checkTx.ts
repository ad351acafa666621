import { Result } from "effect"
import type { Chain } from "./Chain.ts"
import { checkStatic } from "./checkStatic.ts"
import { checkWork } from "./ReplayGuard.ts"
import { checkTransfer } from "./Transfers.ts"
import type { Tx } from "./Tx.ts"

/** Categories of refusal that the network's mempool gives. */
export const codes = { ok: 0, malformed: 60, state: 70, spam: 89 } as const

type Verdict = { readonly code: 0; readonly tx: Tx } | { readonly code: 60 | 70 | 89; readonly text: string }

/** The mempool's check: shape and signature (60), work, replay and limits (89), state (70). */
export const checkTx = (chain: Chain, bytes: Uint8Array): Verdict => {
  const tx = checkStatic(bytes, { profile: chain.profile, chainId: chain.scenario.chainId })
  return Result.isFailure(tx) ? { code: codes.malformed, text: tx.failure } : checkAgain(chain, tx.success)
}

/** The same check without its static part, as the mempool repeats it after each block. */
export const checkAgain = (chain: Chain, tx: Tx): Verdict => {
  const work = checkWork(chain, tx)
  if (work !== undefined) return { code: codes.spam, text: work }
  if (countsAsTransfer(tx) && transfersLeft(chain, tx.party) <= 0) {
    return {
      code: codes.spam,
      text: "party has already submitted the maximum number of transfer requests per epoch",
    }
  }
  if (tx.command.case === "transfer") {
    const payable = checkTransfer(chain, tx, tx.command.value)
    if (typeof payable === "string") return { code: codes.state, text: payable }
  }
  return { code: codes.ok, tx }
}

/** Transfers and cancellations share one limit per party and epoch. */
export const countsAsTransfer = (tx: Tx): boolean =>
  tx.command.case === "transfer" || tx.command.case === "cancelTransfer"

/** What a party may still include in this epoch; what waits in the mempool is not counted. */
export const transfersLeft = (chain: Chain, party: string): number =>
  chain.scenario.transfersPerEpoch - (chain.epoch.transfers.get(party) ?? 0)
