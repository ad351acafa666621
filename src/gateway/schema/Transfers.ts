import { Schema, SchemaGetter } from "effect"
import { BaseUnits } from "../../domain/Amount.ts"
import type { accountTypeNumbers } from "../../domain/Balance.ts"
import { checksummed } from "../../tx/Address.ts"
import { AccountTypeText } from "./BalanceChanges.ts"
import { Amount, BlockTime, Connection, enumText, Id, OwnId, orDefault, Text } from "./Numbers.ts"

/** The ledger's states of a transfer. `done` of a delayed one-off means debited, not yet delivered. */
const transferStatuses = {
  STATUS_PENDING: "pending",
  STATUS_DONE: "done",
  STATUS_REJECTED: "rejected",
  STATUS_STOPPED: "stopped",
  STATUS_CANCELLED: "cancelled",
} as const
const numbers = ["STATUS_UNSPECIFIED", ...Object.keys(transferStatuses)]
const transferWords = new Map<string, string>(Object.entries(transferStatuses))

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

const WireTransfer = Schema.Struct({
  transfer: Schema.Struct({
    id: OwnId,
    from: Id,
    fromAccountType: AccountTypeText,
    to: Id,
    toAccountType: AccountTypeText,
    asset: Id,
    amount: Amount,
    reference: Text,
    status: enumText((number) => numbers[number] ?? String(number)),
    timestamp: orDefault(BlockTime, 0),
    reason: Schema.optional(Schema.NullOr(Schema.String)),
  }),
  fees: orDefault(Fees, []),
})

/** A transfer with its fees, as both the listing and the single answer hold it. */
export const TransferRow = WireTransfer.pipe(
  Schema.decodeTo(ObservedTransfer, {
    decode: SchemaGetter.transform(({ transfer: { reason, ...transfer }, fees }) => ({
      ...transfer,
      status: transferWords.get(transfer.status) ?? transfer.status,
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

/**
 * State of a withdrawal in terms of a transfer. `done`: the money has left the ledger. Its claim outside is separate,
 * and the ledger learns of it later if at all.
 */
const statuses = ["STATUS_UNSPECIFIED", "STATUS_OPEN", "STATUS_REJECTED", "STATUS_FINALIZED"] as const
const withdrawalWords = new Map<string, string>([
  ["STATUS_OPEN", "done"],
  ["STATUS_FINALIZED", "done"],
  ["STATUS_REJECTED", "rejected"],
])

const external = "ACCOUNT_TYPE_EXTERNAL" satisfies keyof typeof accountTypeNumbers

const WireWithdrawal = Schema.Struct({
  id: OwnId,
  partyId: Id,
  amount: Amount,
  asset: Id,
  status: enumText((number) => statuses[number] ?? String(number)),
  createdTimestamp: orDefault(BlockTime, 0),
  ext: Schema.optional(
    Schema.NullOr(Schema.Struct({ erc20: Schema.optional(Schema.NullOr(Schema.Struct({ receiverAddress: Text }))) })),
  ),
})

/**
 * A withdrawal as a transfer out of the network. Its time is that of its creation, which stays when it is claimed; its
 * receiver is an address in the checksummed form, "" if none is given.
 */
export const WithdrawalRow = WireWithdrawal.pipe(
  Schema.decodeTo(ObservedTransfer, {
    decode: SchemaGetter.transform(({ id, partyId, amount, asset, status, createdTimestamp, ext }) => ({
      id,
      status: withdrawalWords.get(status) ?? status,
      from: partyId,
      fromAccountType: "ACCOUNT_TYPE_GENERAL",
      to: checksummed(ext?.erc20?.receiverAddress ?? ""),
      toAccountType: external,
      asset,
      amount,
      reference: "",
      timestamp: createdTimestamp,
      fees: 0n,
    })),
    encode: SchemaGetter.forbidden(() => "withdrawals are only read"),
  }),
)

/** Answer of GET /api/v2/withdrawal/{id}. */
export const WithdrawalAnswer = Schema.Struct({ withdrawal: WithdrawalRow })

/** Answer of GET /api/v2/withdrawals. */
export const WithdrawalsAnswer = Schema.Struct({ withdrawals: Connection(WithdrawalRow) })

/** Types of entries that show a transfer's outcome; other types stay numbers as text. */
const names = new Map([
  [11, "TRANSFER_TYPE_INFRASTRUCTURE_FEE_PAY"],
  [18, "TRANSFER_TYPE_WITHDRAW"],
  [22, "TRANSFER_TYPE_TRANSFER_FUNDS_SEND"],
  [23, "TRANSFER_TYPE_TRANSFER_FUNDS_DISTRIBUTE"],
])

/** The entry by which money leaves the account of a transfer's sender. */
export const fundsSend = "TRANSFER_TYPE_TRANSFER_FUNDS_SEND"

/** One movement of the ledger, with the fields that are used. */
export const LedgerEntry = Schema.Struct({
  /** Time of the block, and a microsecond more for each entry before it in the block. Unix nanoseconds. */
  timestamp: BlockTime,
  quantity: Amount,
  type: enumText((number) => names.get(number) ?? String(number)),
  from: Id,
  asset: Id,
  /** Id of the transfer that it belongs to; "" if there is none. */
  transferId: Id,
}).pipe(Schema.encodeKeys({ type: "transferType", from: "fromAccountPartyId", asset: "assetId" }))
export type LedgerEntry = typeof LedgerEntry.Type

/** Answer of GET /api/v2/ledgerentry/history. */
export const LedgerEntriesAnswer = Schema.Struct({ ledgerEntries: Connection(LedgerEntry) })
