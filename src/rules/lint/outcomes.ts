import { assetStatusNumbers, statusWord } from "../../domain/Asset.ts"
import { type Condition, type PlainCondition, plainIn, type Side, type Step } from "../Condition.ts"
import { type Account, accountName } from "../Rule.ts"

type Reading = bigint | string

/** What is to be known of each thing that conditions look at. */
export type Outcome = ReadonlyMap<string, Reading>

/** A condition's own thing, the readings around which its truth may change, and its truth. */
interface Measure {
  readonly of: string
  readonly readings: ReadonlyArray<Reading>
  readonly holds: (reading: Reading) => boolean
}

/** More than so many of all outcomes are not looked through: nothing is said then. */
const outcomesMax = 20_000

/** Percents of at most six places become whole numbers. */
const shareUnit = 10n ** 8n
const statuses = Object.keys(assetStatusNumbers).map(statusWord)
/** Where a balance was never seen, or no listing names the asset. */
const unlisted = "unlisted"

const around = (mark: bigint, least?: bigint): ReadonlyArray<bigint> =>
  [mark - 1n, mark, mark + 1n].filter((reading) => least === undefined || reading >= least)

const side =
  (way: Side, mark: bigint) =>
  (reading: Reading): boolean =>
    way === "below" ? (reading as bigint) < mark : (reading as bigint) > mark

const named = (account: Account): string => `${accountName(account)} ${account.balance}`

const changeOf = (of: string, way: Side, by: Step): Measure => {
  if (by._tag === "Units") return { of, readings: around(by.units), holds: side(way, by.units) }
  const mark = (by.numerator * shareUnit) / by.denominator
  return { of: `${of} %`, readings: around(mark), holds: side(way, mark) }
}

const longerThan = (of: string, millis: number): Measure => {
  const mark = BigInt(millis)
  return { of, readings: [0n, ...around(mark, 0n)], holds: side("above", mark) }
}

const measureOf = (plain: PlainCondition): Measure => {
  switch (plain._tag) {
    case "Balance":
      return {
        of: `balance ${named(plain.account)}`,
        readings: around(plain.units, 0n),
        holds: side(plain.side, plain.units),
      }
    case "Change":
      return changeOf(`change ${named(plain.account)} ${plain.overMillis}`, plain.side, plain.by)
    case "Rate": {
      const of = `rate ${named(plain.account)} ${plain.overMillis}`
      return { of, readings: around(plain.units), holds: side(plain.side, plain.units) }
    }
    case "Asset": {
      const is: ReadonlySet<Reading> = plain.is
      return { of: `asset ${plain.asset.id}`, readings: [...statuses, unlisted], holds: (reading) => is.has(reading) }
    }
    case "Stale":
      return longerThan(`stale ${plain.party?.name ?? ""}/${plain.asset?.symbol ?? ""}`, plain.longerThanMillis)
    case "Held":
      return longerThan(`held ${plain.rule} ${plain.reason ?? ""}`, plain.longerThanMillis)
  }
}

/** Whether the condition holds where all is known, and is so. */
export const holdsAt = (condition: Condition, outcome: Outcome): boolean => {
  switch (condition._tag) {
    case "All":
      return condition.of.every((one) => holdsAt(one, outcome))
    case "Any":
      return condition.of.some((one) => holdsAt(one, outcome))
    case "Not":
      return !holdsAt(condition.of, outcome)
    default: {
      const { of, holds } = measureOf(condition)
      return holds(outcome.get(of)!)
    }
  }
}

/**
 * An outcome of every kind that the conditions can tell apart, things taken apart from each other: what holds in none
 * of them, or in all, does so always. In the order of the readings where there is one thing alone. Undefined where
 * there are too many.
 */
export const outcomesOf = (conditions: ReadonlyArray<Condition>): ReadonlyArray<Outcome> | undefined => {
  const things = new Map<string, Set<Reading>>()
  for (const { of, readings } of conditions.flatMap(plainIn).map(measureOf)) {
    things.set(of, new Set([...(things.get(of) ?? []), ...readings]))
  }
  let outcomes: ReadonlyArray<Outcome> = [new Map()]
  for (const [of, readings] of things) {
    const ordered = [...readings].toSorted((a, b) => (a < b ? -1 : 1))
    if (outcomes.length * ordered.length > outcomesMax) return undefined
    outcomes = outcomes.flatMap((outcome) => ordered.map((reading) => new Map(outcome).set(of, reading)))
  }
  return outcomes
}
