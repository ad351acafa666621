import { fromBinary } from "@bufbuild/protobuf"
import { Result } from "effect"
import { accountTypeName, accountTypeNumbers } from "../domain/Balance.ts"
import { type InputData, InputDataSchema, type Transaction, type Transfer } from "../tx/proto/transaction_pb.ts"
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
import type { Chain } from "./Chain.ts"
import { parseFactor } from "./Fraction.ts"
import { commandNameOf, type Tx } from "./Mempool.ts"
import type { Profile } from "./Profiles.ts"
import { checkWork } from "./ReplayGuard.ts"
import { checkTransfer } from "./Transfers.ts"

/** Faults of a transaction by property; printed sorted, as the network does: "tx.version (is required)". */
type Complaints = Array<readonly [property: string, text: string]>

const complain = (complaints: Complaints, property: string, text: string): void => {
  complaints.push([property, text])
}

const printComplaints = (complaints: Complaints): string =>
  [...Map.groupBy(complaints, ([property]) => property)]
    .map(([property, own]) => `${property} (${own.map(([, text]) => text).join(", ")})`)
    .sort()
    .join(", ")

/** True if a text has the form of an id or a key: 64 hex characters of either case. */
const isId = (text: string): boolean => /^[0-9a-fA-F]{64}$/.test(text)

const fault = (property: string, text: string): Result.Result<never, string> => Result.fail(`${property} (${text})`)

/**
 * First checks of a node: the shape of the transaction and of its command, and the signature. A refusal here is code 60
 * and leaves no trace: the id of the work is not used up.
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
  const complaints = checkCommand(data)
  if (complaints.length > 0) return Result.fail(printComplaints(complaints))
  const signature = checkSignature(wire, { pubKey, digest: signingDigest(bare, chainId) })
  if (signature.length > 0) return Result.fail(printComplaints(signature))
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
    commandName: commandNameOf(data) ?? "",
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
  const complaints: Complaints = []
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
  if (complaints.length === 0 && !verifySignature(expected.pubKey, expected.digest, signature.value)) {
    complain(complaints, "tx.signature.value", "invalid signature")
  }
  return complaints
}

/** The rules that a command must keep whatever the state of the ledger is. */
const checkCommand = (data: InputData): Complaints => {
  const complaints: Complaints = []
  if (data.nonce === 0n) complain(complaints, "tx.input_data.nonce", "must be positive")
  const { command } = data
  switch (command.case) {
    case undefined:
      if (commandNameOf(data) === undefined) complain(complaints, "tx.input_data.command", "is required")
      break
    case "transfer":
      checkTransferCommand(command.value, complaints)
      break
    case "cancelTransfer":
      checkId(command.value.transferId, { complaints, property: "cancel_transfer.transfer_id" })
      break
    case "withdrawSubmission": {
      const { amount, asset, ext } = command.value
      if (!/^\+?0*[1-9][0-9]*$/.test(amount)) {
        complain(complaints, "withdraw_submission.amount", amount === "" ? "is required" : "not a valid integer")
      }
      checkId(asset, { complaints, property: "withdraw_submission.asset" })
      const receiver = ext?.erc20?.receiverAddress
      if (ext !== undefined && receiver === undefined)
        complain(complaints, "withdraw_ext.ext", "unsupported withdraw extended details")
      if (receiver !== undefined && !/^(0x)?[0-9a-fA-F]{40}$/.test(receiver)) {
        complain(complaints, "withdraw_ext.erc20.received_address", "is not a valid ethereum address")
      }
      break
    }
  }
  return complaints
}

const checkId = (text: string, at: { readonly complaints: Complaints; readonly property: string }): void => {
  if (text === "") complain(at.complaints, at.property, "is required")
  else if (!isId(text)) complain(at.complaints, at.property, "should be a valid Vega ID")
}

const noParty = "0".repeat(64)
const oneOffTypes = new Set(["ACCOUNT_TYPE_GENERAL", "ACCOUNT_TYPE_GLOBAL_REWARD", "ACCOUNT_TYPE_NETWORK_TREASURY"])

const checkTransferCommand = (command: Transfer, complaints: Complaints): void => {
  const fail = (property: string, text: string): void => complain(complaints, `transfer.${property}`, text)
  if (command.amount === "") fail("amount", "is required")
  else if (!/^[+-]?[0-9]+$/.test(command.amount)) fail("amount", "not a valid integer")
  else if (/^[+-]?0+$/.test(command.amount)) fail("amount", "is required")
  else if (command.amount.startsWith("-")) fail("amount", "must be positive")
  if (command.to === "") fail("to", "is required")
  else if (!isId(command.to)) fail("to", "should be a valid vega public key")
  const to = accountTypeName(command.toAccountType)
  const known = command.toAccountType !== 0 && to in accountTypeNumbers
  if (!known) fail("to_account_type", "is not a valid value")
  if (to === "ACCOUNT_TYPE_GLOBAL_REWARD" && command.to !== noParty) fail("to_account_type", "is not a valid value")
  if (command.fromAccountType !== accountTypeNumbers.ACCOUNT_TYPE_GENERAL) {
    fail("from_account_type", "is not a valid value")
  }
  if (command.asset === "") fail("asset", "is required")
  else if (!isId(command.asset)) fail("asset", "should be a valid Vega ID")
  if (new TextEncoder().encode(command.reference).length > 100) fail("reference", "must be less than 100 characters")
  switch (command.kind.case) {
    case undefined:
      fail("kind", "is required")
      break
    case "oneOff":
      if (known && !oneOffTypes.has(to)) {
        fail("to_account_type", "account type is not valid for one off transfer")
      }
      if (command.kind.value.deliverOn < 0n) fail("kind.deliver_on", "must be positive or zero")
      break
    case "recurring": {
      const { startEpoch, endEpoch, factor, dispatchStrategy } = command.kind.value
      if (endEpoch !== undefined && endEpoch <= 0n) fail("kind.end_epoch", "must be positive")
      if (startEpoch === 0n) fail("kind.start_epoch", "must be positive")
      if (endEpoch !== undefined && startEpoch > endEpoch) fail("kind.end_epoch", "must be after start_epoch")
      if (!/^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,6})?$/i.test(factor)) {
        fail("kind.factor", "not a valid float")
      } else if (parseFactor(factor) === undefined) fail("kind.factor", "must be positive")
      if (dispatchStrategy !== undefined) fail("kind.dispatch_strategy", "not allowed for to account type")
      break
    }
  }
}

/** Categories of refusal that the network's mempool gives. */
export const codes = { ok: 0, malformed: 60, state: 70, spam: 89 } as const

type Verdict = { readonly code: 0; readonly tx: Tx } | { readonly code: 60 | 70 | 89; readonly text: string }

/** The mempool's check: shape and signature (60), work, replay and limits (89), state (70). */
export const checkTx = (chain: Chain, bytes: Uint8Array): Verdict => {
  const tx = checkStatic(bytes, { profile: chain.profile, chainId: chain.scenario.chainId })
  return Result.isFailure(tx) ? { code: codes.malformed, text: tx.failure } : checkAgain(chain, tx.success)
}

/** The same check without its static part, as the mempool repeats it after each block. */
export const checkAgain = (chain: Chain, tx: Tx): Verdict => {
  const work = checkWork(chain, tx)
  if (work !== undefined) return { code: codes.spam, text: work }
  if (countsAsTransfer(tx) && transfersLeft(chain, tx.party) <= 0) {
    return {
      code: codes.spam,
      text: "party has already submitted the maximum number of transfer requests per epoch",
    }
  }
  if (tx.command.case === "transfer") {
    const payable = checkTransfer(chain, tx, tx.command.value)
    if (typeof payable === "string") return { code: codes.state, text: payable }
  }
  return { code: codes.ok, tx }
}

/** Transfers and cancellations share one limit per party and epoch. */
export const countsAsTransfer = (tx: Tx): boolean =>
  tx.command.case === "transfer" || tx.command.case === "cancelTransfer"

/** Transfers that a party may still include in this epoch; those in the mempool are not counted. */
export const transfersLeft = (chain: Chain, party: string): number =>
  chain.scenario.transfersPerEpoch - (chain.epoch.transfers.get(party) ?? 0)
