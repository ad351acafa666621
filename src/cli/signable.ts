import { Effect } from "effect"
import { formatAmount } from "../domain/Amount.ts"
import { shortId } from "../domain/Hex.ts"
import { visible } from "../domain/visible.ts"
import { type ApprovalKind, factIn, type PaymentTerms, readApproval, readPaymentTerms } from "../tx/Approval.ts"
import { failWith } from "./CliFailure.ts"

/**
 * What a daemon asks an operator to sign is read here, before a key is opened: who answers on its socket may be
 * somebody else, and words beside the text are no part of it.
 */

const nothingSigned = "nothing is signed; is the daemon the one that you mean?"

/** Whether an id is meant by what was typed: the id, its short form, or the start of one of them. */
const isMeant = (typed: string, id: string): boolean =>
  /^[0-9a-f]{64}$/.test(id) && typed !== "" && (id.startsWith(typed) || shortId(id).startsWith(typed))

/** The terms in the text of a payment's approval. Fails where it is another text, or that of another payment. */
export const signablePayment = Effect.fnUntraced(function* (typed: string, text: string) {
  const terms = readPaymentTerms(text)
  // What nobody sees, or what moves other words, is no part of a text that people read.
  if (terms === undefined || text.split("\n").some((line) => visible(line) !== line))
    return yield* failWith("refused", `what the daemon shows is no approval of a payment: ${nothingSigned}`)
  if (!isMeant(typed, terms.intentId))
    return yield* failWith(
      "refused",
      `the daemon shows payment ${visible(terms.intentId)}, not ${typed}: ${nothingSigned}`,
    )
  return terms
})

/** Who pays whom how much, made of the very terms that are signed. */
export const paymentWords = (terms: PaymentTerms): string => {
  const { rule, amount, symbol, decimals, feeMax, fromName, toName } = terms
  const fee = formatAmount(feeMax, decimals)
  return visible(`${rule}: ${formatAmount(amount, decimals)} ${symbol} ${fromName} -> ${toName}, fee at most ${fee}`)
}

/** The text that is signed, line by line, as people are shown it. */
export const shownText = (text: string): string => text.trimEnd().split("\n").map(visible).join("\n")

/** What was typed, as the text that is signed for it must say it. */
export interface Asked {
  readonly kind: ApprovalKind
  /** Values of facts, or what a value must be. */
  readonly says: Readonly<Record<string, string | ((value: string) => boolean)>>
}

/** What a text says, where it is of the kind and says what was asked for; fails where it does not. */
export const needSignable = Effect.fnUntraced(function* (text: string, { kind, says }: Asked) {
  const read = readApproval(text)
  if (read?.kind !== kind)
    return yield* failWith("refused", `what the daemon shows is no text of "${kind}": ${nothingSigned}`)
  for (const [name, wanted] of Object.entries(says)) {
    const value = factIn(read, name)
    const holds = value !== undefined && (typeof wanted === "string" ? value === wanted : wanted(value))
    if (!holds)
      return yield* failWith(
        "refused",
        `the daemon shows ${name} "${visible(value ?? "nothing")}", which is not what was asked for: ${nothingSigned}`,
      )
  }
  return read
})

/** Of verbs about one payment. */
export const meant = (typed: string) => (id: string) => isMeant(typed, id)
