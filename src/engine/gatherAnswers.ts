import { Clock, Effect } from "effect"
import { type Answers, askAll, type Question, questionsOf } from "../rules/code.ts"
import type { Knowledge } from "../rules/Look.ts"
import { overlaidBalance, type Rehearsal } from "../rules/overlay.ts"
import { isPaying, isRehearsed, type Rule } from "../rules/Rule.ts"
import type { Snapshot } from "../rules/Snapshot.ts"
import { type Subject, subjectsOf } from "../rules/Subject.ts"
import { Listings } from "../store/Listings.ts"
import { Observations } from "../store/Observations.ts"
import { Rehearsals } from "../store/Rehearsals.ts"
import { EngineOptions } from "./EngineOptions.ts"
import { balanceOf, listedOf } from "./snapshot.ts"

type Moment = Knowledge & Pick<Snapshot, "now" | "listed">

/** How long a look waits for code in all; who answers later is held in this look, and answers the next one. */
const waitMillis = 2_000

const noAnswers: Answers = new Map()
const known = new WeakMap<ReadonlyArray<Rule>, ReadonlyArray<Subject>>()

/** What rules in code look at. A treasury has the same rules for months. */
const codeSubjects = (rules: ReadonlyArray<Rule>): ReadonlyArray<Subject> => {
  const before = known.get(rules)
  if (before !== undefined) return before
  const found = rules.filter(isPaying).filter(({ kind }) => kind === "code")
  const subjects = found.flatMap(subjectsOf)
  known.set(rules, subjects)
  return subjects
}

/** What all code of the rules is asked of a moment: rules that rehearse are told balances with what they rehearsed. */
const questionsFor = (
  { rules, mode }: Pick<EngineOptions["Service"], "rules" | "mode">,
  moment: Moment,
  rehearsals: ReadonlyArray<Rehearsal>,
): ReadonlyArray<Question> => {
  const [paying, rehearsing] = [false, true].map((is) =>
    codeSubjects(rules).filter(({ rule }) => isRehearsed(mode, rule) === is),
  )
  const balance = overlaidBalance(moment.balance, rehearsals)
  return [...questionsOf(paying!, moment), ...questionsOf(rehearsing!, { ...moment, balance })]
}

/**
 * Asks the code of all rules about what is known now, in one batch and outside of any transaction: code that takes its
 * time, or never ends, keeps nobody but its own rule. `rule`: this one alone.
 */
export const gatherAnswers = Effect.fn("Engine.askCode")(function* (rule?: string) {
  const { rules, mode } = yield* EngineOptions
  if (codeSubjects(rules).length === 0) return noAnswers
  const observations = yield* Observations
  const watermark = yield* observations.watermark
  const moment = {
    now: yield* Clock.currentTimeMillis,
    asOf: watermark?.timestamp,
    balance: balanceOf(yield* observations.accounts),
    listed: listedOf(yield* (yield* Listings).assets),
  }
  const rehearsing = rules.filter(isPaying).filter((one) => isRehearsed(mode, one))
  const rehearsals = yield* (yield* Rehearsals).peek(rehearsing.map(({ name }) => name))
  const questions = questionsFor({ rules, mode }, moment, rehearsals)
  const { answers, waited } = askAll(rule === undefined ? questions : questions.filter((one) => one.rule === rule))
  if (waited.length > 0) yield* Effect.promise(() => Promise.all(waited)).pipe(Effect.timeoutOption(waitMillis))
  // Who answers later changes nothing of this look.
  return new Map(answers) as Answers
})
