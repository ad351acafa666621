import { Schema } from "effect"
import type { BalanceChange } from "../domain/Balance.ts"
import { Big, Digits } from "./columns.ts"

export const BalanceColumns = Schema.Struct({
  party: Schema.String,
  asset: Schema.String,
  market: Schema.String,
  type: Schema.String,
  balance: Digits,
  timestamp: Big,
})

/**
 * Rows of (party, asset, market, type, balance, timestamp) as accounts. By hand, since every decision begins with all
 * of them. Undefined where a column is not what it must be.
 */
export const readAccounts = (rows: ReadonlyArray<ReadonlyArray<unknown>>): Array<BalanceChange> | undefined => {
  const accounts: Array<BalanceChange> = []
  for (const [party, asset, market, type, balance, timestamp] of rows) {
    if (typeof party !== "string" || typeof asset !== "string" || typeof market !== "string") return undefined
    if (typeof type !== "string" || typeof balance !== "string") return undefined
    if (typeof timestamp !== "bigint" && typeof timestamp !== "number") return undefined
    accounts.push({ party, asset, market, type, balance: BigInt(balance), timestamp: BigInt(timestamp) })
  }
  return accounts
}

export const columnsOf = (row: BalanceChange) => ({
  timestamp: row.timestamp,
  asset: row.asset,
  party: row.party,
  market: row.market,
  type: row.type,
  balance: row.balance.toString(),
})
