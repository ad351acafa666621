import { formatAmount, formatLevel } from "../domain/Amount.ts"
import { statusText } from "../domain/Asset.ts"
import type { HoldReason } from "../domain/Decision.ts"
import { timeText } from "../domain/Time.ts"
import { accountName, percent, type RuleAccount } from "./Account.ts"
import type { Condition, Past, Side } from "./Condition.ts"
import { ageMillis, type Snapshot } from "./Snapshot.ts"

/** A hold reason of a rule, and since when it applies (Unix milliseconds). */
export interface SubjectHold {
  readonly subject: string
  /** Undefined while it acts. */
  readonly reason: HoldReason | undefined
  readonly since: number
}

/** All facts that the conditions of alert rules depend on. */
export interface ConditionFacts extends Pick<Snapshot, "now" | "asOf" | "maxAgeMillis" | "balance" | "listed"> {
  /** Unix milliseconds since when this store observes: data that were never seen count as this old. */
  readonly watchedSince: number
  /** The balance `overMillis` before the present one; undefined where it is not known. */
  readonly past: (past: Past) => bigint | undefined
  /** Undefined if the rule was never evaluated. */
  readonly ruleHolds: (rule: string) => ReadonlyArray<SubjectHold> | undefined
}

/** Truth of a condition, and the sentence that explains it with the numbers compared. */
export interface Evaluation {
  readonly truth: Truth
  readonly sentence: string
}

/** Most callers need the truth only: the sentence is written when it is read. */
const lazily = (truth: Truth, sentence: () => string): Evaluation => ({
  truth,
  get sentence() {
    return sentence()
  },
})

/** Hold reasons of a rule that has nothing to do. */
const idleReasons: ReadonlySet<HoldReason> = new Set(["in_band", "not_due"])

export const evaluate = (condition: Condition, facts: ConditionFacts): Evaluation => {
  switch (condition._tag) {
    case "All":
      return joined(condition.of, facts, allOf, " and ")
    case "Any":
      return joined(condition.of, facts, anyOf, "; ")
    case "Not": {
      const seen = evaluate(condition.of, facts)
      return lazily(not(seen.truth), () => seen.sentence)
    }
    case "Balance":
      return balanceSeen(condition, facts)
    case "Change":
      return changeSeen(condition, facts)
    case "Rate":
      return rateSeen(condition, facts)
    case "Asset":
      return assetSeen(condition, facts)
    case "Stale":
      return staleSeen(condition, facts)
    case "Held":
      return heldSeen(condition, facts)
  }
}

/** The sentence joins those of the parts whose truth is the result. */
const joined = (
  parts: ReadonlyArray<Condition>,
  facts: ConditionFacts,
  combine: (truths: ReadonlyArray<Truth>) => Truth,
  glue: string,
): Evaluation => {
  const seen = parts.map((part) => evaluate(part, facts))
  const truth = combine(seen.map((one) => one.truth))
  return lazily(truth, () =>
    seen
      .filter((one) => one.truth === truth)
      .map(({ sentence }) => sentence)
      .join(glue),
  )
}

type Of<Tag extends Condition["_tag"]> = Extract<Condition, { _tag: Tag }>

/** Why balances cannot be judged now: none was read, or they are too old or from the future. */
const blindness = ({ asOf, now, maxAgeMillis }: ConditionFacts): string | undefined => {
  if (asOf === undefined) return "no balance was read yet"
  const age = ageMillis({ now }, asOf)
  return Math.abs(age) > maxAgeMillis ? "the balances are too old to judge" : undefined
}

const unknown = (sentence: string): Evaluation => ({ truth: undefined, sentence })

const balanceOf = (account: RuleAccount, facts: ConditionFacts): bigint | Evaluation => {
  const blind = blindness(facts)
  if (blind !== undefined) return unknown(blind)
  const { party, asset, balance } = account
  return facts.balance(party.publicKey, asset.id, balance) ?? unknown(`no balance of ${accountName(account)} was seen`)
}

const isPast = (value: bigint, side: Side, bound: bigint): boolean => (side === "below" ? value < bound : value > bound)

const sideText = (truth: boolean, side: Side): string => `is ${truth ? "" : "not "}${side}`

const balanceSeen = ({ account, side, units }: Of<"Balance">, facts: ConditionFacts): Evaluation => {
  const balance = balanceOf(account, facts)
  if (typeof balance !== "bigint") return balance
  const truth = isPast(balance, side, units)
  const { decimals } = account.asset
  return lazily(
    truth,
    () =>
      `${accountName(account)}: ${formatAmount(balance, decimals)} ${sideText(truth, side)} ${formatLevel(units, decimals)}`,
  )
}

/** The balance now and `overMillis` before; an evaluation without truth where one of them is not known. */
const nowAndBefore = (
  past: Past,
  facts: ConditionFacts,
): { readonly now: bigint; readonly before: bigint } | Evaluation => {
  const now = balanceOf(past.account, facts)
  if (typeof now !== "bigint") return now
  const before = facts.past(past)
  return before === undefined
    ? unknown(`${accountName(past.account)}: the balance ${timeText(past.overMillis)} before is not known`)
    : { now, before }
}

const changeSeen = (condition: Of<"Change">, facts: ConditionFacts): Evaluation => {
  const { account, overMillis, side, by } = condition
  const seen = nowAndBefore(condition, facts)
  if ("truth" in seen) return seen
  const { decimals } = account.asset
  const change = seen.now - seen.before
  const truth =
    by._tag === "Units"
      ? isPast(change, side, by.units)
      : isPast(change * by.denominator, side, seen.before * by.numerator)
  return lazily(truth, () => {
    const bound =
      by._tag === "Units" ? formatLevel(by.units, decimals) : `${percent(by)} of ${formatAmount(seen.before, decimals)}`
    const what = `changed by ${formatAmount(change, decimals)} in ${timeText(overMillis)}`
    return `${accountName(account)} ${what}, which ${sideText(truth, side)} ${bound}`
  })
}

const rateSeen = (condition: Of<"Rate">, facts: ConditionFacts): Evaluation => {
  const { account, overMillis, side, units } = condition
  const seen = nowAndBefore(condition, facts)
  if ("truth" in seen) return seen
  const { decimals } = account.asset
  const moved = (seen.now - seen.before) * 3_600_000n
  const over = BigInt(overMillis)
  const truth = isPast(moved, side, units * over)
  return lazily(truth, () => {
    const rate = `${accountName(account)} changes by ${formatAmount(moved / over, decimals)} an hour`
    return `${rate}, which ${sideText(truth, side)} ${formatLevel(units, decimals)}`
  })
}

const assetSeen = ({ asset, is }: Of<"Asset">, { listed }: ConditionFacts): Evaluation => {
  if (listed === undefined) return unknown("no asset listing was read yet")
  const status = listed.get(asset.id)?.status
  if (status === undefined) return { truth: false, sentence: `${asset.symbol} is not listed` }
  return { truth: is.has(status), sentence: `${asset.symbol} is ${statusText(status)}` }
}

/** Never unknown: it asks about missing data. Data that were never seen are as old as `watchedSince`. */
const staleSeen = ({ party, asset, longerThanMillis }: Of<"Stale">, facts: ConditionFacts): Evaluation => {
  const { asOf, now, watchedSince } = facts
  const limit = timeText(longerThanMillis)
  const name = [party?.name, asset?.symbol].filter((each) => each !== undefined).join("/")
  const isSeen =
    party === undefined || asset === undefined || facts.balance(party.publicKey, asset.id, "total") !== undefined
  if (asOf === undefined || !isSeen) {
    const truth = now - watchedSince > longerThanMillis
    const what = asOf === undefined ? "no balance was read" : `no balance of ${name} was seen`
    return { truth, sentence: truth ? `${what} for more than ${limit}` : `${what} yet` }
  }
  const truth = ageMillis({ now }, asOf) > longerThanMillis
  const whose = name === "" ? "what is known" : `what is known of ${name}`
  return { truth, sentence: `${whose} is ${truth ? "" : "not "}older than ${limit}` }
}

/** True if the condition counts this hold. */
export const isCountedHold = (condition: Pick<Of<"Held">, "reason">, { reason }: SubjectHold): boolean =>
  reason !== undefined && (condition.reason === undefined ? !idleReasons.has(reason) : reason === condition.reason)

const heldSeen = (condition: Of<"Held">, { now, ruleHolds }: ConditionFacts): Evaluation => {
  const { rule, reason, longerThanMillis } = condition
  const own = ruleHolds(rule)
  if (own === undefined || own.length === 0) return unknown(`${rule} was not evaluated yet`)
  const long = own.find((one) => isCountedHold(condition, one) && now - one.since > longerThanMillis)
  const limit = timeText(longerThanMillis)
  if (long === undefined) {
    const why = reason === undefined ? "" : ` for ${reason.replaceAll("_", " ")}`
    return { truth: false, sentence: `${rule} is not held${why} for longer than ${limit}` }
  }
  const why = long.reason?.replaceAll("_", " ")
  return { truth: true, sentence: `${rule} (${long.subject}) is held for ${why} for longer than ${limit}` }
}

/** True if a condition applies; undefined if unknown. */
export type Truth = boolean | undefined

/** False where one is false, even if others are unknown. */
export const allOf = (truths: ReadonlyArray<Truth>): Truth =>
  truths.includes(false) ? false : truths.includes(undefined) ? undefined : true

/** True where one is true, even if others are unknown. */
export const anyOf = (truths: ReadonlyArray<Truth>): Truth =>
  truths.includes(true) ? true : truths.includes(undefined) ? undefined : false

export const not = (truth: Truth): Truth => (truth === undefined ? undefined : !truth)
