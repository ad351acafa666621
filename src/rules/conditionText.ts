import { formatLevel } from "../domain/Amount.ts"
import { statusText } from "../domain/Asset.ts"
import { timeText } from "./Check.ts"
import type { Condition, Step } from "./Condition.ts"
import { accountName, type PinnedAsset } from "./Rule.ts"

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
  step._tag === "Units" ? levelText(step.units, asset) : shareText(step)

/** "-20 %" */
export const shareText = (share: { readonly numerator: bigint; readonly denominator: bigint }): string =>
  `${Number((share.numerator * 1_000_000n) / share.denominator) / 10_000} %`
