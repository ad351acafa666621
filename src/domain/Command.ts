import { Schema } from "effect"
import { BaseUnits } from "./Amount.ts"
import type { IntentCommand } from "./Intent.ts"

/**
 * The commands that are useful to a treasury, in the program's form. Account types are wire numbers (AccountType.ts),
 * so that a number of a later network survives decoding; amounts are base units.
 */
export const Command = Schema.TaggedUnion({
  /** Moves money from an account of the signer. The fee is taken on top of the amount. */
  Transfer: {
    fromAccountType: Schema.Int,
    to: Schema.String,
    toAccountType: Schema.Int,
    asset: Schema.String,
    amount: BaseUnits,
    /** Free text, at most 100 bytes. */
    reference: Schema.String,
    kind: Schema.Union([
      /** deliverOn: Unix nanoseconds; 0 means at once. */
      Schema.Struct({ _tag: Schema.tag("OneOff"), deliverOn: Schema.BigInt }),
      Schema.Struct({
        _tag: Schema.tag("Recurring"),
        startEpoch: Schema.BigInt,
        endEpoch: Schema.optional(Schema.BigInt),
        factor: Schema.String,
      }),
    ]),
  },
  CancelTransfer: { transferId: Schema.String },
  /** Debited here, claimed outside the network. receiverAddress is needed for assets of an external chain. */
  Withdraw: { amount: BaseUnits, asset: Schema.String, receiverAddress: Schema.optional(Schema.String) },
})
export type Command = typeof Command.Type

/** The command that carries out an intent. */
export const commandTags = {
  transfer: "Transfer",
  withdraw: "Withdraw",
} as const satisfies Record<IntentCommand, Command["_tag"]>

/** The signed data: one command, unique by (party, nonce), bound to the block whose hash the work uses. */
export interface InputData {
  /** Non-zero, 64 bits. */
  readonly nonce: bigint
  readonly blockHeight: bigint
  readonly command: Command
}
