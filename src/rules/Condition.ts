import { formatLevel } from "../domain/Amount.ts"
import { type AssetStatusWord, statusText } from "../domain/Asset.ts"
import type { HoldReason } from "../domain/Decision.ts"
import { timeText } from "../domain/Time.ts"
import { accountName, type Party, type PinnedAsset, percent, type RuleAccount, type Share } from "./Account.ts"
import type { Hours } from "./Schedule.ts"

/** On which side of a number a value must lie for the condition to hold; the number itself is on neither. */
export type Side = "below" | "above"

/** A number to compare a change with: base units, or a part of the earlier balance. Both may be negative. */
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
  /** A rule is silent, for this reason or for any but that there is nothing to do. */
  | {
      readonly _tag: "Held"
      readonly rule: string
      readonly reason: HoldReason | undefined
      readonly longerThanMillis: number
    }

/** Tells people when a condition holds, and when it is over. */
export interface AlertRule {
  readonly kind: "alert"
  readonly name: string
  readonly when: Condition
  /** Must hold before it is over; undefined: it is over as soon as `when` is not so any more. */
  readonly clear: Condition | undefined
  readonly severity: "page" | "ticket" | "info"
  /** The condition must hold this long before alerts are sent, and be over as long before they hear of that. */
  readonly forMillis: number
  /** Between two alerts of the rule. */
  readonly cooldownMillis: number
  /** People hear of it in these hours alone; undefined: always. */
  readonly during: Hours | undefined
}

/** A balance of the past that a condition compares with. */
export interface Past {
  readonly account: RuleAccount
  readonly overMillis: number
}

/** A condition without others in it. */
export type PlainCondition = Exclude<Condition, { readonly of: unknown }>

/** The conditions in it that hold no others. */
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

/** All balances of the past that an alert's rule needs. */
export const pastsOf = (rule: AlertRule): ReadonlyArray<Past> =>
  partsOf(rule).flatMap((part) => (part._tag === "Change" || part._tag === "Rate" ? [part] : []))

/** Names a balance of the past. */
export const pastKey = ({ account: { party, asset, balance }, overMillis }: Past): string =>
  `${party.publicKey} ${asset.id} ${balance} ${overMillis}`

/** "hot/USDT is below 10,000": what a condition waits for, for people. */
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
