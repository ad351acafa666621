import { Schema } from "effect"
import type { BalanceChange } from "../domain/Balance.ts"
import { Big, Digits } from "./columns.ts"

/** A row that is stored with one balance, and came again with another. */
export interface Contradiction extends BalanceChange {
  /** The balance that came later, and was not stored. */
  readonly said: bigint
}

export const BalanceColumns = Schema.Struct({
  party: Schema.String,
  asset: Schema.String,
  market: Schema.String,
  type: Schema.String,
  balance: Digits,
  timestamp: Big,
})

export const columnsOf = (row: BalanceChange) => ({
  timestamp: row.timestamp,
  asset: row.asset,
  party: row.party,
  market: row.market,
  type: row.type,
  balance: row.balance.toString(),
})
