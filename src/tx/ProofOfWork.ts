import { sha3_256 } from "@noble/hashes/sha3.js"
import { concatBytes, utf8ToBytes } from "@noble/hashes/utils.js"

/** Input of a solution. Hash and tid go in as text, so the case of their letters counts. */
export interface Work {
  /** Hash of the block at the height inside the signed data: 64 characters exactly as the node gave them. */
  readonly blockHash: string
  readonly tid: string
}

const prefix = utf8ToBytes("Vega_SPAM_PoW")

/** "Vega_SPAM_PoW" ‖ blockHash ‖ tid ‖ nonce as 8 bytes big-endian: 149 bytes with 64-character strings. */
export const powPreimage = (work: Work, nonce: bigint): Uint8Array => {
  const tail = new Uint8Array(8)
  new DataView(tail.buffer).setBigUint64(0, nonce)
  return concatBytes(prefix, utf8ToBytes(work.blockHash), utf8ToBytes(work.tid), tail)
}

/** The 32-byte hash whose leading zero bits count. */
export const powHash = (work: Work, nonce: bigint): Uint8Array => sha3_256(powPreimage(work, nonce))

/** Zero bits in front, from the first byte on, most significant first: 0 to 256. */
export const leadingZeroBits = (hash: Uint8Array): number => {
  let bits = 0
  for (const byte of hash) {
    if (byte !== 0) return bits + Math.clz32(byte) - 24
    bits += 8
  }
  return bits
}

/** True if a node accepts the solution. A block hash that is not 64 characters and an empty tid never pass. */
export const isSolved = (work: Work, nonce: bigint, difficulty: number): boolean =>
  work.blockHash.length === 64 && work.tid.length > 0 && leadingZeroBits(powHash(work, nonce)) >= difficulty
