import { formatLevel } from "../domain/Amount.ts"
import { type AssetStatusWord, statusText } from "../domain/Asset.ts"
import type { HoldReason } from "../domain/Decision.ts"
import { timeText } from "../domain/Time.ts"
import { accountName, type Party, type PinnedAsset, percent, type RuleAccount, type Share } from "./Account.ts"
import type { Hours } from "./Schedule.ts"

/** Side of a number on which a value must lie. The number itself is on neither side. */
export type Side = "below" | "above"

/** Bound of a change: base units, or a share of the earlier balance. Both may be negative. */
export type Step = { readonly _tag: "Units"; readonly units: bigint } | ({ readonly _tag: "Share" } & Share)

/** Condition of an alert rule. */
export type Condition =
  | { readonly _tag: "All" | "Any"; readonly of: ReadonlyArray<Condition> }
  | { readonly _tag: "Not"; readonly of: Condition }
  | { readonly _tag: "Balance"; readonly account: RuleAccount; readonly side: Side; readonly units: bigint }
  /** The balance against the one `overMillis` before it. */
  | {
      readonly _tag: "Change"
      readonly account: RuleAccount
      readonly overMillis: number
      readonly side: Side
      readonly by: Step
    }
  /** The same in base units per hour. */
  | {
      readonly _tag: "Rate"
      readonly account: RuleAccount
      readonly overMillis: number
      readonly side: Side
      readonly units: bigint
    }
  | { readonly _tag: "Asset"; readonly asset: PinnedAsset; readonly is: ReadonlySet<AssetStatusWord> }
  /** The newest data is older than this; for one account also true if it had no data for as long. */
  | {
      readonly _tag: "Stale"
      readonly party: Party | undefined
      readonly asset: PinnedAsset | undefined
      readonly longerThanMillis: number
    }
  /** A rule holds for this reason; undefined: for any reason except that there is nothing to do. */
  | {
      readonly _tag: "Held"
      readonly rule: string
      readonly reason: HoldReason | undefined
      readonly longerThanMillis: number
    }

/** Alerts when a condition holds, and when it is over. */
export interface AlertRule {
  readonly kind: "alert"
  readonly name: string
  readonly when: Condition
  /** Condition that ends the alert; undefined: it ends as soon as `when` no longer holds. */
  readonly clear: Condition | undefined
  readonly severity: "page" | "ticket" | "info"
  /** Time for which the condition must hold before an alert, and be over before its all-clear. */
  readonly forMillis: number
  /** Shortest time between two alerts of the rule. */
  readonly cooldownMillis: number
  /** Hours in which it alerts; undefined: always. */
  readonly during: Hours | undefined
}

/** An earlier balance that a condition compares with. */
export interface Past {
  readonly account: RuleAccount
  readonly overMillis: number
}

/** A condition without others in it. */
export type PlainCondition = Exclude<Condition, { readonly of: unknown }>

/** The conditions without others in them. */
const plainIn = (condition: Condition): ReadonlyArray<PlainCondition> => {
  switch (condition._tag) {
    case "All":
    case "Any":
      return condition.of.flatMap(plainIn)
    case "Not":
      return plainIn(condition.of)
    default:
      return [condition]
  }
}

/** The conditions of an alert rule, without All, Any and Not. */
export const partsOf = ({ when, clear }: AlertRule): ReadonlyArray<PlainCondition> => [
  ...plainIn(when),
  ...(clear === undefined ? [] : plainIn(clear)),
]

/** Earlier balances that an alert rule needs. */
export const pastsOf = (rule: AlertRule): ReadonlyArray<Past> =>
  partsOf(rule).flatMap((part) => (part._tag === "Change" || part._tag === "Rate" ? [part] : []))

/** Key of an earlier balance. */
export const pastKey = ({ account: { party, asset, balance }, overMillis }: Past): string =>
  `${party.publicKey} ${asset.id} ${balance} ${overMillis}`

/** The condition as text: "hot/USDT is below 10,000". */
export const conditionText = (condition: Condition): string => {
  switch (condition._tag) {
    case "All":
      return condition.of.map(partText).join(" and ")
    case "Any":
      return condition.of.map(partText).join(" or ")
    case "Not":
      return `not (${conditionText(condition.of)})`
    case "Balance":
      return `${accountName(condition.account)} is ${condition.side} ${levelText(condition.units, condition.account.asset)}`
    case "Change": {
      const { account, overMillis, side, by } = condition
      return `${accountName(account)} changes in ${timeText(overMillis)} by ${side} ${stepText(by, account.asset)}`
    }
    case "Rate":
      return `${accountName(condition.account)} changes an hour by ${condition.side} ${levelText(condition.units, condition.account.asset)}`
    case "Asset":
      return `${condition.asset.symbol} is ${[...condition.is].map(statusText).join(" or ")}`
    case "Stale": {
      const name = [condition.party?.name, condition.asset?.symbol].filter((each) => each !== undefined).join("/")
      return `what is known${name === "" ? "" : ` of ${name}`} is older than ${timeText(condition.longerThanMillis)}`
    }
    case "Held": {
      const why = condition.reason === undefined ? "" : ` for ${condition.reason.replaceAll("_", " ")}`
      return `${condition.rule} is held${why} for longer than ${timeText(condition.longerThanMillis)}`
    }
  }
}

const partText = (part: Condition): string =>
  part._tag === "All" || part._tag === "Any" ? `(${conditionText(part)})` : conditionText(part)

const levelText = (units: bigint, { decimals }: PinnedAsset): string => formatLevel(units, decimals)

/** "-20 %", or the amount. */
export const stepText = (step: Step, asset: PinnedAsset): string =>
  step._tag === "Units" ? levelText(step.units, asset) : percent(step)
