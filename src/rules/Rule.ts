import type { BaseUnits } from "../domain/Amount.ts"
import type { AssetStatusWord } from "../domain/Asset.ts"
import type { PublicKey } from "../domain/Hex.ts"

/** A party as configured. Without a signer it is watch-only and is never `from`. */
export interface Party {
  readonly name: string
  readonly publicKey: PublicKey
  readonly signer: { readonly file: string } | { readonly sandbox: string } | undefined
  /** Base units by asset id that no payment of a rule or a person may take the free balance below. */
  readonly floor: ReadonlyMap<string, BaseUnits>
}

/** An asset pinned by id, so that a newcomer with the same symbol changes nothing. */
export interface PinnedAsset {
  readonly symbol: string
  readonly id: string
  readonly decimals: number
}

/** free: the general account; total: with margin, order margin, bond and orders. */
export type BalanceKind = "free" | "total"

/** One account that a rule looks at, and the levels that bound its band. */
export interface Level {
  readonly party: Party
  readonly asset: PinnedAsset
  readonly balance: BalanceKind
  /** topUp acts under it; sweep acts over it. */
  readonly trigger: BaseUnits
  /** Where the payment brings the balance to. */
  readonly target: BaseUnits
}

export interface RuleBase {
  readonly name: string
  /** The condition must hold this long, and in two observations. */
  readonly forMillis: number
  /** Between two executed payments for the same account. */
  readonly cooldownMillis: number
  /** Knowledge older than this moves no money; undefined: the network's limit holds. */
  readonly maxAgeMillis: number | undefined
  /** Nothing smaller is paid, by asset id. */
  readonly min: ReadonlyMap<string, BaseUnits>
  /** Lower numbers take scarce funds first. */
  readonly priority: number
  /** The funder cannot cover the need above its floor: pay what there is, or nothing. */
  readonly onShort: "partial" | "hold"
}

export interface TopUpRule extends RuleBase {
  readonly kind: "topUp"
  readonly from: Party
  readonly levels: ReadonlyArray<Level>
}

export interface SweepRule extends RuleBase {
  readonly kind: "sweep"
  readonly to: Party
  /** One level for each party that is swept. */
  readonly levels: ReadonlyArray<Level>
}

export interface NotifyRule {
  readonly kind: "notify"
  readonly name: string
  /** A pinned asset, or any that the network lists. */
  readonly asset: PinnedAsset | "any"
  readonly becomes: ReadonlyArray<AssetStatusWord>
}

export type PayingRule = TopUpRule | SweepRule
export type Rule = PayingRule | NotifyRule

export const isPaying = (rule: Rule): rule is PayingRule => rule.kind !== "notify"

/** What a rule looked at, in names: "hot/USDT". One timer, one episode counter and one state each. */
export const subjectOf = (level: Level): string => `${level.party.name}/${level.asset.symbol}`
