/**
 * Account types by their wire number. 0 to 29 are the specification's list; 30 to 34 came with later networks
 * (0.76 to 0.79). 8 is reserved everywhere. Unknown numbers and names are kept as they came.
 */
export const accountTypeNumbers = {
  ACCOUNT_TYPE_UNSPECIFIED: 0,
  ACCOUNT_TYPE_INSURANCE: 1,
  ACCOUNT_TYPE_SETTLEMENT: 2,
  ACCOUNT_TYPE_MARGIN: 3,
  ACCOUNT_TYPE_GENERAL: 4,
  ACCOUNT_TYPE_FEES_INFRASTRUCTURE: 5,
  ACCOUNT_TYPE_FEES_LIQUIDITY: 6,
  ACCOUNT_TYPE_FEES_MAKER: 7,
  ACCOUNT_TYPE_BOND: 9,
  ACCOUNT_TYPE_EXTERNAL: 10,
  ACCOUNT_TYPE_GLOBAL_INSURANCE: 11,
  ACCOUNT_TYPE_GLOBAL_REWARD: 12,
  ACCOUNT_TYPE_PENDING_TRANSFERS: 13,
  ACCOUNT_TYPE_REWARD_MAKER_PAID_FEES: 14,
  ACCOUNT_TYPE_REWARD_MAKER_RECEIVED_FEES: 15,
  ACCOUNT_TYPE_REWARD_LP_RECEIVED_FEES: 16,
  ACCOUNT_TYPE_REWARD_MARKET_PROPOSERS: 17,
  ACCOUNT_TYPE_HOLDING: 18,
  ACCOUNT_TYPE_LP_LIQUIDITY_FEES: 19,
  ACCOUNT_TYPE_LIQUIDITY_FEES_BONUS_DISTRIBUTION: 20,
  ACCOUNT_TYPE_NETWORK_TREASURY: 21,
  ACCOUNT_TYPE_VESTING_REWARDS: 22,
  ACCOUNT_TYPE_VESTED_REWARDS: 23,
  ACCOUNT_TYPE_REWARD_AVERAGE_POSITION: 24,
  ACCOUNT_TYPE_REWARD_RELATIVE_RETURN: 25,
  ACCOUNT_TYPE_REWARD_RETURN_VOLATILITY: 26,
  ACCOUNT_TYPE_REWARD_VALIDATOR_RANKING: 27,
  ACCOUNT_TYPE_PENDING_FEE_REFERRAL_REWARD: 28,
  ACCOUNT_TYPE_ORDER_MARGIN: 29,
  ACCOUNT_TYPE_REWARD_REALISED_RETURN: 30,
  ACCOUNT_TYPE_BUY_BACK_FEES: 31,
  ACCOUNT_TYPE_REWARD_AVERAGE_NOTIONAL: 32,
  ACCOUNT_TYPE_REWARD_ELIGIBLE_ENTITIES: 33,
  ACCOUNT_TYPE_LOCKED_FOR_STAKING: 34,
} as const

export type AccountTypeName = keyof typeof accountTypeNumbers

/** The names of the specification's section 2.6, in its order: what a filter of version 0.74 and 0.75 accepts. */
export const specifiedAccountTypes = (Object.keys(accountTypeNumbers) as Array<AccountTypeName>).filter(
  (name) => accountTypeNumbers[name] <= 29,
)

const names = new Map<number, string>(Object.entries(accountTypeNumbers).map(([name, number]) => [number, name]))

/** The name of a wire number; the number itself as text where no name is known, as the network prints it. */
export const accountTypeName = (number: number): string => names.get(number) ?? String(number)

/** "general": a type without the prefix of its enumeration. */
export const accountKind = (type: string): string => type.replace("ACCOUNT_TYPE_", "").toLowerCase()

/** A party's unallocated collateral: deposits arrive here, transfers and withdrawals leave from here. */
export const general: AccountTypeName = "ACCOUNT_TYPE_GENERAL"

/** Account types that `balance: total` of a rule adds up: all that still belongs to the party. */
export const totalTypes: ReadonlySet<string> = new Set<AccountTypeName>([
  "ACCOUNT_TYPE_GENERAL",
  "ACCOUNT_TYPE_MARGIN",
  "ACCOUNT_TYPE_ORDER_MARGIN",
  "ACCOUNT_TYPE_BOND",
  "ACCOUNT_TYPE_HOLDING",
])

/** The ledger's entry by which money leaves the network. */
export const withdrawn = "TRANSFER_TYPE_WITHDRAW"

/** One account of the ledger: the network's own key of a balance. Market "" where the account has none. */
export interface AccountKey {
  readonly party: string
  readonly asset: string
  readonly market: string
  /** The wire's enum name, or what came in its place. */
  readonly type: string
}

/** The key as one text: in maps, and as the subject of journal entries. */
export const accountKeyText = ({ party, asset, market, type }: AccountKey): string =>
  [party, asset, market, type].join(" ")

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
