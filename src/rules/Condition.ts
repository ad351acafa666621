import type { AssetStatusWord } from "../domain/Asset.ts"
import type { HoldReason } from "../domain/Decision.ts"
import type { Hours } from "./Hours.ts"
import type { Account, Party, PinnedAsset } from "./Rule.ts"

/** On which side of a number a value must lie for the condition to hold; the number itself is on neither. */
export type Side = "below" | "above"

/** A number to compare a change with: base units, or a part of the earlier balance. Both may be negative. */
export type Step =
  | { readonly _tag: "Units"; readonly units: bigint }
  | { readonly _tag: "Share"; readonly numerator: bigint; readonly denominator: bigint }

/** What people may want to hear of. */
export type Condition =
  | { readonly _tag: "All" | "Any"; readonly of: ReadonlyArray<Condition> }
  | { readonly _tag: "Not"; readonly of: Condition }
  | { readonly _tag: "Balance"; readonly account: Account; readonly side: Side; readonly units: bigint }
  /** The balance against the one `overMillis` before it. */
  | {
      readonly _tag: "Change"
      readonly account: Account
      readonly overMillis: number
      readonly side: Side
      readonly by: Step
    }
  /** The same in base units per hour. */
  | {
      readonly _tag: "Rate"
      readonly account: Account
      readonly overMillis: number
      readonly side: Side
      readonly units: bigint
    }
  | { readonly _tag: "Asset"; readonly asset: PinnedAsset; readonly is: ReadonlySet<AssetStatusWord> }
  /** What is known is older; of one account, also that nothing was ever known for as long. */
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
  /** The condition must hold this long before people hear of it, and be over as long before they hear of that. */
  readonly forMillis: number
  /** Between two alerts of the rule. */
  readonly cooldownMillis: number
  /** People hear of it in these hours alone; undefined: always. */
  readonly during: Hours | undefined
}

/** A balance of the past that a condition compares with. */
export interface Past {
  readonly account: Account
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

/** All that an alert's rule looks at. */
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
