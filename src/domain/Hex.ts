import { Schema } from "effect"

const hex64 = /^[0-9a-f]{64}$/

/** 32 bytes as 64 lower-case hex characters. The network takes the raw string: upper case is another, empty party. */
const Hex64 = Schema.String.check(Schema.isPattern(hex64, { expected: "64 lower-case hex characters" }))

/** The public key of a party, which is also its id. */
export const PublicKey = Hex64.pipe(Schema.brand("PublicKey"))
export type PublicKey = typeof PublicKey.Type

/** An address outside of the network that a withdrawal can pay: 0x and 40 hex characters, checksummed (EIP-55). */
export const ExternalAddress = Schema.String.check(
  Schema.isPattern(/^0x[0-9a-fA-F]{40}$/, { expected: "0x and 40 hex characters" }),
).pipe(Schema.brand("ExternalAddress"))
export type ExternalAddress = typeof ExternalAddress.Type

/** SHA-256 over (treasury, rule, subject, episode): the same need gives the same id, so it is paid once. */
export const IntentId = Hex64.pipe(Schema.brand("IntentId"))
export type IntentId = typeof IntentId.Type

/** SHA3-256 of the signature: known before the first send, unchanged when only the work is solved again. */
export const TransferId = Hex64.pipe(Schema.brand("TransferId"))
export type TransferId = typeof TransferId.Type

/**
 * SHA-256 of the serialised transaction, lower case here. Submission answers and the explorer print it in upper case,
 * event streams in lower case.
 */
export const TxHash = Hex64.pipe(Schema.brand("TxHash"))
export type TxHash = typeof TxHash.Type

/** True if a receiver's key is an address outside of the network. */
export const isExternal = (key: string): boolean => key.startsWith("0x")

export const isHex64 = (text: string): boolean => hex64.test(text)

/** Eight characters (40 bits) that people can read aloud: enough to tell the intents of one treasury apart. */
export const shortId = (id: string): string => {
  const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
  let n = Number.parseInt(id.slice(0, 10), 16)
  let text = ""
  for (let i = 0; i < 8; i++) {
    text = alphabet[n % 32] + text
    n = Math.floor(n / 32)
  }
  return text
}
