import { existsSync } from "node:fs"
import { resolve } from "node:path"
import { Effect } from "effect"
import { Command } from "effect/cli"
import type { InForce } from "../config/ConfigInForce.ts"
import { modeAtStart } from "../config/Environment.ts"
import { loadTreasury } from "../config/Treasury.ts"
import { secondText, timeText } from "../domain/Time.ts"
import { plural } from "../domain/text.ts"
import {
  type PlanAnswer,
  type PlanDifference,
  type PlannedPayment,
  type PlannedSubject,
  planOf,
} from "../http/planOf.ts"
import type { ExplainedPayment } from "../rules/explain/explain.ts"
import { loadingMillis, throughDaemon } from "./common/client.ts"
import { failWith, labelled, printResult } from "./common/output.ts"
import {
  commonFlags,
  fileArgument,
  filesForDaemon,
  namesFile,
  refuseTwoFiles,
  type Setup,
  setup,
} from "./common/setup.ts"

/** Payments that would be made, rules that hold and why, and differences from the file in force. */
export const planText = ({ at, knowledge, plan, difference, halt }: PlanAnswer, isRunning: boolean): string => {
  const seen =
    knowledge === null
      ? "no balances: none was read yet"
      : `the balances of block ${knowledge.block}, ${secondText(knowledge.at)}, from ${knowledge.source}`
  const acting = plan.subjects.filter(({ verdict }) => verdict !== "holds")
  const actingLines = acting.map((subject) => `${subject.sentence}${rehearsedText(subject)}`)
  const soon = plan.subjects.flatMap((subject) => (subject.soon === null ? [] : [soonLine(subject, subject.soon, at)]))
  const idle = plan.subjects.filter((subject) => subject.verdict === "holds" && subject.soon === null)
  return [
    `${plan.file}  mode ${plan.mode}, policy ${plan.policy}; by ${seen}`,
    ...(isRunning ? [] : ["no daemon runs: computed from the balances that it stored last"]),
    ...labelled("now", acting.length === 0 ? ["nothing is paid or asked for"] : actingLines),
    ...labelled("soon", soon),
    ...labelled("idle", idle.map(idleLine)),
    ...(difference === null ? [] : differenceText(difference)),
    ...labelled("HALT", halt === null ? [] : [halt]),
  ].join("\n")
}

/** Marks payments that are not made. */
const rehearsedText = ({ rehearsed, trial }: PlannedSubject): string =>
  trial ? " (on trial: only rehearsed)" : rehearsed ? " (only rehearsed)" : ""

const idleLine = ({ sentence, trial, rehearsed }: PlannedSubject): string =>
  `${sentence}${trial ? " (on trial)" : rehearsed ? " (as if its rehearsed payments had been made)" : ""}`

const moneyText = ({ amount, asset, from, to }: ExplainedPayment): string => `${amount} ${asset} ${from} -> ${to}`

const soonLine = (
  planned: PlannedSubject,
  { notBefore, payments }: NonNullable<PlannedSubject["soon"]>,
  at: number,
): string => {
  const when = notBefore === null ? "if it is seen once more" : `if it stays so for ${timeText(notBefore - at)} more`
  return `${planned.rule} ${planned.subject}: ${payments.map(moneyText).join(", ")}, ${when}${rehearsedText(planned)}`
}

const paymentLine = (payment: PlannedPayment): string => `${moneyText(payment)} (${payment.rule} ${payment.subject})`

/** With base units: where decimals differ, amounts alone may look equal. */
const inUnits = (payment: PlannedPayment): string => `${paymentLine(payment)}, ${payment.units} base units`

const differenceText = (d: PlanDifference): ReadonlyArray<string> => {
  const line = d.decimals.length === 0 ? paymentLine : inUnits
  const lines = [
    ...labelled("WARNING", d.decimals),
    ...labelled(
      "rules",
      d.rules.flatMap(({ rule, change, words }) => [`${change} ${rule}`, ...words.map((text) => `  ${text}`)]),
    ),
    ...labelled("no longer", d.onlyInForce.map(line)),
    ...labelled("only then", d.onlyChanged.map(line)),
    ...labelled("policy", [
      ...d.nowPermitted.map((words) => `now permitted: ${words}`),
      ...d.noLongerPermitted.map((words) => `no longer permitted: ${words}`),
    ]),
    ...labelled("restart", d.restart),
  ]
  if (lines.length === 0) return ["", "the file equals what is in force"]
  return ["", "against what is in force", ...lines]
}

const defaultFile = "treasury.yaml"

/** Prints payments due now under the file in force or a changed one; exits 9 if any are, 8 if a restart would halt. */
export const plan = Command.make(
  "plan",
  { file: fileArgument, ...commonFlags },
  Effect.fn(function* (chosen) {
    yield* refuseTwoFiles(chosen, "plan")
    const isNamed = namesFile(chosen)
    // Problems of the file are reported with their lines, before a daemon is asked.
    if (isNamed) yield* setup(chosen)
    const { running, body: planned } = yield* throughDaemon(
      chosen,
      "/api/v1/plan",
      (found) => stored(found, isNamed),
      isNamed ? { body: { files: yield* filesForDaemon(chosen) }, timeoutMillis: loadingMillis } : {},
    )
    yield* printResult(chosen.output, { running, ...planned }, () => planText(planned, running))
    if (planned.halt !== null) return yield* failWith("unhealthy", "a restart with this file would halt")
    const { fires } = planned.plan
    if (fires > 0) return yield* failWith("wouldFire", `${plural(fires, "payment")} would be made`)
    return undefined
  }),
).pipe(
  Command.withDescription(
    "Show what would be paid now, or under a changed file; exit 9 if a payment is due, 8 if a restart would halt",
  ),
)

/** Plans by the database. A file of another name is compared with treasury.yaml in this folder. */
const stored = Effect.fnUntraced(function* (found: Setup, isNamed: boolean) {
  const isOther = isNamed && existsSync(defaultFile) && resolve(found.treasury.file) !== resolve(defaultFile)
  const treasury = isOther ? yield* loadTreasury(defaultFile) : undefined
  const inForce: InForce | undefined = treasury && {
    treasury,
    mode: yield* modeAtStart(treasury.mode),
  }
  return yield* planOf({ plan: found, inForce, asLastSeen: true })
})
