import { Effect, Schema } from "effect"
import type { Treasury } from "../config/Treasury.ts"
import type { Intent } from "../domain/Intent.ts"
import { sumText } from "../domain/sumText.ts"
import { endIntent } from "../submitter/endIntent.ts"
import type { Verb } from "../submitter/verbs.ts"
import { agreeing, needAgreement } from "./agreeing.ts"
import { SignatureText } from "./approvals.ts"
import { findIntent, problem } from "./stories.ts"

export const Words = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(256))

/** A person's word about one payment, as the command line sends it. */
export const EndBody = Schema.Struct({
  reason: Words,
  author: Words,
  /** For `resolve`: the transaction or transfer that executed; without it, none did. */
  executed: Schema.optional(
    Schema.String.check(Schema.isPattern(/^[0-9a-fA-F]{64}$/, { expected: "64 hex characters" })),
  ),
  neverExecuted: Schema.optional(Schema.Literal(true)),
  /** For `resolve`: an operator's, over what it answers where operators must agree. */
  signature: Schema.optional(SignatureText),
})

export const endVerbs = ["resolve", "reject", "cancel", "abandon"] as const
export type EndVerb = (typeof endVerbs)[number]

/** What was asked for; undefined where `resolve` says neither or both, or another verb says either. */
const verbOf = (word: EndVerb, { executed, neverExecuted }: typeof EndBody.Type): Verb | undefined => {
  if ((executed !== undefined || neverExecuted !== undefined) !== (word === "resolve")) return undefined
  if (word !== "resolve") return { verb: word }
  if (executed !== undefined && neverExecuted !== undefined) return undefined
  return executed === undefined ? { verb: "never_executed" } : { verb: "executed", hash: executed }
}

/** What operators agree to before a payment that may have executed is said to have, or not to have. */
const agreeTo =
  (treasury: Treasury, verb: Verb, reason: string) =>
  ({ id, payment, decimals }: Intent) => {
    if (verb.verb !== "executed" && verb.verb !== "never_executed") return Effect.succeed([])
    const outcome = verb.verb === "executed" ? `executed ${verb.hash.toLowerCase()}` : "never executed"
    const words = `${sumText(payment, decimals)} ${payment.from} -> ${payment.to}`
    return needAgreement(treasury, { kind: "resolve", payment: id, words, outcome, reason })
  }

/** Does to a payment what a person asks, or says why not: `problem` with a status of HTTP. */
export const endPayment = Effect.fnUntraced(function* (
  treasury: Treasury,
  id: string,
  word: EndVerb,
  body: typeof EndBody.Type,
) {
  const { author, reason, signature } = body
  const verb = verbOf(word, body)
  const wrong = `${word} takes ${word === "resolve" ? "one of executed and neverExecuted" : "a reason alone"}`
  if (verb === undefined || (signature !== undefined && word !== "resolve")) return problem(wrong, 400, "see --help")
  const found = yield* findIntent(id)
  if ("problem" in found) return found
  const ending = endIntent({ intentId: found.intent.id, verb, author, reason }, agreeTo(treasury, verb, reason))
  const ended = Effect.map(ending, ({ id, state, detail, rule }) => ({
    ended: { id, state, detail, rule, author, reason },
  }))
  return yield* agreeing(treasury, signature, ended).pipe(
    Effect.catchTag("VerbRefused", ({ message, remedy, isBusy }) =>
      Effect.succeed(problem(message, isBusy ? 504 : 409, remedy)),
    ),
  )
})
