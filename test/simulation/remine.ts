import type { Chain } from "../../src/sandbox/Chain.ts"
import { rulesFor } from "../../src/sandbox/ReplayGuard.ts"
import { isSolved } from "../../src/tx/ProofOfWork.ts"
import { decodeTransaction, transactionBytes } from "../../src/tx/Transaction.ts"

/**
 * The same signed command with work of somebody else: other bytes, which no cache knows, and the same effect. Undefined
 * where the block that the work belongs to is forgotten.
 */
export const remine = (bytes: Uint8Array, anchor: number, chain: Chain, tid: string): Uint8Array | undefined => {
  const wire = decodeTransaction(bytes)
  const blockHash = chain.hashes.get(anchor)
  const rules = rulesFor(chain, anchor)
  if (wire?.signature === undefined || wire.from.case !== "pubKey") return undefined
  if (blockHash === undefined || rules === undefined) return undefined
  const { inputData, signature, from, version } = wire
  let nonce = 0n
  while (!isSolved({ blockHash, tid }, nonce, rules.difficulty)) nonce++
  return transactionBytes({ inputData, signature: signature.value, pubKey: from.value, version, pow: { tid, nonce } })
}
