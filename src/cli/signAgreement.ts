import { Console, Effect, Option, Schema } from "effect"
import { signApproval } from "../signer/signApproval.ts"
import { failWith } from "./CliFailure.ts"
import { type Output, printResult } from "./output.ts"
import { type Asked, needSignable, shownText } from "./signable.ts"
import { keyFlag, signatureFlag } from "./signingFlags.ts"

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
export const signAgreement = Effect.fnUntraced(function* <E, R>(
  chosen: Chosen,
  asked: Asked,
  ask: (more: { readonly signature?: string }) => Effect.Effect<unknown, E, R>,
) {
  let answer = yield* ask(
    Option.match(chosen.signature, { onNone: () => ({}), onSome: (signature) => ({ signature }) }),
  )
  if (isWaiting(answer) && Option.isSome(chosen.key)) {
    yield* needSignable(answer.text, asked)
    yield* Console.error(shownText(answer.text))
    answer = yield* ask({ signature: yield* signApproval(chosen.key.value, answer.text) })
  }
  if (!isWaiting(answer)) return answer
  // Whoever signs it elsewhere is shown this text and no other.
  yield* needSignable(answer.text, asked)
  const { text, by, others, missing, waits } = answer
  yield* printResult(chosen.output, answer, () => text.slice(0, -1))
  const done = by.length === 0 ? "" : `approved by ${by.join(", ")}; `
  const next = `${missing} of ${others.join(", ")} must say "${waits}" with the same reason and --key or --signature`
  return yield* failWith("needsApproval", `${done}${next}`)
})
