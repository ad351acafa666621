import { Schema, SchemaGetter } from "effect"
import type { accountTypeNumbers } from "../../domain/AccountType.ts"
import { checksummed } from "../../tx/Address.ts"
import { Amount, BlockTime, enumText, orDefault, Text } from "./Numbers.ts"
import { Connection } from "./Paging.ts"
import { ObservedTransfer } from "./Transfers.ts"

/**
 * What the ledger says about a withdrawal, in words of a transfer. `done`: the money has left the ledger; whether it
 * was claimed outside is another matter, which the ledger hears of later if at all.
 */
const statuses = ["STATUS_UNSPECIFIED", "STATUS_OPEN", "STATUS_REJECTED", "STATUS_FINALIZED"] as const
const words = new Map<string, string>([
  ["STATUS_OPEN", "done"],
  ["STATUS_FINALIZED", "done"],
  ["STATUS_REJECTED", "rejected"],
])

const external = "ACCOUNT_TYPE_EXTERNAL" satisfies keyof typeof accountTypeNumbers

const Wire = Schema.Struct({
  id: Schema.NonEmptyString,
  partyId: Text,
  amount: Amount,
  asset: Text,
  status: enumText((number) => statuses[number] ?? String(number)),
  createdTimestamp: orDefault(BlockTime, 0),
  ext: Schema.optional(
    Schema.NullOr(Schema.Struct({ erc20: Schema.optional(Schema.NullOr(Schema.Struct({ receiverAddress: Text }))) })),
  ),
})

/**
 * A withdrawal as a transfer out of the network. Its time is that of its making, which stays when it is claimed, and
 * its receiver an address in the checksummed form; "" where none is told.
 */
export const WithdrawalRow = Wire.pipe(
  Schema.decodeTo(ObservedTransfer, {
    decode: SchemaGetter.transform(({ id, partyId, amount, asset, status, createdTimestamp, ext }) => ({
      id,
      status: words.get(status) ?? status,
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
