import { Effect, Schema, SchemaParser } from "effect"
import { accountTypeName } from "../../domain/AccountType.ts"
import { Amount, BlockTime, enumText, Text } from "./Numbers.ts"
import { Connection } from "./Paging.ts"
import { type BalanceChanges, readBalanceChanges } from "./readBalanceChanges.ts"

/** The type of an account by name; a number without a known name stays as text. */
export const AccountTypeText = enumText(accountTypeName)

/**
 * One row of history, as a BalanceChange. Time and balance must be there: no block has time 0 and no balance is empty
 * text. The other fields are absent where rows are not grouped by them; `marketId` is absent or "" without a market.
 */
export const BalanceRow = Schema.Struct({
  timestamp: BlockTime,
  balance: Amount,
  party: Text,
  asset: Text,
  market: Text,
  type: AccountTypeText,
}).pipe(Schema.encodeKeys({ party: "partyId", asset: "assetId", market: "marketId", type: "accountType" }))

/** The meaning of BalanceChangesAnswer. */
export const StrictBalanceChanges = Schema.Struct({ balances: Connection(BalanceRow) })

/** Answer of GET /api/v2/balance/changes. Read by hand; the schema says what is wrong with what the hand refuses. */
export const BalanceChangesAnswer = Schema.declareConstructor<BalanceChanges, unknown>()([], () => {
  const strictly = SchemaParser.decodeUnknownEffect(StrictBalanceChanges)
  return (input, _, options) => {
    const read = readBalanceChanges(input)
    return read === undefined ? strictly(input, options) : Effect.succeed(read)
  }
})
