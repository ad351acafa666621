import { timeText } from "../rules/Check.ts"
import type { AlertTimers, SeenCondition } from "../rules/explainAlert.ts"
import type { AlertAnswer, LastAlert } from "../status/alertAnswer.ts"
import { table } from "./output.ts"
import { stampText } from "./stampText.ts"

/** Why an alert fires or is silent: each comparison, what runs, and what people heard. */
export const alertText = ({ alert, at, last }: AlertAnswer, known: string, decided: ReadonlyArray<string>): string => {
  const { when, clear, firingSince } = alert
  const since =
    firingSince === null ? [] : [`  true      since ${stampText(firingSince)}, ${timeText(at - firingSince)}`]
  return [
    alert.sentence,
    ...decided,
    table([...rowsOf(when, "  "), ...(clear === null ? [] : [["  over when", "", ""], ...rowsOf(clear, "    ")])]),
    `  known     ${known}`,
    ...since,
    `  timers    ${timersText(alert.timers, at).join("; ")}`,
    `  told      ${toldText(last)}`,
  ].join("\n")
}

/** "at 2026-12-24 12:00:05Z: keep-low 9,500.00 is below 10,000" */
export const toldText = (last: LastAlert | null): string =>
  last === null ? "nothing so far" : `at ${stampText(last.at)}: ${last.subject} ${last.detail}`

const signOf = (holds: boolean | null): string => (holds === null ? "not known" : holds ? "HOLDS" : "does not hold")

const joinTexts = { all: "all of", any: "any of", not: "not" } as const

const rowsOf = (seen: SeenCondition, indent: string): ReadonlyArray<ReadonlyArray<string>> => {
  const { join, text, holds, of } = seen
  const own = [`${indent}${join === null ? text : joinTexts[join]}`, signOf(holds), observedText(seen)]
  return [own, ...of.flatMap((part) => rowsOf(part, `${indent}  `))]
}

const observedText = ({ join, observed, holds, ageSeconds, detail }: SeenCondition): string => {
  if (join !== null) return ""
  const age = ageSeconds === null ? "" : `, ${ageSeconds.toFixed(1)} s old`
  const seen = observed === null ? "" : `${observed}${age}`
  return holds === null ? [seen, detail].filter((part) => part !== "").join("; ") : seen
}

const timersText = (timers: AlertTimers, now: number): ReadonlyArray<string> => {
  const { forMillis, cooldownMillis, firesAt, overAt, cooldownEndsAt, opensAt } = timers
  const left = (at: number) => (at > now ? `${timeText(at - now)} left` : "done")
  const state = firesAt !== null ? `, ${left(firesAt)}` : overAt !== null ? `, ${left(overAt)} until it is over` : ""
  return [
    `for ${timeText(forMillis)}${state}`,
    `cooldown ${timeText(cooldownMillis)}${cooldownEndsAt === null ? "" : `, ${left(cooldownEndsAt)}`}`,
    ...(opensAt === null ? [] : [`people hear of it from ${stampText(opensAt)}, in ${timeText(opensAt - now)}`]),
  ]
}
