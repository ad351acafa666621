import { Result, Schema } from "effect"
import { commandTags } from "../../domain/Command.ts"
import { type IntentCommand, intentCommands } from "../../domain/Intent.ts"
import { readReference } from "../../domain/Reference.ts"
import { decodeInputData } from "../../tx/InputData.ts"
import { transferId } from "../../tx/Transaction.ts"
import type { StoredEntry } from "./archive.ts"
import { hashOfHashes } from "./Journal.ts"
import type { ReceiptAttempt, Statement } from "./Statement.ts"

/** Content of the signed bytes, in keys and base units: proven by the payer's key. */
interface Signed {
  readonly k: number
  readonly command: IntentCommand
  readonly chainId: string
  readonly from: string
  /** A key, or an address outside of the network. */
  readonly to: string
  readonly assetId: string
  readonly units: string
  readonly transferId: string
}

/** State of the payer's journal before the signature: the signed bytes carry its whole hash. */
export interface Recorded {
  readonly k: number
  readonly seq: number
  readonly policy: string
  readonly policyDigest: string
  readonly line: number
  readonly approval: { readonly group: string; readonly need: number; readonly by: ReadonlyArray<string> } | null
  /** Names of the keys and the asset in the payer's configuration; null if its entry is not in the chain before. */
  readonly names: Names | null
}

export interface Names {
  readonly from: string
  readonly to: string
  readonly symbol: string
  readonly decimals: number
}

/** By attempt, oldest first. Nothing is recorded of an attempt whose bytes carry no permit's hash. */
export interface Proven {
  readonly signed: ReadonlyArray<Signed>
  readonly recorded: ReadonlyArray<Recorded>
}

const Text = Schema.String
const Payment = { k: Schema.Int, command: Text, chainId: Text, from: Text, to: Text, asset: Text, amount: Text }
const PermitBody = Schema.Struct({
  ...Payment,
  policy: Text,
  policyDigest: Text,
  line: Schema.Int,
  approval: Schema.optional(Schema.Struct({ group: Text, need: Schema.Int, by: Schema.Array(Text) })),
  before: Text,
})
const NamesBody = Schema.Struct({
  command: Text,
  from: Text,
  to: Text,
  asset: Text,
  policyDigest: Text,
  fromName: Text,
  toName: Text,
  symbol: Text,
  decimals: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 })),
})
const readPermit = Schema.decodeUnknownResult(Schema.fromJsonString(PermitBody))
const readNames = Schema.decodeUnknownResult(Schema.fromJsonString(NamesBody))

/** Decodes an attempt's bytes; undefined if they are no command of this program. */
export const signedOf = ({
  k,
  chainId,
  party,
  inputData,
  signature,
}: Pick<ReceiptAttempt, "k" | "chainId" | "party" | "inputData" | "signature">): Signed | undefined => {
  const data = Result.getOrUndefined(decodeInputData(Buffer.from(String(inputData), "hex")))
  const command = intentCommands.find((one) => commandTags[one] === data?.command._tag)
  if (data === undefined || command === undefined || !/^[0-9a-f]{128}$/.test(String(signature))) return undefined
  const place = { k: Number(k), command, chainId: String(chainId), from: String(party) }
  const made = { transferId: transferId(String(signature)) }
  if (data.command._tag === "Transfer") {
    const { to, asset, amount } = data.command
    return { ...place, to, assetId: asset, units: String(amount), ...made }
  }
  if (data.command._tag !== "Withdraw") return undefined
  const { receiverAddress = "", asset, amount } = data.command
  return { ...place, to: receiverAddress, assetId: asset, units: String(amount), ...made }
}

/** Decodes the reference in a transfer's bytes; undefined if there is none. */
const referenceIn = ({ inputData }: Pick<ReceiptAttempt, "inputData">) => {
  const data = Result.getOrUndefined(decodeInputData(Buffer.from(String(inputData), "hex")))
  return data?.command._tag === "Transfer" ? readReference(data.command.reference) : undefined
}

/**
 * Why an entry is not a permit for these bytes; undefined if it is. A permit names all earlier entries about the
 * payment: the chain's hashes alone do not bind what a receipt leaves out between two entries.
 */
export const permitProblem = (
  permit: StoredEntry,
  signed: Omit<Signed, "transferId">,
  entries: ReadonlyArray<StoredEntry>,
): string | undefined => {
  const body = permit.kind === "permit" ? Result.getOrUndefined(readPermit(permit.body)) : undefined
  if (body === undefined) return `entry ${permit.seq}, which it names, is not a permit`
  const { k, command, chainId, from, to, asset, amount } = body
  const permitted = [k, command, chainId, from, to, asset, amount]
  const read = [signed.k, signed.command, signed.chainId, signed.from, signed.to, signed.assetId, signed.units]
  if (permitted.some((value, i) => value !== read[i])) return `entry ${permit.seq} permits something else`
  const before = entries.filter(({ seq }) => seq < permit.seq).map(({ hash }) => hash)
  return body.before === hashOfHashes(before)
    ? undefined
    : `entries before its permit ${permit.seq} are others, or gone`
}

/**
 * Checks the signed reference of an attempt against the journal. Undefined if it does not name an entry by its whole
 * hash; a text if it does and the entries contradict it.
 */
export const recordedOf = (
  attempt: ReceiptAttempt,
  entries: ReadonlyArray<StoredEntry>,
): Recorded | string | undefined => {
  const reference = referenceIn(attempt)
  if (reference === undefined) return undefined
  const permit = entries.find(({ seq }) => seq === reference.seq)
  if (permit?.hash !== reference.hash) return `it was signed on another journal at entry ${reference.seq}`
  const signed = signedOf(attempt)
  const problem = signed === undefined ? "its bytes are no command" : permitProblem(permit, signed, entries)
  if (problem !== undefined) return problem
  const body = Result.getOrThrow(readPermit(permit.body))
  const { k, policy, policyDigest, line, approval = null } = body
  const before = entries.filter(({ seq }) => seq < permit.seq)
  const signature = entries.find((one) => one.kind === "signature" && JSON.parse(one.body)["k"] === k)
  if (signature !== undefined && signature.seq < permit.seq)
    return `its permit, entry ${permit.seq}, comes after its signature`
  const signers = new Set(before.flatMap((one) => (one.kind === "approval" ? JSON.parse(one.body)["operator"] : [])))
  const missing = approval?.by.find((name) => !signers.has(name))
  if (missing !== undefined) return `its permit relies on ${missing}, who had not approved it then`
  return { k, seq: reference.seq, policy, policyDigest, line, approval, names: namesOf(body, before) }
}

/** Names by the configuration in force: the last such entry before the permit, under the same policy. */
const namesOf = (permit: typeof PermitBody.Type, before: ReadonlyArray<StoredEntry>): Names | null => {
  const entry = before.findLast(({ kind }) => kind === "config")
  const named = entry && Result.getOrUndefined(readNames(entry.body))
  if (named === undefined || named.policyDigest !== permit.policyDigest || named.command !== permit.command) return null
  if (named.from !== permit.from || named.to !== permit.to || named.asset !== permit.asset) return null
  return { from: named.fromName, to: named.toName, symbol: named.symbol, decimals: named.decimals }
}

/** Proven parts of the stated attempts. Faulty ones are left out: `checkReceipt` reports why. */
export const provenOf = ({ attempts }: Statement, entries: ReadonlyArray<StoredEntry>): Proven => ({
  signed: attempts.flatMap((attempt) => signedOf(attempt) ?? []),
  recorded: attempts.flatMap((attempt) => {
    const recorded = recordedOf(attempt, entries)
    return typeof recorded === "object" ? recorded : []
  }),
})
