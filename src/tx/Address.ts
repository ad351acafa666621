import { keccak_256 } from "@noble/hashes/sha3.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import type { ExternalAddress } from "../domain/Hex.ts"

const form = /^0x[0-9a-fA-F]{40}$/

/**
 * The address of 20 bytes in the form in which it is compared, signed and shown: EIP-55, whose capitals are a checksum.
 * Undefined if the text is no address, or if its own capitals are a wrong checksum.
 */
export const addressOf = (text: string): ExternalAddress | undefined => {
  if (!form.test(text)) return undefined
  const address = checksummed(text)
  const digits = text.slice(2)
  const isChecked = digits !== digits.toLowerCase() && digits !== digits.toUpperCase()
  return isChecked && `0x${digits}` !== address ? undefined : address
}

/** The address with the capitals of its checksum. Returns any other text unchanged. */
export const checksummed = (text: string): ExternalAddress => {
  if (!form.test(text)) return text as ExternalAddress
  const digits = text.slice(2).toLowerCase()
  const hash = bytesToHex(keccak_256(utf8ToBytes(digits)))
  const capitals = [...digits].map((digit, i) => (Number.parseInt(hash[i]!, 16) >= 8 ? digit.toUpperCase() : digit))
  return `0x${capitals.join("")}` as ExternalAddress
}
