import { fromBinary } from "@bufbuild/protobuf"
import { Result } from "effect"
import { type InputData, InputDataSchema, type Transaction } from "../tx/proto/transaction_pb.ts"
import {
  decodeTransaction,
  signatureAlgorithm,
  signatureVersion,
  signingDigest,
  transferId,
  txHash,
  txVersions,
  verifySignature,
  withChainPrefix,
} from "../tx/Transaction.ts"
import { type Complaints, complain, isId, printComplaints } from "./Complaints.ts"
import { checkCommand } from "./checkCommand.ts"
import type { Profile } from "./Profiles.ts"
import { commandOf, type Tx } from "./Tx.ts"

const fault = (property: string, text: string): Result.Result<never, string> => Result.fail(`${property} (${text})`)

/**
 * What a node looks at before anything else: the shape of the transaction, of its command, and the signature. A refusal
 * here is code 60 and leaves no trace: the id of the work is not burnt.
 */
export const checkStatic = (
  bytes: Uint8Array,
  rules: { readonly profile: Profile; readonly chainId: string },
): Result.Result<Tx, string> => {
  const wire = decodeTransaction(bytes)
  if (wire === undefined) {
    return Result.fail("unable to unmarshal transaction: proto: cannot parse invalid wire-format data")
  }
  if (wire.version === txVersions.TX_VERSION_UNSPECIFIED) return fault("tx.version", "is required")
  if (wire.version !== txVersions.TX_VERSION_V2 && wire.version !== txVersions.TX_VERSION_V3) {
    return fault("tx.version", "is not supported")
  }
  if (wire.from.case === undefined) return fault("tx.from", "is required")
  const pubKey = wire.from.case === "pubKey" ? wire.from.value : ""
  if (pubKey === "") return fault("tx.from.pub_key", "is required")
  if (!isId(pubKey)) return fault("tx.from.pub_key", "should be a valid vega public key")
  const chainId = wire.version === txVersions.TX_VERSION_V3 ? rules.chainId : undefined
  const bare =
    chainId !== undefined && rules.profile.framing === "prefixed" ? unframe(wire.inputData, chainId) : wire.inputData
  if (bare === undefined) return fault("tx.input_data", "is not preceded by the chain id and a zero byte")
  if (bare.length === 0) return fault("tx.input_data", "is required")
  let data: InputData
  try {
    data = fromBinary(InputDataSchema, bare)
  } catch {
    return fault("tx.input_data", "couldn't unmarshall input data: proto: cannot parse invalid wire-format data")
  }
  const complaints = checkCommand(data, rules.profile)
  if (complaints.size > 0) return Result.fail(printComplaints(complaints))
  const signature = checkSignature(wire, { pubKey, digest: signingDigest(bare, chainId) })
  if (signature.size > 0) return Result.fail(printComplaints(signature))
  return Result.succeed({
    bytes,
    hash: txHash(bytes),
    party: pubKey,
    nonce: data.nonce,
    // Heights beyond 2^53 are in no window: they become one that no block will ever have.
    height: data.blockHeight <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(data.blockHeight) : Number.MAX_SAFE_INTEGER,
    tid: wire.pow?.tid ?? "",
    powNonce: wire.pow?.nonce ?? 0n,
    command: data.command,
    commandName: commandOf(data)?.name ?? "",
    id: transferId(wire.signature?.value ?? ""),
  })
}

const unframe = (inputData: Uint8Array, chainId: string): Uint8Array | undefined => {
  const prefix = withChainPrefix(chainId, new Uint8Array(0))
  const framed = inputData.length >= prefix.length && prefix.every((byte, i) => inputData[i] === byte)
  return framed ? inputData.subarray(prefix.length) : undefined
}

const checkSignature = (
  wire: Transaction,
  expected: { readonly pubKey: string; readonly digest: Uint8Array },
): Complaints => {
  const complaints: Complaints = new Map()
  const { signature } = wire
  if (signature === undefined) {
    complain(complaints, "tx.signature", "is required")
    return complaints
  }
  if (signature.value === "") complain(complaints, "tx.signature.value", "is required")
  else if (!/^([0-9a-fA-F]{2})*$/.test(signature.value))
    complain(complaints, "tx.signature.value", "should be hex encoded")
  if (signature.algo === "") complain(complaints, "tx.signature.algo", "is required")
  if (signature.algo !== signatureAlgorithm || signature.version !== signatureVersion) {
    complain(complaints, "tx.signature.algo", "unsupported algorithm")
    complain(complaints, "tx.signature.version", "unsupported algorithm")
  }
  if (complaints.size === 0 && !verifySignature(expected.pubKey, expected.digest, signature.value)) {
    complain(complaints, "tx.signature.value", "invalid signature")
  }
  return complaints
}
