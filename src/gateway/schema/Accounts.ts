import { Schema } from "effect"
import { AccountTypeText } from "./BalanceChanges.ts"
import { Amount, Text } from "./Numbers.ts"
import { Connection } from "./Paging.ts"

/** One account and its balance now. The wire's names differ from those of the history: owner, asset, type. */
export const AccountRow = Schema.Struct({
  party: Text,
  balance: Amount,
  asset: Text,
  market: Text,
  type: AccountTypeText,
}).pipe(Schema.encodeKeys({ party: "owner", market: "marketId" }))
export type AccountBalance = typeof AccountRow.Type

/** Answer of GET /api/v2/accounts. */
export const AccountsAnswer = Schema.Struct({ accounts: Connection(AccountRow) })
