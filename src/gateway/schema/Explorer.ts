import { Schema, SchemaGetter } from "effect"
import { escapeText } from "../escapeText.ts"
import { Hash, Height, orDefault, Text, Uint64 } from "./Numbers.ts"

/** A transaction that is in a block, as an explorer shows it. */
export const IncludedTransaction = Schema.Struct({
  /** Lower case. */
  hash: Schema.String,
  height: Schema.BigInt,
  /** 0: it was done. Any other: it was not, and never will be. */
  code: Schema.Finite,
  /** Why it was not done, in safe words; empty where it was. */
  error: Schema.String,
  submitter: Schema.String,
  nonce: Schema.BigInt,
})
export type IncludedTransaction = typeof IncludedTransaction.Type

/** A uint32 (CometBFT's `ExecTxResult`). */
const Code = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 32 - 1 }))

const Wire = Schema.Struct({
  transaction: Schema.Struct({
    block: Height,
    hash: Hash,
    submitter: Schema.String,
    code: orDefault(Code, 0),
    error: Text,
    command: Schema.Struct({ nonce: Uint64 }),
  }),
})

export const TransactionAnswer = Wire.pipe(
  Schema.decodeTo(IncludedTransaction, {
    decode: SchemaGetter.transform(({ transaction: { block, hash, submitter, code, error, command } }) => ({
      hash: hash.toLowerCase(),
      height: block,
      code,
      error: escapeText(error),
      submitter,
      nonce: command.nonce,
    })),
    encode: SchemaGetter.forbidden(() => "answers are only read"),
  }),
)
