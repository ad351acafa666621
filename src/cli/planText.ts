import { timeText } from "../rules/Check.ts"
import type { ExplainedPayment } from "../rules/explain.ts"
import type { PlanAnswer, PlanDifference, PlannedPayment, PlannedSubject } from "../status/planOf.ts"

/** What would be done, what is silent and why, and what differs from the file in force. */
export const planText = ({ at, knowledge, plan, difference }: PlanAnswer, isRunning: boolean): string => {
  const seen =
    knowledge === null
      ? "no balance was read yet"
      : `block ${knowledge.block} of ${knowledge.at.slice(0, 19).replace("T", " ")}Z, from ${knowledge.source}`
  const acting = plan.subjects.filter(({ verdict }) => verdict !== "holds")
  const soon = plan.subjects.filter((subject) => subject.soon !== null)
  const silent = plan.subjects.filter((subject) => subject.verdict === "holds" && subject.soon === null)
  return [
    `${plan.file}  mode ${plan.mode}, policy ${plan.policy}, on what is known at ${seen}`,
    ...(isRunning ? [] : ["no daemon runs: this is what it would have done at its last look"]),
    ...section("now", acting.map(actingLine), "nothing is paid or asked for"),
    ...section(
      "soon",
      soon.map((subject) => soonLine(subject, at)),
    ),
    ...section(
      "silent",
      silent.map(({ sentence, trial }) => `${sentence.replace(" is silent:", ":")}${trial ? " (on trial)" : ""}`),
    ),
    ...(difference === null ? [] : differenceText(difference)),
  ].join("\n")
}

const section = (title: string, lines: ReadonlyArray<string>, none?: string): ReadonlyArray<string> => {
  const shown = lines.length === 0 && none !== undefined ? [none] : lines
  return shown.map((line, i) => `${(i === 0 ? title : "").padEnd(9)} ${line}`)
}

/** What is said behind what is not really paid. */
const rehearsedText = ({ rehearsed, trial }: PlannedSubject): string =>
  trial ? " (on trial: only rehearsed)" : rehearsed ? " (only rehearsed)" : ""

const actingLine = (subject: PlannedSubject): string => `${subject.sentence}${rehearsedText(subject)}`

const moneyText = ({ amount, asset, from, to }: ExplainedPayment): string => `${amount} ${asset} ${from} -> ${to}`

const soonLine = (planned: PlannedSubject, at: number): string => {
  const { rule, subject, soon } = planned
  const when =
    soon?.notBefore == null ? "if it is seen once more" : `if it stays so for ${timeText(soon.notBefore - at)} more`
  return `${rule} ${subject}: ${(soon?.payments ?? []).map(moneyText).join(", ")}, ${when}${rehearsedText(planned)}`
}

const paymentLine = (payment: PlannedPayment): string => `${moneyText(payment)} (${payment.rule} ${payment.subject})`

/** Where decimals differ figures alone would read alike. */
const inUnits = (payment: PlannedPayment): string => `${paymentLine(payment)}, ${payment.units} base units`

const differenceText = (d: PlanDifference): ReadonlyArray<string> => {
  const line = d.decimals.length === 0 ? paymentLine : inUnits
  const lines = [
    ...section("WARNING", d.decimals),
    ...section(
      "rules",
      d.rules.flatMap(({ rule, change, words }) => [`${change} ${rule}`, ...words.map((text) => `  ${text}`)]),
    ),
    ...section("no longer", d.onlyInForce.map(line)),
    ...section("only then", d.onlyChanged.map(line)),
    ...section("policy", [
      ...d.nowPermitted.map((words) => `now permitted: ${words}`),
      ...d.noLongerPermitted.map((words) => `no longer permitted: ${words}`),
    ]),
    ...section("restart", d.restart),
  ]
  if (lines.length === 0) return ["", "nothing of it differs from what is in force"]
  return ["", "against what is in force", ...lines]
}
