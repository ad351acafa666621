import { type ConditionName, conditionNames } from "../domain/alerts/healthConditions.ts"
import { ageText, plural, several } from "../domain/text.ts"
import { conditionTable } from "./conditionTable.ts"
import type { Found, HealthFacts, View } from "./View.ts"

/** Name of the setting with the start of a condition that is alerted. */
export const troubleKey = (name: ConditionName): string => `health/${name}`

/** A condition that holds. */
export interface HealthCondition extends Found {
  readonly condition: ConditionName
}

/**
 * The conditions that apply, the worst first: headline, colour, exit code, metrics and alerts all come from this list.
 * A treasury without any is healthy.
 */
export const conditionsOf = (facts: HealthFacts): ReadonlyArray<HealthCondition> => {
  const found = conditionNames.flatMap((condition): ReadonlyArray<HealthCondition> => {
    const one = conditionTable[condition](facts)
    return one === undefined ? [] : [{ condition, ...one }]
  })
  return found.toSorted((a, b) => Number(a.severity === "warn") - Number(b.severity === "warn"))
}

/** The line across the top: the worst condition with its remedy and the names of the others, or that all is well. */
export const headline = (
  conditions: ReadonlyArray<HealthCondition>,
  {
    mode,
    accounts,
    intents,
    maintenance,
    ageSeconds,
  }: Pick<View, "mode" | "accounts" | "intents" | "maintenance" | "ageSeconds">,
  confirmedToday: number,
): View["sentence"] => {
  const [worst, ...others] = conditions
  if (worst !== undefined) {
    const text = `${worst.text}; ${worst.remedy}.`
    return { severity: worst.severity, text: others.length === 0 ? text : `${text} Also: ${namesOf(others)}.` }
  }
  const open = intents.filter((intent) => intent.open).length
  const windows = maintenance.map(
    ({ name, until }) => `Maintenance ${name} until ${until.slice(0, 16).replace("T", " ")} UTC: rules pay nothing.`,
  )
  const activity = `${plural(confirmedToday, "payment")} in 24 h, ${open} open. Balances ${ageText(ageSeconds)}.`
  const named = (wanted: boolean | null) =>
    accounts.filter(({ inBand }) => inBand === wanted).map(({ party, asset }) => `${party}/${asset}`)
  const out = named(false)
  const unseen = named(null)
  // Its rule has not had the time that it takes.
  const odd = [
    ...(out.length === 0 ? [] : [`out of band for now: ${out.join(", ")}`]),
    ...(unseen.length === 0 ? [] : [`no balance seen of ${unseen.join(", ")}`]),
  ]
  const band = odd.length === 0 ? "All in band." : `Healthy; ${odd.join("; ")}.`
  const idle = mode === "live" ? [] : [`Mode ${mode}: nothing is paid.`]
  return { severity: "ok", text: [band, ...idle, ...windows, activity].join(" ") }
}

const namesOf = (others: ReadonlyArray<HealthCondition>): string =>
  several(others.map(({ condition }) => condition.replaceAll("_", " ")))
