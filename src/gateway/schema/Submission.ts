import { Schema } from "effect"
import { signatureAlgorithm, signatureVersion, type Transaction, txVersions } from "../../tx/Transaction.ts"
import { Flag, Int64, orDefault, SafeInt, Text } from "./Numbers.ts"

/** The gateway's answer to a submission. Nothing here proves anything about execution, and its fields may disagree. */
export const SubmissionAnswer = Schema.Struct({
  success: Flag,
  /** As given: upper case on real networks. */
  txHash: Text,
  /** Category of failure; 0 with success. */
  code: orDefault(SafeInt, 0),
  /** The gateway's words, of any length and with any characters: escapeText before they are kept or shown. */
  data: Text,
  log: Text,
  /** Unused by the network. */
  height: orDefault(Int64, 0),
})
export type SubmissionAnswer = typeof SubmissionAnswer.Type

const versionNames = new Map<number, string>(Object.entries(txVersions).map(([name, n]) => [n, name]))

/**
 * Body of POST /transaction. 64-bit numbers are text and bytes standard base64 with padding; nothing else is taken.
 * Real networks ignore the type, and always wait for the mempool's check.
 */
export const submissionRequest = (tx: Transaction) => ({
  tx: {
    inputData: Buffer.from(tx.inputData).toString("base64"),
    signature: { value: tx.signature, algo: signatureAlgorithm, version: signatureVersion },
    pubKey: tx.pubKey,
    version: versionNames.get(tx.version) ?? tx.version,
    pow: { tid: tx.pow.tid, nonce: tx.pow.nonce.toString() },
  },
  type: "TYPE_SYNC",
})
