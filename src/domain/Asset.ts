/** Status of an asset by wire number; the specification's list is complete on every known network. */
export const assetStatusNumbers = {
  STATUS_UNSPECIFIED: 0,
  STATUS_PROPOSED: 1,
  STATUS_REJECTED: 2,
  STATUS_PENDING_LISTING: 3,
  STATUS_ENABLED: 4,
} as const

export type AssetStatusName = keyof typeof assetStatusNumbers

/** The operator's word for a status: what `becomes:` in a rule says, and the label in metrics. */
export const statusWords = {
  STATUS_UNSPECIFIED: "unspecified",
  STATUS_PROPOSED: "proposed",
  STATUS_REJECTED: "rejected",
  STATUS_PENDING_LISTING: "pendingListing",
  STATUS_ENABLED: "enabled",
} as const satisfies Record<AssetStatusName, string>

export type AssetStatusWord = (typeof statusWords)[AssetStatusName]

const words = new Map<string, AssetStatusWord>(Object.entries(statusWords))

/** The operator's word, or "unspecified" for names and numbers that are not known: they alert, and stop nothing. */
export const statusWord = (status: string): AssetStatusWord => words.get(status) ?? "unspecified"

/** For people: "pending listing". */
export const statusText = (word: string): string => word.replace("pendingListing", "pending listing")

const expected = new Set([
  ">proposed",
  "proposed>rejected",
  "proposed>pendingListing",
  "proposed>enabled",
  "pendingListing>enabled",
])

/** True if networks make this change of status; anything else alerts. `from` undefined: never seen before. */
export const isExpectedTransition = (from: AssetStatusWord | undefined, to: AssetStatusWord): boolean =>
  expected.has(`${from ?? ""}>${to}`)

/** An asset as listed, in one shape whichever of the two the gateway used. */
export interface Asset {
  readonly id: string
  readonly name: string
  readonly symbol: string
  /** Places of precision: one unit is 10^decimals base units. */
  readonly decimals: number
  /** Smallest economically meaningful amount, in base units. */
  readonly quantum: bigint
  /** The wire's enum name, or what came in its place. */
  readonly status: string
  readonly source:
    | { readonly kind: "builtin"; readonly maxFaucetAmountMint: string }
    | {
        readonly kind: "erc20"
        readonly contractAddress: string
        readonly lifetimeLimit: string
        readonly withdrawThreshold: string
        readonly chainId?: string
      }
    | { readonly kind: "unknown" }
}
