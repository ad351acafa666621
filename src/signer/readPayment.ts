import { Effect, Result } from "effect"
import { accountTypeNumbers } from "../domain/Balance.ts"
import type { Command, InputData } from "../domain/Command.ts"
import { isHex64 } from "../domain/Hex.ts"
import type { IntentCommand } from "../domain/Intent.ts"
import { type Reference, readReference } from "../domain/Reference.ts"
import { feeMax, feeShare, namesIn, type Policy, type PolicyPayment } from "../rules/policy/Policy.ts"
import { bodyText, hashOfHashes, type JournalEntry, type TrailRow } from "../store/journal/Journal.ts"
import { addressOf } from "../tx/Address.ts"
import { decodeInputData } from "../tx/InputData.ts"
import { refuse, type SignerError } from "./SignerError.ts"

/** A command as the policy sees it. */
export interface PaymentRead {
  readonly kind: IntentCommand
  readonly payment: PolicyPayment
  /** Highest network fee on top, in base units. */
  readonly feeMax: bigint
}

/** Decodes a command: its payment, and the reference of a transfer. Refuses what cannot be a payment. */
export const readSignedBytes = (inputData: Uint8Array, from: string, policy: Policy) =>
  Result.match(decodeInputData(inputData), {
    onFailure: (detail) => Effect.fail(refuse("command", detail)),
    onSuccess: ({ command, nonce }: InputData) => {
      if (nonce === 0n) return Effect.fail(refuse("command", "a nonce of zero"))
      const reference = command._tag === "Transfer" ? readReference(command.reference) : undefined
      return Effect.map(readPayment(command, from, policy), (read) => ({ ...read, reference }))
    },
  })

/** A key's command as a payment, with its highest network fee. */
export const readPayment = (
  command: Command,
  from: string,
  { maxFee }: Policy,
): Effect.Effect<PaymentRead, SignerError> => {
  const read = command._tag === "Withdraw" ? readWithdrawal(command) : readTransfer(command)
  return Effect.map(read, ({ kind, ...rest }) => ({
    kind,
    payment: { from, ...rest },
    feeMax: feeMax(feeShare(kind, maxFee), rest.amount),
  }))
}

type Read = Effect.Effect<Omit<PolicyPayment, "from"> & { readonly kind: IntentCommand }, SignerError>

/** Reads a transfer; accepts only immediate ones between general accounts. */
const readTransfer = (command: Command): Read => {
  if (command._tag !== "Transfer") return Effect.fail(refuse("command", `${command._tag} is not allowed`))
  if (command.kind._tag !== "OneOff" || command.kind.deliverOn !== 0n) {
    return Effect.fail(refuse("command", "only transfers at once are allowed"))
  }
  const { ACCOUNT_TYPE_GENERAL } = accountTypeNumbers
  if (command.fromAccountType !== ACCOUNT_TYPE_GENERAL || command.toAccountType !== ACCOUNT_TYPE_GENERAL) {
    return Effect.fail(refuse("command", "only transfers between general accounts are allowed"))
  }
  const { to, asset, amount } = command
  if (asset === "") return Effect.fail(refuse("command", "a transfer of no asset is not allowed"))
  if (!isHex64(to)) return Effect.fail(refuse("command", "only transfers to a public key are allowed"))
  return Effect.succeed({ kind: "transfer", to, assetId: asset, amount })
}

/** A withdrawal whose receiver is spelled as the policy spells it: an address, never a party's key. */
const readWithdrawal = ({ amount, asset, receiverAddress }: Extract<Command, { _tag: "Withdraw" }>): Read => {
  if (receiverAddress === undefined || addressOf(receiverAddress) !== receiverAddress) {
    return Effect.fail(refuse("command", "a withdrawal without a checksummed receiver is not allowed"))
  }
  if (asset === "") return Effect.fail(refuse("command", "a withdrawal of no asset is not allowed"))
  return Effect.succeed({ kind: "withdraw", to: receiverAddress, assetId: asset, amount })
}

type StoredEntry = typeof TrailRow.Type

/** Judgement of a permitted payment. */
export interface Permitted {
  readonly k: number
  readonly chainId: string
  readonly policy: Policy
  /** Position of the policy's line among those of its kind. */
  readonly line: number
  /** The operators whose signatures were verified; undefined if the line needs none. */
  readonly approval: { readonly group: string; readonly need: number; readonly by: ReadonlyArray<string> } | undefined
}

/**
 * Content of a permit: the attempt, the payment in keys and base units, its policy line and approval, and `before`, the
 * hash of all earlier journal entries of the payment.
 */
export const permitFacts = (
  { kind, payment }: PaymentRead,
  { k, chainId, policy, line, approval }: Permitted,
  before: ReadonlyArray<string>,
): JournalEntry["body"] => ({
  k,
  command: kind,
  chainId,
  from: payment.from,
  to: payment.to,
  asset: payment.assetId,
  amount: payment.amount,
  policy: policy.hash,
  policyDigest: policy.digest,
  line,
  approval,
  before: hashOfHashes(before),
})

/**
 * Names of the payment's keys and asset in the configuration in force. Only these: the whole configuration would show
 * each receiver of a receipt all other receivers.
 */
export const nameFacts = ({ kind, payment }: PaymentRead, policy: Policy): JournalEntry["body"] => ({
  detail: "names and decimals of this payment by the configuration in force",
  command: kind,
  from: payment.from,
  to: payment.to,
  asset: payment.assetId,
  policyDigest: policy.digest,
  ...namesIn(policy, payment),
})

/**
 * Why the intent's newest permit is not for the bytes to sign; undefined if it is. A transfer must also name the
 * permit's entry and carry the payment's tag; a withdrawal has no reference.
 */
export const permitRefused = (
  permit: StoredEntry | undefined,
  facts: JournalEntry["body"],
  { kind, reference }: Pick<PaymentRead, "kind"> & { readonly reference: Reference | undefined },
  tag: string,
): string | undefined => {
  if (permit === undefined) return "nothing of this payment is permitted"
  if (permit.body !== bodyText(facts)) return `entry ${permit.seq} permits something else`
  if (kind !== "transfer") return undefined
  if (reference === undefined) return "the command does not name its permit"
  if (reference.tag !== tag) return "the command bears the tag of another payment"
  return reference.seq === permit.seq && reference.hash === permit.hash
    ? undefined
    : `the command names entry ${reference.seq}, its permit is entry ${permit.seq}`
}
