import { type KeyObject, sign } from "node:crypto"
import * as ed from "@noble/ed25519"
import { sha512 } from "@noble/hashes/sha2.js"

ed.hashes.sha512 = sha512

/**
 * Signs by node:crypto, and gives the signature away only once @noble/ed25519 has verified it by the rules of RFC 8032
 * under the public key: a wrong signature may pay nobody, and may show the key. Undefined where the two disagree. The
 * private key stays in node:crypto.
 */
export const signTwice = (
  { key, publicKey }: { readonly key: KeyObject; readonly publicKey: string },
  message: Uint8Array,
): Buffer | undefined => {
  const signature = sign(null, message, key)
  const bytes = (data: Uint8Array): Uint8Array => Uint8Array.from(data)
  try {
    const isVerified = ed.verify(bytes(signature), bytes(message), bytes(Buffer.from(publicKey, "hex")), {
      zip215: false,
    })
    return isVerified ? signature : undefined
  } catch {
    return undefined
  }
}
