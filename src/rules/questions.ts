import { type Answers, type Code, type CodeSeen, toldOf } from "./code.ts"
import { balancesOf, type Knowledge } from "./known.ts"
import type { Snapshot } from "./Snapshot.ts"
import type { Subject } from "./Subject.ts"

/** What an operator's function is asked before a look. */
export interface Question {
  /** The rule's name. */
  readonly rule: string
  readonly code: Code
  readonly seen: CodeSeen
  /** Unix milliseconds of the look. */
  readonly now: number
}

/** What the code of these subjects is asked; those whose balances are not known ask nothing. */
export const questionsOf = (
  subjects: ReadonlyArray<Subject>,
  known: Knowledge & Pick<Snapshot, "now" | "listed">,
): ReadonlyArray<Question> =>
  subjects.filter(isCode).flatMap((subject) => {
    const balances = balancesOf(subject, known)
    if (balances === undefined) return []
    return [
      { rule: subject.rule.name, code: subject.rule.code, seen: toldOf(subject.rule, balances, known), now: known.now },
    ]
  })

const isCode = (subject: Subject): subject is Extract<Subject, { kind: "code" }> => subject.kind === "code"

/** Asks all of them in one go and waits: for programs that do nothing else meanwhile. */
export const answersNow = (questions: ReadonlyArray<Question>): Answers =>
  new Map(questions.map(({ rule, code, seen, now }) => [rule, { hash: code.hash, seen, answer: code.ask(seen, now) }]))

/** The moment with the answers of the subjects' code: what decisions of rules in code are made of. */
export const answered = (subjects: ReadonlyArray<Subject>, snapshot: Snapshot): Snapshot => {
  const questions = questionsOf(subjects, snapshot)
  return questions.length === 0 ? snapshot : { ...snapshot, answers: answersNow(questions) }
}
