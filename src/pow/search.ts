import { keccakP } from "@noble/hashes/sha3.js"
import { type Kernel, makeKernel } from "./kernel.ts"

/** The lowest nonce that solves from `from` to below `from + count`, both even, or undefined. All are below 2^40. */
type Search = (from: number, count: number) => number | undefined

/**
 * Highest difficulty (leading zero bits) that is searched for: 2^32 hashes take a thread a quarter of an hour, longer
 * than work is of use. A gateway that asks for more is wrong or malicious.
 */
export const difficultyMax = 32

/** Bytes of a block of SHA3-256, and of the hashed message, which has two blocks; its last 8 bytes are the nonce. */
const blockBytes = 136
export const preimageBytes = 149

const xorInto = (state: Uint8Array, block: Uint8Array) => {
  for (const [i, byte] of block.entries()) state[i] = (state[i] ?? 0) ^ byte
}

let shared: Kernel | undefined

/**
 * The search for one piece of work. `preimage` is the hashed message of 149 bytes with any nonce in its last 8,
 * big-endian; `difficulty` is 0 to 32 leading zero bits. The lowest solving nonce is found, as by the network's own
 * wallet. Throws a RangeError where the message has another length.
 */
export const makeSearch = (preimage: Uint8Array, difficulty: number, own?: Kernel): Search => {
  if (preimage.length !== preimageBytes) throw new RangeError(`work has ${preimageBytes} bytes, not ${preimage.length}`)
  const state = new Uint32Array(50)
  const bytes = new Uint8Array(state.buffer)
  xorInto(bytes, preimage.subarray(0, blockBytes))
  keccakP(state)
  xorInto(bytes, preimage.subarray(blockBytes, -8))
  // SHA-3's padding: from the byte after the message to the last one of the block.
  xorInto(bytes.subarray(preimageBytes - blockBytes), Uint8Array.of(0x06))
  xorInto(bytes.subarray(blockBytes - 1), Uint8Array.of(0x80))
  // The first byte of the hash is the lowest of its word.
  const mask = Buffer.alloc(8)
  mask.writeUInt32BE(difficulty === 0 ? 0 : (-1 << (32 - difficulty)) >>> 0)
  return (from, count) => {
    shared ??= makeKernel()
    const kernel = own ?? shared
    kernel.state.set(state)
    kernel.mask[0] = mask.readBigUInt64LE()
    const nonce = kernel.search(BigInt(from), BigInt(from + count))
    return nonce < 0n ? undefined : Number(nonce)
  }
}
