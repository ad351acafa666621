import { type Answered, type Answers, type Code, type CodeSeen, toldOf } from "./code.ts"
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

/** Asks all of them. The answers are there once what is waited for has ended. */
export const askAll = (questions: ReadonlyArray<Question>) => {
  const answers = new Map<string, Answered & Pick<Code, "hash">>()
  const waited = questions.flatMap(({ rule, code, seen, now }) => {
    const put = (one: Answered) => {
      answers.set(rule, { ...one, hash: code.hash })
    }
    const said = code.ask(seen, now)
    if (said instanceof Promise) return [said.then(put)]
    put(said)
    return []
  })
  return { answers: answers as Answers, waited }
}
