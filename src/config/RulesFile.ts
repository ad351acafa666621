/**
 * The types of a file of rules in TypeScript:
 *
 *     import type { Rules } from "cofferer/rules"
 *     export const rules: Rules = [ … ]
 *
 * This file stands alone, so that it can be copied beside such rules. Every value is a text as in YAML, so that no
 * amount passes through a double: "25_000", "0.5", "30s", "5%".
 */
export type Rules = ReadonlyArray<Rule>

/** Exactly one kind, and what modifies it. */
export type Rule = { readonly name: string } & Kind & Modifiers

/** The accounts: free is the general account, total has margin, bond and orders too. */
export type BalanceKind = "free" | "total"

export type Kind =
  | { readonly topUp: TopUp }
  | { readonly sweep: Sweep }
  | { readonly rebalance: Rebalance }
  | { readonly split: Split }
  | { readonly payout: Payout }
  | { readonly request: Request }
  | { readonly withdraw: Withdraw }
  | { readonly notify: Notify }
  | { readonly code: Code }

export interface TopUp {
  readonly from: string
  readonly levels: ReadonlyArray<{
    readonly party: string
    readonly asset: string
    readonly balance?: BalanceKind | undefined
    readonly below: string
    readonly target: string
  }>
}

export interface Sweep {
  readonly from: string | ReadonlyArray<string>
  readonly to: string
  readonly asset: string
  readonly balance?: BalanceKind | undefined
  readonly above: string
  readonly target: string
}

export interface Rebalance {
  readonly asset: string
  readonly balance?: BalanceKind | undefined
  /** Whole numbers by party. */
  readonly weights: Readonly<Record<string, string>>
  readonly tolerance: string
}

export interface Split {
  readonly from: string
  readonly asset: string
  readonly above: string
  readonly target?: string | undefined
  /** Whole numbers by party. */
  readonly to: Readonly<Record<string, string>>
}

export interface Payout {
  readonly from: string
  readonly to: string
  readonly asset: string
  readonly amount: string
}

export interface Request {
  readonly from: string
  readonly to: string
  readonly asset: string
  readonly balance?: BalanceKind | undefined
  readonly below: string
  readonly target: string
}

export interface Withdraw {
  readonly from: string
  readonly asset: string
  readonly balance?: BalanceKind | undefined
  readonly above: string
  readonly target: string
  readonly to: string
}

export interface Notify {
  readonly asset?: string | undefined
  readonly becomes?: ReadonlyArray<AssetStatus> | undefined
  readonly when?: Condition | undefined
  readonly severity?: "page" | "ticket" | "info" | undefined
}

export type AssetStatus = "proposed" | "rejected" | "pendingListing" | "enabled"

/** One payer, its receivers, and a function that says how much they need. */
export interface Code {
  /** The balances that it is told. */
  readonly accounts: ReadonlyArray<{
    readonly party: string
    readonly asset: string
    readonly balance?: BalanceKind | undefined
  }>
  readonly from: string
  /** All whom it may pay. */
  readonly to: string | ReadonlyArray<string>
  readonly asset: string
  /** Nothing where nothing is needed. The same `seen` must give the same answer. */
  readonly need: (seen: Seen) => Wanted | ReadonlyArray<Wanted> | undefined
}

/** One payment that is needed, before fees; all of a rule's payments are made together, or none. */
export interface Wanted {
  /** Base units, or units of the asset as text. */
  readonly pay: bigint | string
  /** May be left out where the rule has one receiver. */
  readonly to?: string | undefined
  /** For people who ask why. */
  readonly because?: string | undefined
}

/** What `need` is told. It is frozen. */
export interface Seen {
  /** Base units: "maker-1/USDT" is the free balance, "maker-1/USDT total" all of it. */
  readonly balances: Readonly<Record<string, bigint>>
  /** Base units of one unit of the rule's asset: `10_000n * one`. */
  readonly one: bigint
  /** By symbol. unknown: no listing was read yet. */
  readonly assets: Readonly<
    Record<
      string,
      {
        readonly one: bigint
        readonly decimals: number
        readonly status: AssetStatus | "unspecified" | "unlisted" | "unknown"
      }
    >
  >
  /** Start of the current minute, Unix milliseconds. */
  readonly time: number
}

export interface Modifiers {
  readonly schedule?:
    | {
        readonly cron: string
        readonly location?: string | undefined
        readonly missed?: "once" | "skip" | undefined
        readonly late?: string | undefined
      }
    | undefined
  readonly for?: string | undefined
  readonly clear?: string | Condition | undefined
  readonly cooldown?: string | undefined
  readonly settle?: string | undefined
  readonly maxAge?: string | undefined
  /** By asset. */
  readonly min?: Readonly<Record<string, string>> | undefined
  /** By asset. */
  readonly floor?: Readonly<Record<string, string>> | undefined
  readonly priority?: string | undefined
  readonly onShort?: "partial" | "hold" | undefined
  readonly onNoData?: "hold" | "zero" | undefined
  readonly during?: string | undefined
  readonly maintenance?: "hold" | "ignore" | undefined
  readonly inhibitedBy?: string | ReadonlyArray<string> | undefined
  readonly mode?: "shadow" | "live" | undefined
}

interface Account {
  readonly party: string
  readonly asset: string
  readonly balance?: BalanceKind | undefined
}

interface Sides {
  readonly below?: string | undefined
  readonly above?: string | undefined
}

/** Exactly one of these. */
export interface Condition {
  readonly balance?: (Account & Sides) | undefined
  readonly change?: (Account & Sides & { readonly over: string }) | undefined
  readonly rate?: (Account & Sides & { readonly over?: string | undefined }) | undefined
  readonly asset?: { readonly asset: string; readonly is: AssetStatus | ReadonlyArray<AssetStatus> } | undefined
  readonly stale?:
    | { readonly party?: string | undefined; readonly asset?: string | undefined; readonly longerThan: string }
    | undefined
  readonly held?:
    | { readonly rule: string; readonly reason?: HoldReason | undefined; readonly longerThan: string }
    | undefined
  readonly all?: ReadonlyArray<Condition> | undefined
  readonly any?: ReadonlyArray<Condition> | undefined
  readonly not?: Condition | undefined
}

/** Why a rule is silent. */
export type HoldReason =
  | "halted"
  | "paused"
  | "maintenance"
  | "outside_hours"
  | "not_due"
  | "locked"
  | "code"
  | "inhibited"
  | "no_data"
  | "stale"
  | "catching_up"
  | "disagreement"
  | "drift"
  | "chain_unsettled"
  | "in_band"
  | "pending"
  | "in_flight"
  | "settling"
  | "cooldown"
  | "unresolved"
  | "awaiting_approval"
  | "too_small"
  | "asset_status"
  | "policy"
  | "limit"
  | "quota"
  | "fee"
  | "short"
  | "yielded"
