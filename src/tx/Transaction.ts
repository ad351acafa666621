import { createPublicKey, verify } from "node:crypto"
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { sha256 } from "@noble/hashes/sha2.js"
import { sha3_256 } from "@noble/hashes/sha3.js"
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js"
import type { TransferId, TxHash } from "../domain/Hex.ts"
import { TransactionSchema, type Transaction as WireTransaction } from "./proto/transaction_pb.ts"

/** SHA3-256 of a text's UTF-8 bytes, as 64 lower-case hex characters: the form of a proof-of-work tid. */
export const sha3Hex = (text: string): string => bytesToHex(sha3_256(utf8ToBytes(text)))

/** The only signature algorithm of the network, and the only version of it. */
export const signatureAlgorithm = "vega/ed25519"
export const signatureVersion = 1

/** Versions that carry a meaning: V2 signs without the chain id and is never sent by this program. */
export const txVersions = { TX_VERSION_UNSPECIFIED: 0, TX_VERSION_V2: 2, TX_VERSION_V3: 3 } as const

/** Wire form of `inputData`: with the chain id in front (the specification) or alone (the network). */
export type Framing = "prefixed" | "bare"
export const framings: ReadonlyArray<Framing> = ["prefixed", "bare"]

/** A transaction ready for the wire; `inputData` as framed. */
export interface Transaction {
  readonly inputData: Uint8Array
  /** 128 hex characters. */
  readonly signature: string
  readonly pubKey: string
  readonly version: number
  readonly pow: { readonly tid: string; readonly nonce: bigint }
}

/** chainId ‖ 0x00 ‖ inputData: the message of a V3 signature, in either wire form. */
export const withChainPrefix = (chainId: string, inputData: Uint8Array): Uint8Array =>
  concatBytes(utf8ToBytes(chainId), Uint8Array.of(0), inputData)

/** The 32 bytes that Ed25519 signs: SHA3-256 over the message. chainId undefined: version V2, without a prefix. */
export const signingDigest = (inputData: Uint8Array, chainId: string | undefined): Uint8Array =>
  sha3_256(chainId === undefined ? inputData : withChainPrefix(chainId, inputData))

/** The bytes of `tx.inputData` in the given form. */
export const frame = (framing: Framing, chainId: string, inputData: Uint8Array): Uint8Array =>
  framing === "prefixed" ? withChainPrefix(chainId, inputData) : inputData

/**
 * Serialises the transaction as the network does from JSON: members of a oneof come last, so the sender's key (1002)
 * follows version (2000) and proof of work (3000). The hash depends on this order.
 */
export const transactionBytes = (tx: Transaction): Uint8Array => {
  const body = create(TransactionSchema, {
    inputData: tx.inputData,
    signature: { value: tx.signature, algo: signatureAlgorithm, version: signatureVersion },
    version: tx.version,
    pow: { tid: tx.pow.tid, nonce: tx.pow.nonce },
  })
  const sender = create(TransactionSchema, { from: { case: "pubKey", value: tx.pubKey } })
  return concatBytes(toBinary(TransactionSchema, body), toBinary(TransactionSchema, sender))
}

/** Serialises a decoded transaction in the network's order. */
export const reencodeTransaction = (wire: WireTransaction): Uint8Array => {
  const sender = create(TransactionSchema, { from: wire.from })
  const body = { ...wire, from: { case: undefined } } as WireTransaction
  return concatBytes(toBinary(TransactionSchema, body), toBinary(TransactionSchema, sender))
}

/** Decodes a wire message; undefined if the bytes are not one. */
export const decodeTransaction = (bytes: Uint8Array): WireTransaction | undefined => {
  try {
    return fromBinary(TransactionSchema, bytes)
  } catch {
    return undefined
  }
}

/** SHA-256 over the serialised transaction, lower-case hex. */
export const txHash = (bytes: Uint8Array): TxHash => bytesToHex(sha256(bytes)) as TxHash

/** Id of the transfer, withdrawal or order that a signature makes: SHA3-256 over its 64 raw bytes. */
export const transferId = (signature: string): TransferId => bytesToHex(sha3_256(hexToBytes(signature))) as TransferId

const spkiPrefix = hexToBytes("302a300506032b6570032100")

/** True if `signature` (hex) over `digest` was made by the holder of `pubKey` (hex). False on malformed input. */
export const verifySignature = (pubKey: string, digest: Uint8Array, signature: string): boolean => {
  if (!/^[0-9a-fA-F]{64}$/.test(pubKey) || !/^[0-9a-fA-F]{128}$/.test(signature)) return false
  try {
    const spki = Buffer.from(concatBytes(spkiPrefix, hexToBytes(pubKey)))
    const key = createPublicKey({ key: spki, format: "der", type: "spki" })
    return verify(null, digest, key, Buffer.from(signature, "hex"))
  } catch {
    return false
  }
}
