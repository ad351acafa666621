import { Clock, Effect } from "effect"
import { type Approval, Approvals } from "../store/Approvals.ts"
import { type Agreement, agreementText, expiriesAt, expiryFrom, type Place, type TermsChange } from "../tx/Agreement.ts"
import { approversOf, isApproval, isFormerText } from "../tx/Approval.ts"
import { neededOf } from "./operatorsInForce.ts"
import { problem } from "./stories.ts"

/** How far operators have agreed to something that is no payment. */
export interface SharedApproval {
  /** What is signed now: its UTF-8 bytes, the last line break included. */
  readonly text: string
  readonly by: ReadonlyArray<string>
  readonly missing: number
  readonly others: ReadonlyArray<string>
  /** Who signed a text of an earlier form, which counts no longer. */
  readonly again: ReadonlyArray<string>
}

/** Names to public keys of those whose agreement counts. */
type Operators = ReadonlyMap<string, string>

/** By what signatures over it are found again. The text decides what they are worth. */
const subjectOf = (asked: Agreement): string => {
  switch (asked.kind) {
    case "terms":
      return `terms ${asked.terms}`
    case "resume":
      return `resume ${[...asked.halts, ...asked.stops].map(({ seq }) => seq).join(",")}`
    case "adopt":
    case "recover":
      return `${asked.kind} ${asked.list}`
    case "resolve":
      return `resolve ${asked.payment}`
  }
}

const formerSubjectOf = (asked: Agreement): string => subjectOf(asked).replace(/^terms /, "policy ")

const judged = (
  operators: Operators,
  textUntil: (expires: number) => string,
  now: number,
  given: ReadonlyArray<Approval>,
): SharedApproval => {
  const valid = new Set(expiriesAt(now).flatMap((expires) => approversOf(operators, textUntil(expires), given)))
  const by = [...operators.keys()].filter((name) => valid.has(name))
  const others = [...operators.keys()].filter((name) => !valid.has(name))
  const former = given.filter(({ text }) => isFormerText(text)).map(({ key }) => key)
  const again = others.filter((name) => former.includes(operators.get(name) ?? ""))
  return { text: textUntil(expiryFrom(now)), by, others, again, missing: Math.max(0, neededOf(operators) - by.length) }
}

/** How far the operators agree, on the signatures that hold now. `missing` is 0 where there are no operators. */
export const agreementOf = Effect.fnUntraced(function* (operators: Operators, place: Place, asked: Agreement) {
  const approvals = yield* Approvals
  const subjects = [...new Set([subjectOf(asked), formerSubjectOf(asked)])]
  const given = (yield* Effect.forEach(subjects, approvals.about)).flat()
  const textUntil = (expires: number) => agreementText(place, asked, expires)
  return judged(operators, textUntil, yield* Clock.currentTimeMillis, given)
})

/**
 * Stores an operator's signature over a text that is printed now, or was within a day; `problem` where it is nobody's.
 * Says how far they agree then.
 */
export const takeAgreement = Effect.fnUntraced(function* (
  operators: Operators,
  place: Place,
  asked: Agreement,
  given: string,
) {
  const signature = given.toLowerCase()
  const texts = expiriesAt(yield* Clock.currentTimeMillis).map((expires) => agreementText(place, asked, expires))
  const signed = texts.flatMap((text) =>
    [...operators]
      .filter(([, key]) => isApproval(key, text, signature))
      .map(([operator, key]) => ({ text, operator, key })),
  )
  const [one] = signed
  if (one === undefined) {
    const remedy = "sign the text that is printed now, with the key of an operator in force"
    return problem("the signature is of no operator over this", 403, remedy)
  }
  const { operator, text, key } = one
  const isNew = yield* (yield* Approvals).give({ subject: subjectOf(asked), operator, key, text, signature }, { text })
  return { operator, isNew, ...(yield* agreementOf(operators, place, asked)) }
})

const ofTerms = ({ treasury, chainId, ...change }: TermsChange) =>
  [
    { treasury, chainId },
    { kind: "terms", ...change },
  ] as const

/**
 * How far operators agree to other terms: those in force before the change, by name and key. Nothing is used up here:
 * once the terms are in force, journalled in the same transaction, `replaces` is another number and no signature fits.
 */
export const termsApprovalOf = (operators: Operators, change: TermsChange) => agreementOf(operators, ...ofTerms(change))

/** Takes an operator's signature for other terms. */
export const takeTerms = (operators: Operators, change: TermsChange, signature: string) =>
  takeAgreement(operators, ...ofTerms(change), signature)
