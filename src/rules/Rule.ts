import type { BaseUnits } from "../domain/Amount.ts"
import type { AssetStatusWord } from "../domain/Asset.ts"
import type { BalanceKind, External, Party, PinnedAsset, RuleAccount, Share } from "./Account.ts"
import type { Code } from "./Code.ts"
import type { AlertRule } from "./Condition.ts"
import type { Hours, Schedule, Window } from "./Schedule.ts"

/** An account and the levels that bound its band. */
export interface Level extends RuleAccount {
  /** topUp and request act below it; sweep, split and withdraw above it. */
  readonly trigger: BaseUnits
  /** Balance after the payment. */
  readonly target: BaseUnits
}

/** A receiver and its weight. Weights count in proportion; their sum is arbitrary. */
export interface Weight {
  readonly party: Party
  readonly weight: bigint
}

export interface RuleBase {
  readonly name: string
  /** The condition must hold this long, and in two observations. */
  readonly forMillis: number
  /** Between two executed payments for the same account. */
  readonly cooldownMillis: number
  /** Balances count only once they are this much newer than the block of our last payment. */
  readonly settleMillis: number
  /** Balances older than this move no money; undefined: the network's limit holds. */
  readonly maxAgeMillis: number | undefined
  /** Nothing smaller is paid, by asset id. */
  readonly min: ReadonlyMap<string, BaseUnits>
  /** Balance that this rule leaves with the payer, by asset id. The higher of it and the party's own floor counts. */
  readonly floor: ReadonlyMap<string, BaseUnits>
  /** Lower numbers take scarce funds and transfers first. */
  readonly priority: number
  /** If the payer cannot cover the need above its floor: pays a part, or nothing. */
  readonly onShort: "partial" | "hold"
  /** Effect of a balance without data: it holds the rule, or counts as zero. */
  readonly onNoData: "hold" | "zero"
  /** The hours in which it may pay; undefined: always. */
  readonly during: Hours | undefined
  /** Planned windows in which it pays nothing. */
  readonly maintenance: ReadonlyArray<Window>
  /** Rules that forbid this one while their condition holds. */
  readonly inhibitedBy: ReadonlyArray<string>
  /** On trial: decides beside the others and pays nothing. */
  readonly trial: boolean
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

/** Keeps the shares of a group of accounts near their weights. */
export interface RebalanceRule extends RuleBase {
  readonly kind: "rebalance"
  readonly asset: PinnedAsset
  readonly balance: BalanceKind
  /** At least two parties; none twice. */
  readonly weights: ReadonlyArray<Weight>
  /** Largest distance of an account from its share, as a fraction of the group's total. */
  readonly tolerance: Share
}

/** Divides an account's balance above its target among receivers. */
export interface SplitRule extends RuleBase {
  readonly kind: "split"
  readonly level: Level
  readonly to: ReadonlyArray<Weight>
}

/** Pays a fixed amount at planned times. */
export interface PayoutRule extends RuleBase {
  readonly kind: "payout"
  readonly from: Party
  readonly to: Party
  readonly asset: PinnedAsset
  readonly amount: BaseUnits
  readonly schedule: Schedule
}

/** Requests money from people whose key is elsewhere. */
export interface RequestRule extends RuleBase {
  readonly kind: "request"
  readonly from: Party
  readonly level: Level
}

/** Withdraws an account's balance above its target from the network. */
export interface WithdrawRule extends RuleBase {
  readonly kind: "withdraw"
  readonly level: Level
  readonly to: External
}

/** A rule whose function an operator writes: it returns an amount for each receiver, and nothing else. */
export interface CodeRule extends RuleBase {
  readonly kind: "code"
  /** Accounts whose balances the function receives; at least one, none twice. */
  readonly accounts: ReadonlyArray<RuleAccount>
  readonly from: Party
  /** Receivers that it may pay; at least one, none twice, never the payer. */
  readonly to: ReadonlyArray<Party>
  readonly asset: PinnedAsset
  /** Called before an evaluation, never within one. */
  readonly code: Code
}

/** Alerts when an asset gets a new status. */
export interface NotifyRule {
  readonly kind: "notify"
  readonly name: string
  /** A pinned asset, or every asset that the network lists. */
  readonly asset: PinnedAsset | "any"
  readonly becomes: ReadonlyArray<AssetStatusWord>
}

export type PayingRule =
  | TopUpRule
  | SweepRule
  | RebalanceRule
  | SplitRule
  | PayoutRule
  | RequestRule
  | WithdrawRule
  | CodeRule
export type Rule = PayingRule | NotifyRule | AlertRule

export const isPaying = (rule: Rule): rule is PayingRule => rule.kind !== "notify" && rule.kind !== "alert"

/** True if the rule's payments are only simulated: the treasury is not live, or the rule is on trial. */
export const isRehearsed = (mode: string, rule: Pick<PayingRule, "trial">): boolean => mode !== "live" || rule.trial

export const isAlert = (rule: Rule): rule is AlertRule => rule.kind === "alert"

/** The accounts of a rule that have a band, with its levels. */
export const levelsOf = (rule: Rule): ReadonlyArray<Level> => {
  if (rule.kind === "topUp" || rule.kind === "sweep") return rule.levels
  return rule.kind === "split" || rule.kind === "request" || rule.kind === "withdraw" ? [rule.level] : []
}
