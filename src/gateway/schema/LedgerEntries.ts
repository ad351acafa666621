import { Schema } from "effect"
import { Amount, BlockTime, enumText, Text } from "./Numbers.ts"
import { Connection } from "./Paging.ts"

/** The types that say what became of a transfer; numbers of others stay as text. */
const names = new Map([
  [11, "TRANSFER_TYPE_INFRASTRUCTURE_FEE_PAY"],
  [18, "TRANSFER_TYPE_WITHDRAW"],
  [22, "TRANSFER_TYPE_TRANSFER_FUNDS_SEND"],
  [23, "TRANSFER_TYPE_TRANSFER_FUNDS_DISTRIBUTE"],
])

/** The entry by which money leaves the account of a transfer's sender. */
export const fundsSend = "TRANSFER_TYPE_TRANSFER_FUNDS_SEND"
/** The entry by which money leaves the network. */
export const withdrawn = "TRANSFER_TYPE_WITHDRAW"

/** One movement of the ledger, as far as it is looked at. */
export const LedgerEntry = Schema.Struct({
  /** Time of the block, and a microsecond more for each entry before it in the block. Unix nanoseconds. */
  timestamp: BlockTime,
  quantity: Amount,
  type: enumText((number) => names.get(number) ?? String(number)),
  from: Text,
  asset: Text,
  /** Of the transfer that it belongs to; "" where there is none. */
  transferId: Text,
}).pipe(Schema.encodeKeys({ type: "transferType", from: "fromAccountPartyId", asset: "assetId" }))
export type LedgerEntry = typeof LedgerEntry.Type

/** Answer of GET /api/v2/ledgerentry/history. */
export const LedgerEntriesAnswer = Schema.Struct({ ledgerEntries: Connection(LedgerEntry) })
