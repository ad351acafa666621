import { hash } from "node:crypto"

/** Tries `count` nonces from `from` on; the first that solves, or undefined. Nonces stay far below 2^53. */
type Search = (from: number, count: number) => number | undefined

/**
 * The search for one piece of work. `preimage` is the hashed message with any nonce in its last 8 bytes, big-endian;
 * `difficulty` is 0 to 32 leading zero bits. The lowest solving nonce is found, as by the network's own wallet.
 */
export const makeSearch = (preimage: Uint8Array, difficulty: number): Search => {
  const message = Buffer.from(preimage)
  const high = message.length - 8
  const low = message.length - 4
  return (from, count) => {
    for (let nonce = from; nonce < from + count; nonce++) {
      message.writeUInt32BE(Math.floor(nonce / 2 ** 32), high)
      message.writeUInt32BE(nonce % 2 ** 32, low)
      if (Math.clz32(hash("sha3-256", message, "buffer").readUInt32BE(0)) >= difficulty) return nonce
    }
    return undefined
  }
}
