import { Console, Effect, Option, Schema } from "effect"
import { Flag } from "effect/cli"
import { formatAmount } from "../domain/Amount.ts"
import { shortId } from "../domain/Hex.ts"
import { visible } from "../domain/visible.ts"
import { signApproval } from "../signer/signApproval.ts"
import { SignatureText } from "../status/approvals.ts"
import { type ApprovalKind, factIn, type PaymentTerms, readApproval, readPaymentTerms } from "../tx/Approval.ts"
import { failWith } from "./CliFailure.ts"
import { type Output, printResult } from "./output.ts"

const keyFlag = Flag.String("key").pipe(
  Flag.withDescription("File of an operator's key: signs with it here; it goes nowhere else"),
  Flag.optional,
)
const signatureFlag = Flag.String("signature").pipe(
  Flag.withSchema(SignatureText),
  Flag.withDescription("A signature that was made elsewhere, with approve sign"),
  Flag.optional,
)
const printFlag = Flag.Boolean("print").pipe(
  Flag.withDescription("Show what would be signed, and sign nothing"),
  Flag.withDefault(false),
)

/** Flags of what an operator signs here, or hands in, or only looks at. */
export const signingFlags = { key: keyFlag, signature: signatureFlag, print: printFlag }

/** Nobody signs by leaving a flag out. */
export const oneOf = (said: {
  readonly key: Option.Option<string>
  readonly signature: Option.Option<string>
  readonly print: boolean
}) => {
  const ways = [said.print, Option.isSome(said.key), Option.isSome(said.signature)].filter(Boolean).length
  return ways === 1 ? Effect.void : failWith("usage", "say one of --key FILE, --signature HEX and --print")
}

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

const Waiting = Schema.Struct({
  waits: Schema.String,
  text: Schema.String,
  by: Schema.Array(Schema.String),
  others: Schema.Array(Schema.String),
  missing: Schema.Int,
})
const isWaiting = Schema.is(Waiting)

/** Flags of verbs that operators must agree to. */
export const agreementFlags = { key: keyFlag, signature: signatureFlag }

interface Chosen {
  readonly key: Option.Option<string>
  readonly signature: Option.Option<string>
  readonly output: Output
}

/**
 * Asks for a verb that operators must agree to, with the signature that was given, or with one by the key over what the
 * answer shows, where that is what was `asked`. While others are missing, what is signed goes to standard output, so
 * that it can be signed elsewhere.
 */
export const signAgreement = Effect.fnUntraced(function* <A, E, R>(
  chosen: Chosen,
  asked: Asked,
  ask: (more: { readonly signature?: string }) => Effect.Effect<A, E, R>,
) {
  let answer: unknown = yield* ask(
    Option.match(chosen.signature, { onNone: () => ({}), onSome: (signature) => ({ signature }) }),
  )
  if (isWaiting(answer) && Option.isSome(chosen.key)) {
    yield* needSignable(answer.text, asked)
    yield* Console.error(shownText(answer.text))
    answer = yield* ask({ signature: yield* signApproval(chosen.key.value, answer.text) })
  }
  if (!isWaiting(answer)) return answer as Exclude<A, { readonly waits: unknown }>
  // Whoever signs it elsewhere is shown this text and no other.
  yield* needSignable(answer.text, asked)
  const { text, by, others, missing, waits } = answer
  yield* printResult(chosen.output, answer, () => text.slice(0, -1))
  const done = by.length === 0 ? "" : `approved by ${by.join(", ")}; `
  const next = `${missing} of ${others.join(", ")} must say "${waits}" with the same reason and --key or --signature`
  return yield* failWith("needsApproval", `${done}${next}`)
})
