import { Schema } from "effect"
import { accountTypeName } from "../../domain/AccountType.ts"
import { Amount, enumText, Int64, Text } from "./Numbers.ts"
import { Connection } from "./Paging.ts"

/** The type of an account by name; a number without a known name stays as text. */
export const AccountTypeText = enumText(accountTypeName)

/**
 * One row of history, as a BalanceChange. Time and balance must be there: no block has time 0 and no balance is empty
 * text. The other fields are absent where rows are not grouped by them; `marketId` is absent or "" without a market.
 */
export const BalanceRow = Schema.Struct({
  timestamp: Int64,
  balance: Amount,
  party: Text,
  asset: Text,
  market: Text,
  type: AccountTypeText,
}).pipe(Schema.encodeKeys({ party: "partyId", asset: "assetId", market: "marketId", type: "accountType" }))

/** Answer of GET /api/v2/balance/changes. */
export const BalanceChangesAnswer = Schema.Struct({ balances: Connection(BalanceRow) })
