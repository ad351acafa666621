/** One account of the ledger: the network's own key of a balance. Market "" where the account has none. */
export interface AccountKey {
  readonly party: string
  readonly asset: string
  readonly market: string
  /** The wire's enum name, or what came in its place. */
  readonly type: string
}

/**
 * One row of balance history: the balance of an account after the block at `timestamp`.
 * (timestamp, asset, party, market, type) is unique and never changes.
 */
export interface BalanceChange extends AccountKey {
  /** Block time, Unix nanoseconds, truncated to microseconds by the network. */
  readonly timestamp: bigint
  readonly balance: bigint
}

/** The block behind an answer, as the gateway reports it; absent if it sends no headers. */
export interface BlockMark {
  /** Height of the newest block begun, which may not be committed yet. */
  readonly height: bigint
  /** Its time, Unix nanoseconds. Rows strictly below it are final. */
  readonly timestamp: bigint
}
