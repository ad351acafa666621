import { hexToBytes } from "@noble/hashes/utils.js"
import type { Chain } from "../Chain.ts"
import { forget, removePending } from "../Mempool.ts"

/** Empties the mempool where a fault asked for it: a node that restarts knows nothing of what waited. */
export const loseMempool = (chain: Chain): ReadonlyArray<string> => {
  if (!chain.faults.mempoolLost) return []
  chain.faults.mempoolLost = false
  const waiting = [...chain.mempool.pending.values()]
  for (const tx of waiting) {
    removePending(chain.mempool, tx)
    forget(chain.mempool, tx.hash)
  }
  return waiting.map(({ hash }) => hash)
}

/** Takes out the bytes that are to be broadcast before the next block. */
export const takeLate = (chain: Chain): ReadonlyArray<Uint8Array> => {
  const { faults } = chain
  const due = faults.late.filter(({ height }) => height <= chain.height)
  if (due.length > 0) faults.late = faults.late.filter(({ height }) => height > chain.height)
  return due.map(({ hex }) => hexToBytes(hex))
}
