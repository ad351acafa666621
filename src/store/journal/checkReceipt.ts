import { Result, Schema } from "effect"
import { accountTypeNumbers } from "../../domain/Balance.ts"
import { type Command, commandTags } from "../../domain/Command.ts"
import { readReference } from "../../domain/Reference.ts"
import { isApproval, type PaymentTerms, readPaymentTerms } from "../../tx/Approval.ts"
import { decodeInputData } from "../../tx/InputData.ts"
import { isSolved } from "../../tx/ProofOfWork.ts"
import {
  frame,
  framings,
  signingDigest,
  transactionBytes,
  transferId,
  txHash,
  txVersions,
  verifySignature,
} from "../../tx/Transaction.ts"
import { LinkRow } from "./archive.ts"
import { EntryRow, entryHash } from "./Journal.ts"
import { type Proven, provenOf, type Recorded, recordedOf } from "./proven.ts"
import { type EntryChain, statementOf } from "./receipt.ts"
import type { ReceiptApproval, ReceiptAttempt, Statement } from "./Statement.ts"

/** The operator's signature, and the terms that it covers. */
type Verified = Pick<ReceiptApproval, "operator" | "key"> & { readonly terms: PaymentTerms }

/** Verifies an operator's signature; undefined if it is not over a text of this payment. */
const verifyApproval = (approval: ReceiptApproval, { treasury, payment }: Statement): Verified | undefined => {
  const { operator, key, text, signature } = approval
  const terms = readPaymentTerms(String(text))
  if (terms === undefined || !isApproval(String(key), String(text), String(signature))) return undefined
  const { intentId, proposer, from, to } = terms
  const sums = [String(terms.amount), String(terms.feeMax)]
  const signed = [terms.treasury, intentId, terms.rule, proposer, from, to, terms.assetId, ...sums]
  const { id, rule, submittedBy, fromKey, toKey, assetId, units, feeMax } = payment
  const stated = [treasury, id, rule, submittedBy, fromKey, toKey, assetId, units, feeMax]
  return signed.every((value, i) => value === stated[i]) ? { operator, key, terms } : undefined
}

/** Fault of the approvals; undefined if operators signed this payment, among them those the signer relied on. */
export const approvalProblem = (statement: Statement): string | undefined => {
  const { approvals = [], attempts, decision } = statement
  const given: Array<Verified> = []
  for (const approval of approvals) {
    const one = verifyApproval(approval, statement)
    if (one === undefined) return `the approval of ${approval.operator} is not of this payment`
    if (approval.operator === statement.payment.submittedBy) return `${approval.operator} approved their own payment`
    given.push(one)
  }
  for (const attempt of attempts) {
    const asked = attempt.permit?.policy === decision?.policy ? decision?.approval : undefined
    const problem = reliedProblem(attempt, given, asked)
    if (problem !== undefined) return `attempt ${attempt.k}: ${problem}`
  }
  return undefined
}

const reliedProblem = (
  { permit, signedAt, chainId }: ReceiptAttempt,
  given: ReadonlyArray<Verified>,
  asked: string | undefined,
): string | undefined => {
  const relied = permit?.approval
  if (relied === undefined) return asked === undefined ? undefined : `it was signed without the approval of ${asked}`
  const holding = given.filter(
    ({ operator, terms }) =>
      relied.by.includes(String(operator)) &&
      terms.group === relied.group &&
      terms.chainId === chainId &&
      terms.policy.startsWith(String(permit?.policy)) &&
      terms.expires > Date.parse(signedAt),
  )
  const people = new Set(holding.map(({ operator }) => operator))
  const keys = new Set(holding.map(({ key }) => key))
  return Math.min(people.size, keys.size) >= relied.need
    ? undefined
    : `the signer relied on ${relied.need} approvals of ${relied.group}, and ${people.size} are here`
}

const Proof = Schema.Struct({
  journal: Schema.Struct({ entries: Schema.Array(EntryRow), links: Schema.Array(LinkRow) }),
})

interface Checked {
  /** The first fault, with its place; undefined if there is none. */
  readonly problem: string | undefined
  /** The journal's statement; undefined if it cannot be read. */
  readonly statement: Statement | undefined
  /** The proven parts of it; empty if there is a problem. */
  readonly proven: Proven
}

const nothing: Proven = { signed: [], recorded: [] }
const Version = Schema.Struct({ receipt: Schema.Literal(2) })

/**
 * Checks a receipt by itself alone. The entries must have their hashes and be linked, the statement must be what they
 * say, and each signed command and each approval must be of this payment, signed by the payer's or the operator's key.
 * Where the signed bytes carry the hash of their permit, the permit and all entries about the payment before it must be
 * these. What comes after is claimed.
 */
export const checkReceipt = (document: unknown): Checked => {
  const broken = (problem: string): Checked => ({ problem, statement: undefined, proven: nothing })
  const version = Schema.decodeUnknownResult(Version)(document, { onExcessProperty: "ignore" })
  const decoded = Schema.decodeUnknownResult(Proof)(document, { onExcessProperty: "ignore" })
  if (Result.isFailure(decoded)) return broken("it is not a receipt: its journal cannot be read")
  if (Result.isFailure(version)) return broken("it is not a receipt of version 2")
  const { journal } = decoded.success
  const linked = chainProblem(journal)
  if (linked !== undefined) return broken(linked)
  let statement: Statement
  try {
    statement = statementOf(journal.entries)
  } catch {
    return broken("a journal entry is not JSON")
  }
  const proven = provenOf(statement, journal.entries)
  const whole = { ...version.success, proven, claimed: statement, journal }
  const problem =
    difference("", document, JSON.parse(JSON.stringify(whole))) ??
    (statement.attempts.length === 0 ? unsigned : undefined) ??
    countProblem(statement) ??
    (isTwice(statement) ? "it shows one signed command as two" : undefined) ??
    firstOf(statement.attempts, (a) => attemptProblem(a, statement, journal)) ??
    approvalProblem(statement) ??
    endProblem(statement)
  return { problem, statement, proven: problem === undefined ? proven : nothing }
}

const unsigned = "nothing in it is signed: without a signature there is no receipt"

const countProblem = ({ attempts }: Statement): string | undefined => {
  const odd = attempts.find(({ k }) => !(Number.isSafeInteger(k) && Number(k) >= 1))
  return odd && `an attempt has the number ${JSON.stringify(odd.k)}: they count from 1`
}

/** True if an attempt or its transaction occurs twice: the sum shown would be too high. */
const isTwice = ({ attempts }: Statement): boolean =>
  new Set(attempts.map(({ k }) => k)).size < attempts.length ||
  new Set(attempts.map(({ transferId: id }) => id)).size < attempts.length

const firstOf = <A>(all: ReadonlyArray<A>, problem: (one: A) => string | undefined): string | undefined => {
  for (const one of all) {
    const found = problem(one)
    if (found !== undefined) return found
  }
  return undefined
}

/** The first place at which the document is not what its journal says. */
const difference = (path: string, said: unknown, is: unknown): string | undefined => {
  if (typeof said !== "object" || said === null || typeof is !== "object" || is === null) {
    return said === is ? undefined : `${path} is ${JSON.stringify(said)}, the journal says ${JSON.stringify(is)}`
  }
  const names = [...new Set([...Object.keys(is), ...Object.keys(said)])]
  return firstOf(names, (name) =>
    difference(path === "" ? name : `${path}.${name}`, Reflect.get(said, name), Reflect.get(is, name)),
  )
}

const chainProblem = ({ entries, links }: EntryChain): string | undefined => {
  const [first, last] = [entries[0], entries.at(-1)]
  if (first === undefined || last === undefined) return "it holds no journal entry"
  if (links[0]?.seq !== first.seq || links.at(-1)?.seq !== last.seq)
    return "its chain is not from its first entry to its last"
  const broken = firstOf([...links.keys()].slice(1), (i) => {
    const [before, link] = [links[i - 1]!, links[i]!]
    if (link.seq === before.seq + 1 && link.prev === before.hash) return undefined
    return `link ${link.seq} does not follow ${before.seq}`
  })
  if (broken !== undefined) return broken
  const places = new Map(links.map((link) => [link.seq, link]))
  return firstOf(entries, (entry) => {
    const link = places.get(entry.seq)
    if (entry.hash !== entryHash(entry)) return `entry ${entry.seq} was changed: its hash is another`
    if (link?.hash !== entry.hash || link.prev !== entry.prev)
      return `entry ${entry.seq} is not in its place of the chain`
    if (entry.subject !== first.subject) return `entry ${entry.seq} is about another payment`
    return entry.treasury === first.treasury ? undefined : `entry ${entry.seq} is of another treasury`
  })
}

const attemptProblem = (attempt: ReceiptAttempt, statement: Statement, { entries }: EntryChain): string | undefined => {
  const { chainId, party, signature } = attempt
  const bytes = hexBytes(attempt.inputData)
  const wrong = (what: string) => `attempt ${attempt.k}: ${what}`
  if (bytes === undefined || typeof chainId !== "string") return wrong("its bytes or its chain cannot be read")
  const digest = signingDigest(bytes, chainId)
  if (party !== statement.payment.fromKey) return wrong("it is signed with another key than the payer's")
  if (!verifySignature(String(party), digest, String(signature))) return wrong("the signature is not of these bytes")
  if (attempt.permit?.digest !== Buffer.from(digest).toString("hex")) return wrong("the signer signed something else")
  if (transferId(String(signature)) !== attempt.transferId) return wrong("the transfer id is not of the signature")
  const recorded = recordedOf(attempt, entries)
  const problem =
    commandProblem(bytes, attempt, statement) ??
    (typeof recorded === "string" ? recorded : undefined) ??
    (typeof recorded === "object" ? signerProblem(attempt, recorded) : undefined) ??
    firstOf(attempt.works, (work) => workProblem(work, attempt, bytes, chainId))
  if (problem !== undefined) return wrong(problem)
  const hashes = attempt.works.map((work) => [work.hashBare, work.hashPrefixed])
  const foreign = attempt.sends.find((s) =>
    hashes.every(([bare, prefixed]) => s.txHash !== (s.framing === "bare" ? bare : prefixed)),
  )
  return foreign === undefined ? undefined : wrong(`send ${foreign.n} sent another transaction`)
}

/** Checks that the signer's note with its signature equals its earlier permit. */
const signerProblem = ({ permit }: ReceiptAttempt, { policy, line, approval }: Recorded): string | undefined => {
  const said = [permit?.policy, permit?.line, permit?.approval ?? null]
  return JSON.stringify(said) === JSON.stringify([policy, line, approval])
    ? undefined
    : "it was signed by another line or other approvals than it was permitted by"
}

const hexBytes = (hex: unknown): Uint8Array | undefined =>
  typeof hex === "string" && /^([0-9a-f]{2})+$/.test(hex) ? Uint8Array.from(Buffer.from(hex, "hex")) : undefined

/**
 * Checks that the signed bytes are the stated payment and carry a hash of the journal, where they can; `recordedOf`
 * compares the hash.
 */
const commandProblem = (bytes: Uint8Array, attempt: ReceiptAttempt, { payment }: Statement): string | undefined => {
  const data = Result.getOrUndefined(decodeInputData(bytes))
  const wanted = payment.command === undefined ? commandTags.transfer : commandTags.withdraw
  if (data === undefined || data.command._tag !== wanted) return `the signed command is no ${wanted.toLowerCase()}`
  const { command } = data
  const is = [
    ["nonce", String(data.nonce), attempt.nonce] as const,
    ["anchor", String(data.blockHeight), attempt.anchorHeight] as const,
    ...(command._tag === "Transfer" ? transferParts(command, payment) : []),
    ...(command._tag === "Withdraw" ? withdrawalParts(command, payment) : []),
  ]
  const other = is.find(([, signed, stated]) => signed !== stated)
  if (other !== undefined)
    return `the ${other[0]} in the signed command is ${String(other[1])}, not ${String(other[2])}`
  const isUnnamed = command._tag === "Transfer" && readReference(command.reference) === undefined
  return isUnnamed ? "the signed command does not carry the journal's hash" : undefined
}

type Part = readonly [string, unknown, unknown]

const transferParts = (
  command: typeof Command.cases.Transfer.Type,
  payment: Statement["payment"],
): ReadonlyArray<Part> => {
  const { ACCOUNT_TYPE_GENERAL } = accountTypeNumbers
  return [
    ["receiver", command.to, payment.toKey],
    ["asset", command.asset, payment.assetId],
    ["amount", String(command.amount), payment.units],
    ["account", command.fromAccountType, ACCOUNT_TYPE_GENERAL],
    ["receiver's account", command.toAccountType, ACCOUNT_TYPE_GENERAL],
    ["time", command.kind._tag === "OneOff" ? command.kind.deliverOn : undefined, 0n],
  ]
}

const withdrawalParts = (
  command: typeof Command.cases.Withdraw.Type,
  payment: Statement["payment"],
): ReadonlyArray<Part> => [
  ["command", "withdraw", payment.command],
  ["receiver", command.receiverAddress, payment.toKey],
  ["asset", command.asset, payment.assetId],
  ["amount", String(command.amount), payment.units],
]

const workProblem = (
  work: ReceiptAttempt["works"][number],
  attempt: ReceiptAttempt,
  bytes: Uint8Array,
  chainId: string,
): string | undefined => {
  const { tid, nonce } = work
  if (typeof tid !== "string" || typeof nonce !== "string" || !/^[0-9]{1,20}$/.test(nonce)) return "no proof of work"
  const pow = { tid, nonce: BigInt(nonce) }
  if (!isSolved({ blockHash: String(attempt.anchorHash), tid }, pow.nonce, Number(attempt.difficulty))) {
    return "the proof of work is not a solution"
  }
  const other = framings.find((framing) => {
    const inputData = frame(framing, chainId, bytes)
    const [signature, pubKey] = [String(attempt.signature), String(attempt.party)]
    const tx = transactionBytes({ inputData, signature, pubKey, version: txVersions.TX_VERSION_V3, pow })
    return txHash(tx) !== (framing === "bare" ? work.hashBare : work.hashPrefixed)
  })
  return other === undefined ? undefined : `the hash of the transaction (${other}) is another`
}

/** A confirmed payment was found on the ledger, or confirmed by a person. */
const endProblem = ({ states, attempts }: Statement): string | undefined => {
  const last = states.at(-1)
  if (last?.state !== "confirmed" || last.author !== null) return undefined
  const paid = attempts.some((a) => a.state === "confirmed" && a.evidence.some((e) => e.kind === "executed"))
  return paid ? undefined : "it is confirmed without evidence"
}
