import type { RuleAccount } from "../../rules/Account.ts"
import type { Condition, Step } from "../../rules/Condition.ts"
import { durationMillis } from "../schema/Fields.ts"
import type { ConditionText } from "../schema/RuleText.ts"
import { nameRemedy } from "../yaml/decodeAll.ts"
import type { KnownNames } from "./resolveKind.ts"
import { accountOf, assetOf, type Path, partyOf } from "./resolveNames.ts"
import { shareOf } from "./resolvePolicy.ts"

/** Default period over which a rate is measured. */
const rateOver = "1h"
/** Largest period: each evaluation reads rows this far back. */
const overMillisMax = 31 * 86_400_000

/** The condition that is written; undefined where a name in it is not known. */
export const resolveCondition = (raw: ConditionText, path: Path, known: KnownNames): Condition | undefined => {
  const { balance, change, rate, asset, stale, held, all, any, not } = raw
  if (all !== undefined) return severalOf("All", all, [...path, "all"], known)
  if (any !== undefined) return severalOf("Any", any, [...path, "any"], known)
  if (not !== undefined) {
    const of = resolveCondition(not, [...path, "not"], known)
    return of === undefined ? undefined : { _tag: "Not", of }
  }
  if (balance !== undefined) return balanceOf(balance, [...path, "balance"], known)
  if (change !== undefined) return changeOf(change, [...path, "change"], known)
  if (rate !== undefined) return rateOf(rate, [...path, "rate"], known)
  if (asset !== undefined) return assetCondition(asset, [...path, "asset"], known)
  if (stale !== undefined) return staleOf(stale, [...path, "stale"], known)
  return held === undefined ? undefined : heldOf(held, [...path, "held"], known)
}

type Raw<K extends keyof ConditionText> = NonNullable<ConditionText[K]>

const severalOf = (
  _tag: "All" | "Any",
  raw: ReadonlyArray<ConditionText>,
  path: Path,
  known: KnownNames,
): Condition | undefined => {
  const of = raw.map((one, i) => resolveCondition(one, [...path, i], known))
  const sound = of.filter((one) => one !== undefined)
  return sound.length < of.length ? undefined : { _tag, of: sound }
}

/** The written number, and the side of it that fires. */
const boundOf = (raw: { readonly below?: string | undefined; readonly above?: string | undefined }) =>
  raw.below === undefined
    ? ({ side: "above", text: raw.above ?? "0" } as const)
    : ({ side: "below", text: raw.below } as const)

const signed = (text: string, path: Path, account: RuleAccount | undefined, { report }: KnownNames): bigint => {
  const units = report.amount(path, text.replace(/^-/, ""), account?.asset)
  return text.startsWith("-") ? -units : units
}

const overOf = (text: string, path: Path, { report }: KnownNames): number => {
  const millis = durationMillis(text)
  if (millis > overMillisMax)
    report.add([...path, "over"], `${text} is too far back`, "compare with at most 31d before")
  return millis
}

const balanceOf = (raw: Raw<"balance">, path: Path, known: KnownNames): Condition | undefined => {
  const account = accountOf(raw, path, known)
  const { side, text } = boundOf(raw)
  const units = known.report.amount([...path, side], text, account?.asset)
  return account === undefined ? undefined : { _tag: "Balance", account, side, units }
}

const stepOf = (text: string, path: Path, account: RuleAccount | undefined, known: KnownNames): Step => {
  if (!text.endsWith("%")) return { _tag: "Units", units: signed(text, path, account, known) }
  const { numerator, denominator } = shareOf(text.replace(/^-/, ""))
  return { _tag: "Share", numerator: text.startsWith("-") ? -numerator : numerator, denominator }
}

const changeOf = (raw: Raw<"change">, path: Path, known: KnownNames): Condition | undefined => {
  const account = accountOf(raw, path, known)
  const { side, text } = boundOf(raw)
  const by = stepOf(text, [...path, side], account, known)
  const overMillis = overOf(raw.over, path, known)
  return account === undefined ? undefined : { _tag: "Change", account, overMillis, side, by }
}

const rateOf = (raw: Raw<"rate">, path: Path, known: KnownNames): Condition | undefined => {
  const account = accountOf(raw, path, known)
  const { side, text } = boundOf(raw)
  const units = signed(text, [...path, side], account, known)
  const overMillis = overOf(raw.over ?? rateOver, path, known)
  return account === undefined ? undefined : { _tag: "Rate", account, overMillis, side, units }
}

const assetCondition = (raw: Raw<"asset">, path: Path, { assets, report }: KnownNames): Condition | undefined => {
  const asset = assetOf(raw.asset, [...path, "asset"], assets, report)
  const is = new Set(typeof raw.is === "string" ? [raw.is] : raw.is)
  return asset === undefined ? undefined : { _tag: "Asset", asset, is }
}

const staleOf = (raw: Raw<"stale">, path: Path, { parties, assets, report }: KnownNames): Condition | undefined => {
  const party = raw.party === undefined ? undefined : partyOf(raw.party, [...path, "party"], parties, report)
  const asset = raw.asset === undefined ? undefined : assetOf(raw.asset, [...path, "asset"], assets, report)
  const isSound =
    (raw.party === undefined) === (party === undefined) && (raw.asset === undefined) === (asset === undefined)
  return isSound ? { _tag: "Stale", party, asset, longerThanMillis: durationMillis(raw.longerThan) } : undefined
}

const heldOf = (raw: Raw<"held">, path: Path, { rules, report }: KnownNames): Condition | undefined => {
  const kind = rules.get(raw.rule)
  if (kind !== "pays") {
    const remedy = "name a rule that pays"
    if (kind === undefined) {
      report.add([...path, "rule"], `"${raw.rule}" is not a rule`, nameRemedy(raw.rule, [...rules.keys()], remedy))
    } else report.add([...path, "rule"], `${raw.rule} pays nothing, and is never held`, remedy)
    return undefined
  }
  return { _tag: "Held", rule: raw.rule, reason: raw.reason, longerThanMillis: durationMillis(raw.longerThan) }
}
