import { sha3_256 } from "@noble/hashes/sha3.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"

/** SHA3-256 of a text's UTF-8 bytes, as 64 lower-case hex characters: the form of a proof-of-work tid. */
export const sha3Hex = (text: string): string => bytesToHex(sha3_256(utf8ToBytes(text)))
