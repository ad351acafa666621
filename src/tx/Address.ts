import { keccak_256 } from "@noble/hashes/sha3.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import type { ExternalAddress } from "../domain/Hex.ts"

const form = /^0x[0-9a-fA-F]{40}$/

/**
 * The address of 20 bytes in the one form in which it is compared, signed and shown: EIP-55, whose capitals are a
 * checksum. Undefined where the text is none, or where its own capitals say that it was mistyped.
 */
export const addressOf = (text: string): ExternalAddress | undefined => {
  if (!form.test(text)) return undefined
  const address = checksummed(text)
  const digits = text.slice(2)
  const says = digits !== digits.toLowerCase() && digits !== digits.toUpperCase()
  return says && `0x${digits}` !== address ? undefined : address
}

/** The same address with the capitals that its checksum gives it; any text that is not an address as it is. */
export const checksummed = (text: string): ExternalAddress => {
  if (!form.test(text)) return text as ExternalAddress
  const digits = text.slice(2).toLowerCase()
  const hash = bytesToHex(keccak_256(utf8ToBytes(digits)))
  const capitals = [...digits].map((digit, i) => (Number.parseInt(hash[i]!, 16) >= 8 ? digit.toUpperCase() : digit))
  return `0x${capitals.join("")}` as ExternalAddress
}
