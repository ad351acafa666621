import type { InputData } from "../tx/proto/transaction_pb.ts"

/** The command as decoded from the wire. `case` is undefined for commands that the sandbox does not know. */
type WireCommand = InputData["command"]

/** A transaction that passed the static check: its bytes, and their content. */
export interface Tx {
  readonly bytes: Uint8Array
  /** SHA-256 of the bytes, lower case. */
  readonly hash: string
  /** The sender's key exactly as written: in upper case it is another party. */
  readonly party: string
  readonly nonce: bigint
  /** Height in the signed data; the work uses the hash of that block. */
  readonly height: number
  readonly tid: string
  readonly powNonce: bigint
  readonly command: WireCommand
  readonly commandName: string
  /** Id of the transfer, withdrawal or order that the signature makes. */
  readonly id: string
}

/** Names that the network's texts use for the commands that the sandbox executes. */
const commandNames: Readonly<Partial<Record<NonNullable<WireCommand["case"]>, string>>> = {
  transfer: "Transfer Funds",
  cancelTransfer: "Cancel Transfer Funds",
  withdrawSubmission: "Withdraw",
}

/** The first field number of the commands in an input data message. */
const firstCommand = 1001

/** Name of the command of an input data message; undefined where there is none in it. */
export const commandNameOf = (data: InputData): string | undefined => {
  if (data.command.case !== undefined) return commandNames[data.command.case] ?? "Other"
  return data.$unknown?.some(({ no }) => no >= firstCommand) === true ? "Other" : undefined
}

/** Limits of the network's node. */
const txBytesMax = 1_048_576
const countMax = 5_000
const bytesMax = 1_073_741_824
const cacheMax = 10_000

/** Transactions that passed the check and wait for a block, first come first served, and the cache of known bytes. */
export interface Mempool {
  readonly pending: Map<string, Tx>
  bytes: number
  /** Hashes of transactions that are pending or executed: the same bytes are refused unread. */
  readonly cache: Set<string>
}

export const emptyMempool = (): Mempool => ({ pending: new Map(), bytes: 0, cache: new Set() })

/** The node's error text if it refuses the bytes before any check; undefined if it does not. */
export const mempoolRefusal = (mempool: Mempool, hash: string, size: number): string | undefined => {
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

/** Adds a hash to the cache as its newest; drops the oldest of a full one. */
export const remember = (mempool: Mempool, hash: string): void => {
  mempool.cache.delete(hash)
  mempool.cache.add(hash)
  const [oldest = hash] = mempool.cache
  if (mempool.cache.size > cacheMax) mempool.cache.delete(oldest)
}

export const forget = (mempool: Mempool, hash: string): void => {
  mempool.cache.delete(hash)
}
