import { Effect, Result } from "effect"
import { accountTypeNumbers } from "../domain/AccountType.ts"
import type { Command, InputData } from "../domain/Command.ts"
import { isHex64 } from "../domain/Hex.ts"
import type { IntentCommand } from "../domain/Intent.ts"
import { readReference } from "../domain/Reference.ts"
import { feeShare, type Policy, type PolicyPayment } from "../rules/Policy.ts"
import type { Share } from "../rules/Rule.ts"
import { addressOf } from "../tx/Address.ts"
import { decodeInputData } from "../tx/InputData.ts"
import { refuse } from "./refuse.ts"
import type { SignerError } from "./SignerError.ts"

/** A command as the policy sees it. */
export interface PaymentRead {
  readonly kind: IntentCommand
  readonly payment: PolicyPayment
  /** The part of it that the network may take on top. */
  readonly share: Share
}

/** The payment that the bytes themselves are, and the journal's entry that they name, where they can name one. */
export const readBytes = (inputData: Uint8Array, from: string, policy: Policy) =>
  Result.match(decodeInputData(inputData), {
    onFailure: (detail) => Effect.fail(refuse("command", detail)),
    onSuccess: ({ command, nonce }: InputData) => {
      if (nonce === 0n) return Effect.fail(refuse("command", "a nonce of zero"))
      const seen = command._tag === "Transfer" ? readReference(command.reference) : undefined
      return Effect.map(readPayment(command, from, policy), (read) => ({ ...read, seen }))
    },
  })

/** The payment that the command of this key is, and the share of it that the network may take on top. */
export const readPayment = (
  command: Command,
  from: string,
  { maxFee }: Policy,
): Effect.Effect<PaymentRead, SignerError> => {
  const read = command._tag === "Withdraw" ? readWithdrawal(command) : readTransfer(command)
  return Effect.map(read, ({ kind, ...rest }) => ({ kind, payment: { from, ...rest }, share: feeShare(kind, maxFee) }))
}

type Read = Effect.Effect<Omit<PolicyPayment, "from"> & { readonly kind: IntentCommand }, SignerError>

/** Of transfers only those at once, between general accounts. */
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
