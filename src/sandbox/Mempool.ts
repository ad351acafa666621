import type { Tx } from "./Tx.ts"

/** Limits of the network's node. */
const txBytesMax = 1_048_576
const countMax = 5_000
const bytesMax = 1_073_741_824
const cacheMax = 10_000

/** Transactions that passed the check and wait for a block, first come first served, and the cache of known bytes. */
export interface Mempool {
  readonly pending: Map<string, Tx>
  bytes: number
  /** Hashes of what is pending or was executed well: the same bytes are not looked at again. */
  readonly cache: Set<string>
}

export const emptyMempool = (): Mempool => ({ pending: new Map(), bytes: 0, cache: new Set() })

/** Why the bytes do not even reach the check, in the words of the node; undefined where they may. */
export const refuses = (mempool: Mempool, hash: string, size: number): string | undefined => {
  if (size > txBytesMax) return `Tx too large. Max size is ${txBytesMax}, but got ${size}`
  if (mempool.pending.size >= countMax || mempool.bytes + size > bytesMax) {
    const counts = `number of txs ${mempool.pending.size} (max: ${countMax})`
    return `mempool is full: ${counts}, total txs bytes ${mempool.bytes} (max: ${bytesMax})`
  }
  return mempool.cache.has(hash) ? "tx already exists in cache" : undefined
}

export const addPending = (mempool: Mempool, tx: Tx): void => {
  mempool.pending.set(tx.hash, tx)
  mempool.bytes += tx.bytes.length
  remember(mempool, tx.hash)
}

export const removePending = (mempool: Mempool, tx: Tx): void => {
  if (mempool.pending.delete(tx.hash)) mempool.bytes -= tx.bytes.length
}

/** The newest stay, the oldest leave. */
export const remember = (mempool: Mempool, hash: string): void => {
  mempool.cache.delete(hash)
  mempool.cache.add(hash)
  if (mempool.cache.size > cacheMax) for (const oldest of mempool.cache) return void mempool.cache.delete(oldest)
}

export const forget = (mempool: Mempool, hash: string): void => {
  mempool.cache.delete(hash)
}
