import type { BaseUnits } from "./Amount.ts"
import { formatAmount } from "./Amount.ts"
import type { ExternalAddress, PublicKey } from "./Hex.ts"

/** Why a rule is silent, in order of precedence: the first that applies is the reason. */
export const holdReasons = [
  "halted",
  "paused",
  "maintenance",
  "outside_hours",
  "not_due",
  "locked",
  "code",
  "inhibited",
  "no_data",
  "stale",
  "catching_up",
  "disagreement",
  "drift",
  "chain_unsettled",
  "in_band",
  "pending",
  "in_flight",
  "settling",
  "cooldown",
  "unresolved",
  "awaiting_approval",
  "too_small",
  "asset_status",
  "policy",
  "limit",
  "quota",
  "fee",
  "short",
  "yielded",
] as const
export type HoldReason = (typeof holdReasons)[number]

/** A payment that a rule asks for, in names of the configuration beside the keys that they stand for. */
export interface Payment {
  readonly from: string
  readonly fromKey: PublicKey
  readonly to: string
  /** For a withdrawal, the address outside of the network. */
  readonly toKey: PublicKey | ExternalAddress
  readonly asset: string
  readonly assetId: string
  readonly amount: BaseUnits
}

/** A rule's decision for one subject. Doing nothing has a reason, and the sentence that explains it. */
export type Decision =
  | { readonly _tag: "Hold"; readonly reason: HoldReason; readonly detail: string }
  /** At least one payment; all of them are recorded together, or none. */
  | { readonly _tag: "Act"; readonly payments: ReadonlyArray<Payment>; readonly detail: string }
  /** Asks people to make these payments: their key is elsewhere. */
  | { readonly _tag: "Ask"; readonly payments: ReadonlyArray<Payment>; readonly detail: string }

/** Where a rule stands for one subject. */
export type RuleState = "inactive" | "pending" | "acting" | "holding"

/** "cooldown, 12 s left", "halted by ana: audit", "paused (all) by ana: audit". */
export const reasonText = (reason: string, detail: string): string =>
  reason === "paused" || reason === "halted" ? `${reason} ${detail}` : `${reason.replaceAll("_", " ")}, ${detail}`

/** A hold beside its state: "has nothing to do: 25,000 (trigger 10,000)", "cooldown, 12 s left". */
export const restText = (reason: string, detail: string): string =>
  reason === "in_band" ? `has nothing to do: ${detail}` : reasonText(reason, detail)

/** A hold as a verb phrase: "has nothing to do: 25,000 (trigger 10,000)", "holds: cooldown, 12 s left". */
export const holdText = (reason: string, detail: string): string =>
  `${reason === "in_band" ? "" : "holds: "}${restText(reason, detail)}`

/** Amount moved, before "FROM -> TO": "16,210.00 USDT". */
export const sumText = (payment: Pick<Payment, "amount" | "asset">, decimals: number): string =>
  `${formatAmount(payment.amount, decimals)} ${payment.asset}`
