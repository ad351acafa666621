import { Schema, SchemaGetter } from "effect"
import { BaseUnits } from "../../domain/Amount.ts"
import { AccountTypeText } from "./BalanceChanges.ts"
import { Amount, BlockTime, enumText, orDefault, Text } from "./Numbers.ts"
import { Connection } from "./Paging.ts"

/** What the ledger says about a transfer. `done` of a delayed one-off means debited, not yet delivered. */
export const transferStatuses = {
  STATUS_PENDING: "pending",
  STATUS_DONE: "done",
  STATUS_REJECTED: "rejected",
  STATUS_STOPPED: "stopped",
  STATUS_CANCELLED: "cancelled",
} as const
const numbers = ["STATUS_UNSPECIFIED", ...Object.keys(transferStatuses)]
const words = new Map<string, string>(Object.entries(transferStatuses))

/** One transfer as the ledger knows it. */
export const ObservedTransfer = Schema.Struct({
  id: Schema.String,
  /** done, pending, rejected, stopped or cancelled; any other text is the wire's own word. */
  status: Schema.String,
  /** Why it was rejected, stopped or cancelled. */
  reason: Schema.optionalKey(Schema.String),
  from: Schema.String,
  fromAccountType: Schema.String,
  to: Schema.String,
  toAccountType: Schema.String,
  asset: Schema.String,
  amount: Schema.toType(BaseUnits),
  reference: Schema.String,
  /** Time of the block of its latest version, Unix nanoseconds. */
  timestamp: Schema.BigInt,
  /** Sum of all fees listed with it, in base units. */
  fees: Schema.BigInt,
})
export type ObservedTransfer = typeof ObservedTransfer.Type

/** Fees are one debit with the amount: more of them than an amount can hold are none. */
const isAmount = (fees: ReadonlyArray<{ readonly amount: bigint }>): boolean =>
  fees.reduce((sum, { amount }) => sum + amount, 0n) <= 2n ** 256n - 1n

const Fees = Schema.Array(Schema.Struct({ amount: Amount })).check(
  Schema.makeFilter(isAmount, { expected: "fees of 2^256-1 base units at most, together" }),
)

const Wire = Schema.Struct({
  transfer: Schema.Struct({
    id: Schema.NonEmptyString,
    from: Text,
    fromAccountType: AccountTypeText,
    to: Text,
    toAccountType: AccountTypeText,
    asset: Text,
    amount: Amount,
    reference: Text,
    status: enumText((number) => numbers[number] ?? String(number)),
    timestamp: orDefault(BlockTime, 0),
    reason: Schema.optional(Schema.NullOr(Schema.String)),
  }),
  fees: orDefault(Fees, []),
})

/** A transfer with its fees, as both the listing and the single answer hold it. */
export const TransferRow = Wire.pipe(
  Schema.decodeTo(ObservedTransfer, {
    decode: SchemaGetter.transform(({ transfer: { reason, ...transfer }, fees }) => ({
      ...transfer,
      status: words.get(transfer.status) ?? transfer.status,
      ...(reason === undefined || reason === null || reason === "" ? {} : { reason }),
      fees: fees.reduce((sum, fee) => sum + fee.amount, 0n),
    })),
    encode: SchemaGetter.forbidden(() => "transfers are only read"),
  }),
)

/** Answer of GET /api/v2/transfer/{id}. */
export const TransferAnswer = Schema.Struct({ transferNode: TransferRow })

/** Answer of GET /api/v2/transfers. */
export const TransfersAnswer = Schema.Struct({ transfers: Connection(TransferRow) })
